# SPDX-License-Identifier: GPL-2.0
"""Measure how long null_blk's rotating disk keeps interrupts off in its timer, with its deepest queue.

QEMU runs one guest instruction per guest nanosecond (-icount shift=0), so the results are
instructions. They include the completion of requests. The queue has 256 random reads and cached
random writes, which the disk serves by position: at each event it searches the next one.
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
from tools.testbed.vm import qemu

HERE = Path(__file__).resolve().parent
# A line of ftrace: "fio-1 [000] d.h1. 12.345678: hrtimer_expire_exit: hrtimer=0000..."
EVENT = re.compile(r"\[(\d+)\].*?(\d+)\.(\d{6}): hrtimer_expire_(entry|exit): hrtimer=(?:.*function=(\w+))?")
FUNCTION = "rot_timer_fn"


@dataclass
class Times:
    """The runs of the timer, in guest microseconds, which are thousands of instructions."""

    runs: int
    median: int
    longest: int


def times(lines: Iterable[str]) -> Times:
    """The runs of the disk's timer, from ftrace's events of all high-resolution timers."""
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
        raise ToolError("the guest's trace has no run of the disk's timer; is --disk a rotating disk?")
    took.sort()
    return Times(len(took), took[len(took) // 2], took[-1])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="preset of configs/disks (default: %(default)s)")
    parser.add_argument("--depth", type=positive, default=256, metavar="N",
                        help="queue depth (default: %(default)s)")
    parser.add_argument("--seconds", type=positive, default=20, metavar="S",
                        help="guest time (default: %(default)s)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE",
                        help="kernel to boot (default: that of `make kernel`)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def command(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="timer-") as work:
        print("bench: booting the kernel, then running fio with a full queue", file=sys.stderr, flush=True)
        result = vm.run(shlex.join(["bash", str(HERE / "timer-guest.sh"), args.disk, str(args.depth),
                                    str(args.seconds)]), kernel=args.kernel, cpus=1, kvm=False, out=Path(work),
                        timeout=600 + 60 * args.seconds, append=["null_blk.nr_devices=0"],
                        qemu=qemu.ICOUNT)
        if not result.ok:
            raise ToolError(result.why())
        with (Path(work) / "trace").open() as lines:
            found = times(lines)
    if args.json:
        print(json.dumps({"runs": found.runs, "median_us": found.median, "longest_us": found.longest}))
    else:
        print(text.table(["runs of the timer, thousand instructions", ""],
                         [["number", str(found.runs)], ["median", str(found.median)],
                          ["longest", str(found.longest)]]))
    return 0
