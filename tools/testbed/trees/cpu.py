# SPDX-License-Identifier: GPL-2.0
"""CPU time of the programs of tools/user/sweep and of the ones that they replace, on a tree in memory.

In memory the order of the files does not matter, so only the CPU time can differ. The programs
run in turn, many times, on this machine's own kernel. The time is user and system time of a
program and of the processes that it feeds. As a busy machine makes every program slower, the
minimum of each is compared.
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

from .experiments import BUILT, SWEEP

HERE = Path(__file__).resolve().parent
IN_MEMORY = Path("/dev/shm")
MEAN_BYTES = 10_000
FILES_OF_A_DIRECTORY = 100
# The program to compare with and ours; both run in the folder that has the tree.
PAIRS = {
    "nftw(), platter_walk()": (f"{BUILT}/nftw tree", f"{BUILT}/platter_walk tree"),
    "du": ("du -s tree", f"{SWEEP}/qdu -s tree"),
    "find": ("find tree -type f", f"{SWEEP}/qfind tree -type f"),
    "find -exec cat": ("find tree -type f -exec cat {} +", f"{SWEEP}/qfind tree -type f -exec cat {{}} +"),
    "tar": ("tar -cf - tree | cat", f"{SWEEP}/qtar -cf - tree | cat"),
    "tar, attributes too": ("tar --xattrs --acls --format=posix -cf - tree | cat", f"{SWEEP}/qtar -cf - tree | cat"),
    "cp -a": ("cp -a tree copy", f"{SWEEP}/qcp -r tree copy"),
}

Times = dict[str, tuple[list[float], list[float]]]  # by pair: seconds of the program to compare with, and of ours


def make_tree(root: Path, files: int, seed: int = 1) -> None:
    draw = random.Random(seed)
    for number in range(files):
        folder = root / f"d{number // FILES_OF_A_DIRECTORY % 20}/e{number // FILES_OF_A_DIRECTORY}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"some-file-{number}.c").write_bytes(bytes(draw.randrange(2 * MEAN_BYTES)))


def cpu_seconds(command: str, folder: Path) -> float:
    """User and system time of a command and all processes that it waited for."""
    with subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ToolError(f"'{command}' fails with exit code {process.returncode}")
    shutil.rmtree(folder / "copy", ignore_errors=True)
    return used.ru_utime + used.ru_stime


def measured(pairs: Mapping[str, tuple[str, str]], runs: int, folder: Path,
             measure: Callable[[str, Path], float] = cpu_seconds) -> Times:
    """Run the two programs of a pair in turn, alternating which is first, so that other load affects both alike."""
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
    parser.add_argument("--runs", type=positive, default=15, metavar="N",
                        help="runs of each program (default: %(default)s)")
    parser.add_argument("--files", type=positive, default=20_000, metavar="N",
                        help="files of the tree (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the seconds of each run as JSON")


def command(args: argparse.Namespace) -> int:
    subprocess.run(["make", "-s", "-C", TOOLS / "user/sweep"], check=True, stdout=subprocess.DEVNULL)
    build_static(HERE / "nftw.c", BUILT)
    # always rebuilt: build_static() does not notice a new library
    (BUILT / "platter_walk").unlink(missing_ok=True)
    build_static(HERE / "platter_walk.c", BUILT, "-Wl,--whole-archive", f"{SWEEP}/libplatter.a",
                 "-Wl,--no-whole-archive")
    with tempfile.TemporaryDirectory(prefix="trees-", dir=IN_MEMORY) as folder:
        make_tree(Path(folder) / "tree", args.files)
        found = measured(PAIRS, args.runs, Path(folder))
    if args.json:
        print(json.dumps({name: {"model": model, "ours": ours} for name, (model, ours) in found.items()}))
    else:
        head = ["CPU, ms", "theirs, minimum", "median", "ours, minimum", "median", "difference"]
        print(text.table(head, rows(found)))
    return 0
