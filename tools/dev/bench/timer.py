# SPDX-License-Identifier: GPL-2.0
"""How long the rotating disk of null_blk keeps interrupts off in its timer, at its deepest queue.

QEMU runs one guest instruction in one guest nanosecond (-icount shift=0), so the figures are
instructions, completing the requests included. The disk has random reads and cached random
writes in a queue of 256 that it serves by position: at each event it looks for the next one.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.base import text
from tools.base.arguments import positive
from tools.base.cli import ToolError
from tools.testbed import vm

HERE = Path(__file__).resolve().parent
# A line of ftrace: "fio-1 [000] d.h1. 12.345678: hrtimer_expire_exit: hrtimer=0000..."
EVENT = re.compile(r"\[(\d+)\].*?(\d+)\.(\d{6}): hrtimer_expire_(entry|exit): hrtimer=(?:.*function=(\w+))?")
FUNCTION = "rot_timer_fn"


@dataclass
class Times:
    """Of the timer's runs, in guest microseconds: thousands of instructions."""

    runs: int
    median: int
    longest: int


def times(lines: Iterable[str]) -> Times:
    """From ftrace's events of high-resolution timers, those of the disk's."""
    began: dict[str, int] = {}
    took: list[int] = []
    for line in lines:
        if not (found := EVENT.search(line)):
            continue
        cpu, seconds, micros, what, function = found.groups()
        now = int(seconds) * 1_000_000 + int(micros)
        if what == "entry":
            began.pop(cpu, None)
            if function == FUNCTION:
                began[cpu] = now
        elif cpu in began:
            took.append(now - began.pop(cpu))
    if not took:
        raise ToolError("the guest's trace has no run of the disk's timer")
    took.sort()
    return Times(len(took), took[len(took) // 2], took[-1])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET", help="of configs/disks")
    parser.add_argument("--depth", type=positive, default=256, metavar="N", help="of the queue (default: %(default)s)")
    parser.add_argument("--seconds", type=positive, default=20, metavar="S",
                        help="of guest time (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="default: that of the plain flavour")
    parser.add_argument("--json", action="store_true", help="the figures for a program")


def command(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="timer-") as work:
        print("booting, then fio with a full queue", file=sys.stderr, flush=True)
        result = vm.run(shlex.join(["bash", str(HERE / "timer-guest.sh"), args.disk, str(args.depth),
                                    str(args.seconds)]), kernel=args.kernel, cpus=1, kvm=False, out=Path(work),
                        timeout=600 + 60 * args.seconds, append=["null_blk.nr_devices=0"],
                        qemu=["-icount", "shift=0,sleep=off"])
        if not result.ok:
            raise ToolError(result.why())
        with (Path(work) / "trace").open() as lines:
            found = times(lines)
    if args.json:
        print(json.dumps({"runs": found.runs, "median_us": found.median, "longest_us": found.longest}))
    else:
        print(text.table(["of the timer's runs, thousand instructions", ""],
                         [["number", str(found.runs)], ["median", str(found.median)],
                          ["longest", str(found.longest)]]))
    return 0
