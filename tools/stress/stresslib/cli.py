# SPDX-License-Identifier: GPL-2.0
"""The command line of the stress run."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .guest import FLAVOURS, TOP, StressError, run_stress
from .result import table

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
SAY_S = 30


def minutes(text: str) -> float:
    value = float(text)
    if not 0 < value <= 24 * 60:
        raise ValueError
    return value


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stress",
        description="Everything at once on CFQ in a booted kernel: I/O of all kinds, reservations, files, "
        "schedulers, tunables, disks that come and go, a CPU that does, traces, and injected faults; "
        "data is verified at the end.",
        epilog="Exit codes: 0 all held; 1 data is wrong, something failed that may not, the kernel complains or "
        "stands still; 2 nothing was run; 130 interrupted.",
    )
    parser.add_argument("--minutes", type=minutes, default=20.0, metavar="M",
                        help="of stress, beside booting and looking at what is left (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="of what each actor draws; how they meet is never the same (default: 1)")
    parser.add_argument("--flavour", choices=FLAVOURS, default="debug",
                        help="of the kernel; only debug injects faults of memory and I/O (default: debug)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE",
                        help="another kernel (default: that of the flavour)")
    parser.add_argument("--out", type=Path, default=TOP / "build" / "runs" / "stress", metavar="DIR",
                        help="where console, tables and counts are left (default: build/runs/stress)")
    parser.add_argument("--json", action="store_true", help="the result for a program")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


class Teller:
    """One line that is written over on a terminal, a line now and then elsewhere."""

    def __init__(self, seconds: int, quiet: bool) -> None:
        self.seconds, self.quiet = seconds, quiet
        self.live = sys.stderr.isatty()
        self.said = 0.0

    def __call__(self, phase: str, at: int, requests: int) -> None:
        now = time.monotonic()
        if self.quiet or (not self.live and now < self.said + SAY_S):
            return
        self.said = now
        doing = {"run": f"{at} of {self.seconds} s", "end": "ending", "verify": "verifying"}.get(phase, phase)
        text = f"stress: {doing}, {requests} requests"
        print(f"\r{text:60}" if self.live else text, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.live and not self.quiet:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)


def _terminated(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    args = make_parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seconds = max(1, round(args.minutes * 60))
    teller = Teller(seconds, args.quiet)
    try:
        outcome = run_stress(args.flavour, seconds, args.seed, args.out, image=args.kernel, tell=teller)
    except StressError as error:
        print(f"stress: {error}", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"stress: {error.filename or ''}: {error.strerror}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("stress: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        teller.end()
    print(json.dumps(outcome.as_json(), indent=1) if args.json else "\n".join(table(outcome)))
    if not outcome.ok:
        print(f"stress: failed; console and counts are in {args.out}", file=sys.stderr)
        return EXIT_FAILED
    return 0
