# SPDX-License-Identifier: GPL-2.0
"""Measure how long each scheduler holds its lock for a request, with two CPUs.

Uses the kernel's lock statistics (Documentation/locking/lockstat.rst) in a flavour of its own.
They slow down all code that takes a lock, alike for all schedulers: compare the results of one run
with each other, not with those of a kernel without lock statistics.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.base import text
from tools.base.arguments import positive, words
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import BUILD
from tools.testbed import vm

HERE = Path(__file__).resolve().parent
# The lock of each scheduler's data, by the name of its lockdep class.
LOCKS = {"mq-deadline": "&dd->lock", "kyber": "&khd->lock", "bfq": "&bfqd->lock", "cfq": "&cfqd->lock"}
# con-bounces, contentions, four for the wait time, acq-bounces, acquisitions, four for the hold time
COLUMNS = 12


@dataclass
class Held:
    """The statistics of a lock in one run; times in microseconds."""

    requests: int
    acquisitions: int
    contentions: int
    waited: float
    held: float
    longest: float

    def row(self) -> list[str]:
        return [f"{self.requests}", f"{self.acquisitions / self.requests:.2f}",
                f"{100 * self.contentions / max(1, self.acquisitions):.1f}",
                f"{self.held / self.requests:.2f}", f"{self.waited / self.requests:.2f}", f"{self.longest:.1f}"]


HEAD = ["scheduler", "requests", "acquisitions/request", "contended, %", "hold time/request, us",
        "wait time/request, us", "longest hold, us"]


def held(lines: Iterable[str], lock: str, requests: int) -> Held:
    """Parse the line of a lock in /proc/lock_stat; its name may have the suffix of a reader, writer or subclass."""
    for line in lines:
        name, colon, rest = line.strip().rpartition(":")
        if not colon or re.sub(r"(/\d+|-[RW])$", "", name.strip()) != lock:
            continue
        columns = rest.split()
        if len(columns) != COLUMNS:
            raise ToolError(f"/proc/lock_stat: {lock} has {len(columns)} columns, not {COLUMNS}")
        return Held(requests, int(columns[7]), int(columns[1]), float(columns[4]), float(columns[10]),
                    float(columns[9]))
    raise ToolError(f"/proc/lock_stat: no line of {lock}; was the scheduler used?")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schedulers", type=words, default=list(LOCKS), metavar="A,B",
                        help=f"some of {', '.join(LOCKS)} (default: all)")
    parser.add_argument("--seconds", type=positive, default=20, metavar="S",
                        help="run time of fio under each scheduler (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE",
                        default=BUILD / "kernel-lockstat/arch/x86/boot/bzImage",
                        help="kernel to boot (default: that of `make kernel FLAVOUR=lockstat`)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def command(args: argparse.Namespace) -> int:
    if unknown := [name for name in args.schedulers if name not in LOCKS]:
        raise ToolError(f"--schedulers: the lock of '{unknown[0]}' is unknown; known: {', '.join(LOCKS)}", EXIT_USAGE)
    with tempfile.TemporaryDirectory(prefix="lock-") as work:
        print(f"bench: booting the kernel, then running fio under {', '.join(args.schedulers)}",
              file=sys.stderr, flush=True)
        guest = ["bash", str(HERE / "lock-guest.sh"), str(args.seconds), *args.schedulers]
        result = vm.run(shlex.join(guest), kernel=args.kernel, cpus=2, out=Path(work),
                        timeout=600 + 4 * args.seconds * len(args.schedulers), append=["null_blk.nr_devices=0"])
        if not result.ok:
            raise ToolError(result.why())
        found = {scheduler: held((Path(work) / f"{scheduler}.lock_stat").read_text().splitlines(), LOCKS[scheduler],
                                 int((Path(work) / f"{scheduler}.requests").read_text()))
                 for scheduler in args.schedulers}
    if args.json:
        print(json.dumps({scheduler: asdict(one) for scheduler, one in found.items()}, indent=2))
    else:
        print(text.table(HEAD, [[scheduler, *one.row()] for scheduler, one in found.items()]))
    return 0
