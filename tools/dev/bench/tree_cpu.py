# SPDX-License-Identifier: GPL-2.0
"""What the programs of tools/user/sweep and their models take of the CPU, on a tree in memory.

Where nothing is sorted, that is all they may differ in. They run by turns, many times, on this
machine's own kernel: CPU time, user's and system's, of each with what it feeds. A busy machine
makes all slower, and the least of each is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.base import text
from tools.base.arguments import positive
from tools.base.cli import ToolError
from tools.base.paths import TOOLS
from tools.testbed.vm.programs import build_static

from .tree_runs import BENCH, SWEEP

IN_MEMORY = Path("/dev/shm")
MEAN_BYTES = 10_000
FILES_OF_A_DIRECTORY = 100
# Model and ours, in the folder that has the tree.
PAIRS = {
    "nftw(), platter_walk()": (f"{BENCH}/nftw tree", f"{BENCH}/platter_walk tree"),
    "du": ("du -s tree", f"{SWEEP}/qdu -s tree"),
    "find": ("find tree -type f", f"{SWEEP}/qfind tree -type f"),
    "find -exec cat": ("find tree -type f -exec cat {} +", f"{SWEEP}/qfind tree -type f -exec cat {{}} +"),
    "tar": ("tar -cf - tree | cat", f"{SWEEP}/qtar -cf - tree | cat"),
    "tar, attributes too": ("tar --xattrs --acls --format=posix -cf - tree | cat", f"{SWEEP}/qtar -cf - tree | cat"),
    "cp -a": ("cp -a tree copy", f"{SWEEP}/qcp -r tree copy"),
}

Times = dict[str, tuple[list[float], list[float]]]  # seconds of the model and of ours, by pair


def make_tree(root: Path, files: int, seed: int = 1) -> None:
    draw = random.Random(seed)
    for number in range(files):
        folder = root / f"d{number // FILES_OF_A_DIRECTORY % 20}/e{number // FILES_OF_A_DIRECTORY}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"some-file-{number}.c").write_bytes(bytes(draw.randrange(2 * MEAN_BYTES)))


def cpu_seconds(command: str, folder: Path) -> float:
    """User's and system's, of a command and all that it waited for."""
    with subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ToolError(f"'{command}' fails")
    shutil.rmtree(folder / "copy", ignore_errors=True)
    return used.ru_utime + used.ru_stime


def measured(pairs: Mapping[str, tuple[str, str]], runs: int, folder: Path,
             measure: Callable[[str, Path], float] = cpu_seconds) -> Times:
    """By turns, and the one that is first as well: what the machine does meanwhile is both's."""
    found: Times = {}
    for name, commands in pairs.items():
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(runs):
            for which in (0, 1) if number % 2 else (1, 0):
                times[which].append(measure(commands[which], folder))
        found[name] = times
    return found


def rows(found: Times) -> list[list[str]]:
    return [[name, *(f"{1000 * figure:.1f}" for one in (model, ours) for figure in (min(one), statistics.median(one))),
             f"{100 * (min(ours) / min(model) - 1):+.1f}%"] for name, (model, ours) in found.items()]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=positive, default=15, metavar="N", help="of each (default: %(default)s)")
    parser.add_argument("--files", type=positive, default=20_000, metavar="N",
                        help="of the tree (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="seconds of each run, for a program")


def command(args: argparse.Namespace) -> int:
    subprocess.run(["make", "-s", "-C", TOOLS / "user/sweep"], check=True, stdout=subprocess.DEVNULL)
    build_static(TOOLS / "dev/bench/nftw.c", BENCH)
    # anew each time: what is compiled once does not see that the library has changed
    (BENCH / "platter_walk").unlink(missing_ok=True)
    build_static(TOOLS / "dev/bench/platter_walk.c", BENCH, "-Wl,--whole-archive", f"{SWEEP}/libplatter.a",
                 "-Wl,--no-whole-archive")
    with tempfile.TemporaryDirectory(prefix="trees-", dir=IN_MEMORY) as folder:
        make_tree(Path(folder) / "tree", args.files)
        found = measured(PAIRS, args.runs, Path(folder))
    if args.json:
        print(json.dumps({name: {"model": model, "ours": ours} for name, (model, ours) in found.items()}))
    else:
        print(text.table(["CPU, ms", "model, least", "median", "ours, least", "median", "difference"], rows(found)))
    return 0
