# SPDX-License-Identifier: GPL-2.0
"""Measure how long programs take to read a tree of an aged file system, in virtual time.

The guest is User-Mode Linux with a modelled disk and ext4 or XFS. tools/testbed/ageing makes trees
of 21,375 files: early ones, aged ones that went through 24 versions, and clean ones that were
checked out at the end. The programs of tools/user/sweep and the ones that they replace read them,
with nothing cached. `one sweep` is the time of tar's requests in one pass over the disk
(tools/user/iobound). After chapter 4 of Lunde, Improving Disk I/O Performance on Linux (2009).

experiments:
  programs  each program on a whole tree
  bounds    what reordering could gain at most, on directories of 250 files
  heads     the position of the head while tar and qtar read
  orders    the orders of libplatter, on directories of 1,000 files
  ageing    tar and qtar after each version
  sizes     directories of 100 to 5,000 files
  pair      two trees, one after the other and at the same time, under each scheduler
  players   concurrent with 16 streams that have reservations
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tools.base import text
from tools.base.arguments import positive, words
from tools.base.cli import EXIT_USAGE, ToolError, need_numpy
from tools.base.paths import TOOLS
from tools.testbed.ageing import churn, generate
from tools.testbed.disk import presets
from tools.testbed.lab.model.units import MIB
from tools.testbed.lab.run.loadgen import build_loadgen
from tools.testbed.vm import uml
from tools.testbed.vm.programs import build_preloaded, of_system

from . import head_band, players, plot
from .experiments import BOUNDS, BUILT, EXPERIMENTS, HEADS, PROGRAMS, SIZED, SIZES, Lived, Run
from .head_band import Band
from .players import Reads

HERE = Path(__file__).resolve().parent

Times = dict[str, dict[str, list[float]]]  # seconds of each run, by row and column


class Measured:
    """The times of experiments and the reads of players, by row and column; the head's positions, by program.

    @mean_bytes: the mean size of a file in the directories that are read, by their number of files
    """

    def __init__(self) -> None:
        self.times: dict[str, Times] = {}
        self.players: dict[str, dict[str, Reads]] = {}
        self.heads: dict[str, Band] = {}
        self.mean_bytes: dict[int, float] = {}

    def add(self, run: Run, seconds: float) -> None:
        self.times.setdefault(run.experiment, {}).setdefault(run.row, {}).setdefault(run.column, []).append(seconds)

    def as_json(self) -> dict[str, Any]:
        reads = {row: {column: one._asdict() for column, one in columns.items()}
                 for row, columns in self.players.items()}
        more = {"late reads of players": reads, "mean bytes of a file": self.mean_bytes,
                HEADS: {program: band._asdict() for program, band in self.heads.items()}}
        return {**self.times, **{name: figures for name, figures in more.items() if figures}}


def there(names: Sequence[str]) -> list[str]:
    """Those of PROGRAMS that are installed; prints the others."""
    found = []
    for name in names:
        program = next(word for word in PROGRAMS[name].split() if "=" not in word)
        if Path(program).is_absolute() or of_system(program):
            found.append(name)
        else:
            print(f"trees: {program} is not installed: {name} is left out", file=sys.stderr)
    return found


def lived(args: argparse.Namespace, folder: Path) -> Lived:
    """Write the list of the ageing, and return what it makes of the file system."""
    versions = generate.generate(args.seed, args.scale)
    (folder / "list").write_text(churn.text(versions, [f"seed {args.seed}, scale {args.scale:g}"]))
    for files in churn.sizes(versions):
        last = files
    return Lived(args.trees, last, len(versions), args.directories)


def measured(args: argparse.Namespace, out: Path) -> Measured:
    """Boot a guest that writes the times to the folder `out`, and read them."""
    system = lived(args, out)
    names = there(args.programs) if "programs" in args.experiments else []
    runs = [run for name in args.experiments for run in EXPERIMENTS[name](system, names)
            if run.beside != "trace" or of_system("blktrace")]
    size = disk_bytes(args)
    for number, run in enumerate(runs):
        if run.beside == "players":
            (out / f"players-{number}").mkdir()
            (out / f"players-{number}/job").write_text(players.job_text(size, args.playing))
    (out / "plan").write_text("".join(f"{number}\t{run.after}\t{run.beside}\t{run.command}\n"
                                      for number, run in enumerate(runs)))
    guest = ["bash", str(HERE / "guest.sh"), args.fs, str(args.trees), str(build_loadgen()),
             args.disk, *disk_options(args)]
    uml.run_commands(f"{shlex.join(guest)} > $OUT/output 2>&1 && touch $OUT/ended\n", out, args.kernel, args.timeout)
    if not (out / "ended").is_file():
        raise ToolError(f"the guest failed: {last_line((out / 'output').read_text())}")
    found = collected(args, out, runs)
    if SIZED in args.experiments:
        means = {files: system.mean_bytes(files) for files in SIZES}
        found.mean_bytes = {files: mean for files, mean in means.items() if mean is not None}
        found.mean_bytes[len(system.files)] = sum(system.files.values()) / len(system.files)
    return found


def disk_bytes(args: argparse.Namespace) -> int:
    """The capacity of the disk; raises DiskError for an unknown preset or attribute."""
    preset = presets.load(args.disk)
    presets.change(preset, args.set)
    return int(preset.attributes["size"]) * MIB


def disk_options(args: argparse.Namespace) -> list[str]:
    return [word for given in args.set for word in ("--set", given)]


def collected(args: argparse.Namespace, out: Path, runs: Sequence[Run]) -> Measured:
    """Read the guest's times (NUMBER <tab> milliseconds), traces, and records of players."""
    found = Measured()
    for line in (out / "times").read_text().splitlines():
        number, took = map(int, line.split("\t"))
        run = runs[number]
        trace = out / f"{number}.blktrace.0"
        if run.experiment == HEADS:
            found.heads[run.row] = head_band.of_trace(trace)
        elif run.beside == "trace":
            for row, seconds in bounds(trace, args).items():
                found.add(run._replace(row=row), seconds)
        else:
            found.add(run, took / 1000)
        if run.beside == "players":
            found.players.setdefault(run.row, {})[run.column] = players.reads(
                out / f"players-{number}", args.playing)
    return found


def last_line(output: str) -> str:
    return (output.strip().splitlines() or ["no output"])[-1]


def bounds(trace: Path, args: argparse.Namespace) -> dict[str, float]:
    """The seconds that the requests of a trace take in each order of BOUNDS."""
    done = subprocess.run([TOOLS / "user/iobound/iobound", "report", trace, "--disk", args.disk, *disk_options(args),
                           "--kernel", args.kernel, "--json", "--quiet"], check=False, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"iobound: {last_line(done.stderr)}")
    return {BOUNDS[row["order"]]: row["seconds"] for row in json.loads(done.stdout)["orders"]
            if row["order"] in BOUNDS}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--experiments", type=words, default=["programs"], metavar="A,B",
                        help=f"some of: {', '.join(EXPERIMENTS)} (default: programs)")
    parser.add_argument("--fs", choices=["ext4", "xfs"], default="ext4", help="default: %(default)s")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="preset of configs/disks (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="ATTRIBUTE=VALUE",
                        help="change an attribute of the disk (repeatable)")
    parser.add_argument("--programs", type=words, default=list(PROGRAMS), metavar="A,B",
                        help=f"in experiment `programs`, some of: {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--trees", type=positive, default=3, metavar="N",
                        help="trees of each kind (default: %(default)s)")
    parser.add_argument("--directories", type=positive, default=16, metavar="N",
                        help="directories of a size, at most (default: %(default)s)")
    parser.add_argument("--playing", type=positive, default=240, metavar="S",
                        help="how long players read (default: %(default)s)")
    parser.add_argument("--scale", type=float, default=1, metavar="F",
                        help="factor for the number of files (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="seed of names and sizes (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, default=uml.IMAGE, metavar="PATH",
                        help="User-Mode Linux to boot (default: build/uml/vmlinux)")
    parser.add_argument("--timeout", type=float, default=3600, metavar="S",
                        help="limit of real time for the guest (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the results of each run as JSON")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw each experiment into DIR/trees-FS-NAME.png")


def check(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        raise ToolError(f"{option}: there is no '{unknown[0]}', only {', '.join(known)}", EXIT_USAGE)


def command(args: argparse.Namespace) -> int:
    check("--programs", args.programs, list(PROGRAMS))
    check("--experiments", args.experiments, list(EXPERIMENTS))
    disk_bytes(args)
    if "pair" in args.experiments and args.trees < 2:
        raise ToolError("--experiments: pair requires --trees 2 or more", EXIT_USAGE)
    if HEADS in args.experiments:
        need_numpy()
    if args.plot:
        plot.check()
        args.plot.mkdir(parents=True, exist_ok=True)
    subprocess.run(["make", "-s", "-C", TOOLS / "user/sweep"], check=True, stdout=subprocess.DEVNULL)
    build_preloaded(HERE / "sorted_readdir.c", BUILT)
    if {"programs", "bounds", HEADS} & set(args.experiments) and not of_system("blktrace"):
        print("trees: blktrace is not installed: bounds and positions of the head are left out", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="trees-") as folder:
        found = measured(args, Path(folder))
    if args.plot:
        draw(found, args)
    print(json.dumps(found.as_json(), indent=1) if args.json else "\n\n".join(tables(found, args.fs)))
    return 0


def draw(found: Measured, args: argparse.Namespace) -> None:
    for name, times in found.times.items():
        draw_one = plot.write_sizes if name == SIZED else plot.write
        draw_one(name, times, args.fs, args.plot / f"trees-{args.fs}-{name}.png")
    if found.heads:
        plot.write_heads(found.heads, args.fs, args.plot / f"trees-{args.fs}-{HEADS}.png")


def tables(found: Measured, fs: str) -> list[str]:
    """A table for each experiment, and the reads of players."""
    made = []
    for name, times in found.times.items():
        columns = list(dict.fromkeys(column for row in times.values() for column in row))
        made.append(text.table([f"seconds, {name}, {fs}", *columns], rows(times, columns)))
        if name == SIZED:
            made.append(text.table([f"tar : qtar, {fs}", "directories", "minimum", "mean", "maximum", "KiB a file"],
                                   factor_rows(times, found.mean_bytes)))
    if found.heads:
        made.append(text.table([f"heads, {fs}", "seconds", "GiB within 100 ms, mean"], head_band.rows(found.heads)))
    for row, reads in found.players.items():
        made.append("\n".join(f"players concurrent with {row}, {column}: {one.late} of {one.reads} reads are "
                              f"late, the longest takes {one.longest_ms:.0f} ms" for column, one in reads.items()))
    return made


def rows(times: Times, columns: Sequence[str]) -> list[list[str]]:
    """The mean of each cell, with minimum and maximum if it has several runs."""
    return [[name, *(cell(row[column]) if column in row else "-" for column in columns)]
            for name, row in times.items()]


def cell(seconds: Sequence[float]) -> str:
    spread = f" ({min(seconds):.2f} to {max(seconds):.2f})" if len(seconds) > 1 else ""
    return f"{fmean(seconds):.2f}{spread}"


def factor_rows(times: Times, mean_bytes: Mapping[int, float]) -> list[list[str]]:
    """The factor between tar and qtar over all directories of a size, and the mean size of their files."""
    made = []
    for name, row in times.items():
        factors = plot.factors(row)
        mean = mean_bytes.get(int(name.rpartition(" ")[2].replace(",", "")))
        made.append([name, str(len(factors)), f"{min(factors):.2f}", f"{fmean(factors):.2f}", f"{max(factors):.2f}",
                     "-" if mean is None else f"{mean / 1024:.0f}"])
    return made
