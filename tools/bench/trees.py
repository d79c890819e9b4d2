# SPDX-License-Identifier: GPL-2.0
"""How long programs take to read a tree of a file system that has lived, in virtual time.

User-Mode Linux, a modelled disk, ext4 or XFS; trees of 21,375 files that were there early, that
went through 24 versions (aged), and that were checked out at the end (clean), made by
tools/ageing. Programs of tools/sweep beside their models, with nothing cached. `one sweep` is
what tar asked of the disk, once upwards over it (tools/iobound). After chapter 4 of Lunde,
Improving Disk I/O Performance on Linux (2009), where tar took 82.6 s and 18.0 in the order of
the disk, and one sweep 13.4.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.base import text
from tools.base.arguments import positive, words
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import BUILD, TOOLS
from tools.vm import uml
from tools.vm.programs import of_system

HERE = Path(__file__).resolve().parent
SWEEP = BUILD / "sweep"
KINDS = ("early", "aged", "clean")
ONE_SWEEP = "one sweep"
# By name; TREE stands for what is read. Copies go to a tmpfs.
PROGRAMS = {
    "du": "du -s TREE",
    "qdu": f"{SWEEP}/qdu -s TREE",
    "find -exec cat": "find TREE -type f -exec cat {} +",
    "qfind -exec cat": f"{SWEEP}/qfind TREE -type f -exec cat {{}} +",
    "cp -a": "cp -a TREE /dev/tmp/copy",
    "qcp -r": f"{SWEEP}/qcp -r TREE /dev/tmp/copy",
    "tar": "tar -cf - TREE",
    "tar --sort=inode": "tar --sort=inode -cf - TREE",
    "qtar": f"{SWEEP}/qtar -cf - TREE",
    "qtar --order=none": f"{SWEEP}/qtar --order=none -cf - TREE",
}

Times = dict[str, dict[str, float]]  # seconds, by program and kind of tree


def measured(args: argparse.Namespace, out: Path) -> Times:
    """Boot a guest that leaves the times in the folder `out`."""
    churn = ["churn", "--seed", str(args.seed), "--scale", str(args.scale), str(out / "list")]
    subprocess.run([TOOLS / "ageing/ageing", *churn], check=True, stdout=subprocess.DEVNULL)
    (out / "programs").write_text("".join(f"{name}\t{PROGRAMS[name]}\n" for name in args.programs))
    guest = ["bash", str(HERE / "trees-guest.sh"), args.fs, args.disk, str(args.trees)]
    uml.run_commands(f"{shlex.join(guest)} > $OUT/said 2>&1 && touch $OUT/ended\n", out, args.kernel, args.timeout)
    if not (out / "ended").is_file():
        raise ToolError(f"the guest did not measure all: {last_line((out / 'said').read_text())}")
    found = times((out / "times").read_text())
    if sweeps := {kind: one_sweep(out / f"{kind}.blktrace.0", args) for kind in KINDS
                  if (out / f"{kind}.blktrace.0").is_file()}:
        found[ONE_SWEEP] = sweeps
    return found


def last_line(said: str) -> str:
    return (said.strip().splitlines() or ["it said nothing"])[-1]


def times(said: str) -> Times:
    """Lines KIND <tab> NAME <tab> milliseconds."""
    found: Times = {}
    for line in said.splitlines():
        kind, name, took = line.split("\t")
        found.setdefault(name, {})[kind] = int(took) / 1000
    return found


def one_sweep(trace: Path, args: argparse.Namespace) -> float:
    """Seconds of what is in a trace, upwards over the disk."""
    done = subprocess.run([TOOLS / "iobound/iobound", "report", trace, "--disk", args.disk, "--kernel", args.kernel,
                           "--json", "--quiet"], check=False, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"iobound: {last_line(done.stderr)}")
    seconds: dict[str, float] = {row["order"]: row["seconds"] for row in json.loads(done.stdout)["orders"]}
    return seconds["sweep"]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fs", choices=["ext4", "xfs"], default="ext4", help="default: %(default)s")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET", help="of configs/disks")
    parser.add_argument("--programs", type=words, default=list(PROGRAMS), metavar="A,B",
                        help=f"some of: {', '.join(PROGRAMS)}")
    parser.add_argument("--trees", type=positive, default=3, metavar="N", help="of each kind (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=1, metavar="F", help="of the number of files")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of names and sizes (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, default=uml.IMAGE, metavar="PATH",
                        help="User-Mode Linux to boot (default: build/uml/vmlinux)")
    parser.add_argument("--timeout", type=float, default=3600, metavar="S",
                        help="for the guest as a whole (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="the figures for a program")


def command(args: argparse.Namespace) -> int:
    if unknown := [name for name in args.programs if name not in PROGRAMS]:
        raise ToolError(f"--programs: there is no '{unknown[0]}', only {', '.join(PROGRAMS)}", EXIT_USAGE)
    subprocess.run(["make", "-s", "-C", TOOLS / "sweep"], check=True, stdout=subprocess.DEVNULL)
    if not of_system("blktrace"):
        print("bench: no blktrace: one sweep is left out", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="trees-") as folder:
        found = measured(args, Path(folder))
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print(text.table([f"seconds, {args.fs}", *KINDS], rows(found)))
    return 0


def rows(found: Times) -> list[list[str]]:
    return [[name, *(f"{seconds[kind]:.2f}" if kind in seconds else "-" for kind in KINDS)]
            for name, seconds in found.items()]
