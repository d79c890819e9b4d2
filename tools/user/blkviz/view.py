# SPDX-License-Identifier: GPL-2.0
"""Reads a trace and writes the outputs: page, picture, Perfetto trace, statistics."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.base.files import write_whole

from . import blktrace_format as fmt
from . import html, live, model, trace_files, units
from .errors import NoTraceError

EPILOG = """\
TRACE is the common prefix of blktrace's files (sda for sda.blktrace.0, ...), a folder
with a recording, a single file (blktrace -o FILE), or - for a pipe. By default blkviz
writes the page TRACE.html.

  blkviz record sda -- cp film /tmp     traces sda while a command runs
  blkviz sda                            writes sda.html
  blkviz sda --png sda.png --from 2 --to 6
  blkviz --live sda                     serves the page while sda is traced
"""


def main(argv: Sequence[str]) -> int:
    return run(parser().parse_args(argv))


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="blkviz", description="Show a block trace: system calls, scheduler and disk on one time line.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("trace", nargs="*", metavar="TRACE",
                     help="recording to read; to make one, see blkviz record --help")
    top.add_argument("-o", "--html", type=Path, metavar="FILE", help="write the page to FILE")
    top.add_argument("--svg", type=Path, metavar="FILE", help="write a picture for print")
    top.add_argument("--png", type=Path, metavar="FILE", help="write the same picture as a bitmap")
    top.add_argument("--perfetto", type=Path, metavar="FILE", help="write a trace for ui.perfetto.dev")
    top.add_argument("--json", action="store_true", help="print statistics of each process")
    top.add_argument("--from", dest="start", type=float, metavar="S",
                     help="picture: start at this second of the trace (default: at the first event)")
    top.add_argument("--to", dest="end", type=float, metavar="S", help="picture: end at this second")
    top.add_argument("--process", action="append", default=[], metavar="NAME",
                     help="picture: show only processes with this ID, or with this text in the name (repeatable)")
    top.add_argument("--device", metavar="MAJOR:MINOR", help="device to show, if the trace has several")
    top.add_argument("--reserved", action="append", default=[], metavar="NAME=RATE",
                     help="reservation of a process (name or ID), e.g. player=3MiB (repeatable)")
    top.add_argument("--title", help="title of the page (default: name of the trace)")
    top.add_argument("--live", metavar="DEV",
                     help="trace DEV (-: read the output of blktrace -o - from stdin) and serve the page")
    top.add_argument("--port", type=int, default=8300,
                     help="port for --live, on the loopback (default: %(default)s; 0: any free port)")
    return top


def run(args: argparse.Namespace) -> int:
    if args.live:
        if args.trace:
            raise NoTraceError("--live traces a device: leave out TRACE")
        return live.serve(args.live, args.port)
    if not args.trace:
        raise NoTraceError("no TRACE given (see blkviz --help)")
    found = load(args)
    title = args.title or ("a pipe" if args.trace[0] == "-" else Path(args.trace[0]).name)
    other = args.svg or args.png or args.perfetto or args.json
    if args.html or not other:
        target = args.html or Path("blkviz.html" if args.trace[0] == "-" else f"{args.trace[0].rstrip('/')}.html")
        write_whole(target, html.render(html.payload(found, title)))
        print(f"{target}: {len(found.events):,} events, {len(found.requests):,} requests, "
              f"{len(found.calls):,} system calls, {target.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    if args.perfetto:
        from . import perfetto
        write_whole(args.perfetto, perfetto.document(found))
    if args.svg or args.png:
        from . import draw
        for target in filter(None, (args.svg, args.png)):
            draw.draw(found, target, title, args.start, args.end, args.process)
    for problem in model.problems_of(found):
        print(f"blkviz: {problem}", file=sys.stderr)
    if args.json:
        print(json.dumps(summary(found), indent=1))
    return 0


def load(args: argparse.Namespace) -> model.Model:
    try:
        device = fmt.device_number(args.device) if args.device else None
    except ValueError:
        raise NoTraceError(f"--device {args.device}: give MAJOR:MINOR, as printed by lsblk") from None
    reserved = dict(units.reservation(text) for text in args.reserved)
    trace, notes = trace_files.read(args.trace)
    return model.build(trace, notes, device, reserved)


def summary(found: model.Model) -> dict[str, Any]:
    """The output of --json: times in seconds, sizes in bytes."""
    return {
        "device": fmt.device_name(found.device), "seconds": found.seconds,
        "events": len(found.events), "requests": len(found.requests), "calls": len(found.calls),
        "slices": len(found.slices), "lost": sum(one.count for one in found.lost),
        "problems": model.problems_of(found),
        "processes": [asdict(process) for process in found.processes],
    }
