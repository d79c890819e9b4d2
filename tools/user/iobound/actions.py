# SPDX-License-Identifier: GPL-2.0
"""`iobound report` replays a trace in all orders, `iobound list` writes it in one order."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.base import cli
from tools.base.arguments import seconds
from tools.base.files import write_whole
from tools.base.progress import Progress
from tools.base.text import table
from tools.testbed.disk import presets
from tools.testbed.disk.errors import DiskError
from tools.testbed.lab.model.disks import Disk
from tools.testbed.lab.run.loadgen import LOADGEN, build_loadgen, ending
from tools.testbed.vm import uml
from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import model
from tools.user.blkviz.errors import NoTraceError

from . import formats, orders, replay
from . import work as traces
from .dependencies import operations
from .work import Work

EPILOG = """\
TRACE is a recording as for blkviz: the common prefix of blktrace's files (sda for sda.blktrace.0, ...), a folder
with a recording, a single file, or - for a pipe.

Exit codes: 0 success; 1 a replay failed; 2 nothing was done (not a trace, a trace without the data for this order,
a disk that is too small); 130 interrupted.
"""
DISK = "barracuda-7200.11"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="iobound", description="Measure what reordering the requests of a block trace could gain.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = top.add_subparsers(required=True, metavar="ACTION")
    one = sub.add_parser("report", help="replay the trace in each order on a modelled disk, in virtual time",
                         epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_trace(one)
    one.add_argument("--disk", default=DISK, metavar="PRESET",
                     help="model of the disk, from configs/disks (default: %(default)s)")
    one.add_argument("--set", action="append", default=[], metavar="ATTRIBUTE=VALUE",
                     help="change an attribute of the disk (repeatable)")
    one.add_argument("--kernel", type=Path, metavar="FILE",
                     help="User-Mode Linux binary (default: LAB_KERNEL, or the one built by `make uml`)")
    one.add_argument("--limit", type=seconds, default=600, metavar="S",
                     help="limit of a replay in real seconds (default: 600)")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    one.set_defaults(action=_report)
    one = sub.add_parser("list", help="write the requests in one order, as a list for a replay program",
                         epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_trace(one)
    one.add_argument("--order", required=True, choices=tuple(orders.ORDERS))
    one.add_argument("--format", required=True, choices=tuple(formats.FORMATS),
                     help="btreplay: the format of btrecord; fio: an iolog; lab: offset and length, for loadgen")
    one.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE (default: standard output)")
    one.add_argument("--target", metavar="PATH",
                     help="the file that fio reads (default: /dev/NAME for a trace NAME)")
    one.set_defaults(action=_list)
    return top


def _add_trace(one: argparse.ArgumentParser) -> None:
    one.add_argument("trace", nargs="+", metavar="TRACE", help="recording to read")
    one.add_argument("--device", metavar="MAJOR:MINOR", help="device to use, if the trace has several")


def _read(args: argparse.Namespace) -> Work:
    """Read the trace; print what could not be read to stderr."""
    try:
        device = fmt.device_number(args.device) if args.device else None
    except ValueError:
        raise NoTraceError(f"--device {args.device}: give MAJOR:MINOR, as printed by lsblk") from None
    found = traces.read(args.trace, device)
    for problem in model.problems_of(found.model) + found.model.hints:
        print(f"iobound: {problem}", file=sys.stderr)
    return found


def _list(args: argparse.Namespace) -> int:
    work = _read(args)
    target = args.target or f"/dev/{_name(args.trace[0])}"
    data = formats.FORMATS[args.format](orders.make(work, args.order), target)
    if args.output:
        write_whole(args.output, data)
    elif args.format == "btreplay" and sys.stdout.isatty():
        raise cli.ToolError("--format btreplay is binary: give a file, e.g. -o sda.replay.0", cli.EXIT_USAGE)
    else:
        sys.stdout.buffer.write(data)
    return 0


def _name(trace: str) -> str:
    """The name of the device, from the name of the trace."""
    return "sdX" if trace == "-" else Path(trace).name.partition(".blktrace")[0]


@dataclass(frozen=True)
class Row:
    """The result of an order. @percent: of `original`; @mean_seek_sectors: see orders.mean_distance()"""

    order: str
    seconds: float
    percent: float
    mean_seek_sectors: float


def _report(args: argparse.Namespace) -> int:
    work = _read(args)
    rows = _replayed(args, work)
    lacking = {name: order.lacks(work) for name, order in orders.ORDERS.items() if order.lacks(work)}
    if args.json:
        print(json.dumps(_summary(args, work, rows, lacking), indent=1))
        return 0
    print(f"{len(work.requests):,} requests, {work.bytes / 2**20:.2f} MiB, {work.barriers} barriers, "
          f"{len(operations(work.model)):,} VFS operations, traced in {work.seconds:.3f} s\n")
    print(table(["order", "seconds", "% of original", "mean seek, MiB"], [
        [orders.ORDERS[row.order].title, f"{row.seconds:.3f}", f"{row.percent:.1f}",
         f"{row.mean_seek_sectors / 2048:.2f}"] for row in rows]))
    for name, what in lacking.items():
        print(f"\n{orders.ORDERS[name].title}: not replayed, the trace has {what}")
    return 0


def _disk(args: argparse.Namespace) -> Disk:
    preset = presets.load(args.disk)
    presets.change(preset, args.set)
    disk = Disk(preset.name, preset.attributes)
    if not all(disk.attributes.get(key, "512").isdecimal() for key in ("size", "blocksize")):
        raise DiskError(f"--set {' '.join(args.set)}: size and blocksize must be whole numbers")
    return disk


def _replayed(args: argparse.Namespace, work: Work) -> list[Row]:
    """Replay each order that the trace has the data for."""
    disk = _disk(args)
    build_loadgen()
    kernel = args.kernel or Path(os.environ.get("LAB_KERNEL") or uml.IMAGE)
    guests = uml.Guests(kernel, LOADGEN, args.limit)
    names = [name for name, order in orders.ORDERS.items() if not order.lacks(work)]
    progress, rows = Progress(args.quiet), list[Row]()
    with ending(guests):
        replay.check(work.requests, disk, guests)
        for done, name in enumerate(names):
            progress.show(f"{done}/{len(names)} replays, {progress.seconds():.0f} s ({name}) ...", now=progress.live)
            requests = orders.make(work, name)
            took = replay.seconds(f"order {name}", requests, disk, guests)
            first = rows[0].seconds if rows else took
            rows.append(Row(name, took, 100 * took / first, orders.mean_distance(requests)))
    progress.clear()
    return rows


def _summary(args: argparse.Namespace, work: Work, rows: Sequence[Row], lacking: dict[str, str]) -> dict[str, Any]:
    return {
        "requests": len(work.requests), "bytes": work.bytes, "barriers": work.barriers,
        "vfs_operations": len(operations(work.model)), "traced_seconds": work.seconds,
        "problems": model.problems_of(work.model), "disk": args.disk, "set": args.set,
        "orders": [asdict(row) for row in rows], "lacking": lacking,
    }


def main(words: Sequence[str]) -> int:
    args = parser().parse_args(words)
    code: int = args.action(args)
    return code
