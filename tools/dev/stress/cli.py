# SPDX-License-Identifier: GPL-2.0
"""The command line of the stress test."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import arguments, cli
from tools.base.paths import BUILD
from tools.base.progress import Progress

from .result import table
from .run import FLAVOURS, run_stress

PROGRESS_S = 30


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stress",
        description="Stress CFQ in a booted kernel with everything at once: I/O of all kinds, reservations, files, "
        "schedulers, tunables, disks and a CPU that are added and removed, traces, and injected faults; "
        "data is verified at the end.",
        epilog="Exit codes: 0 all checks passed; 1 wrong data, an unexpected error, a warning of the kernel, or "
        "stalled I/O; 2 nothing was run; 130 interrupted.",
    )
    parser.add_argument("--minutes", type=arguments.seconds, default=20.0, metavar="M",
                        help="duration, without boot and final checks (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="seed of each actor; how they interleave always differs (default: 1)")
    parser.add_argument("--flavour", choices=FLAVOURS, default="debug",
                        help="kernel to boot; only debug injects faults of memory and I/O (default: debug)")
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE",
                        help="another kernel to boot (default: that of the flavour)")
    parser.add_argument("--out", type=Path, default=BUILD / "runs" / "stress", metavar="DIR",
                        help="folder for console, tables and counts (default: build/runs/stress)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = make_parser().parse_args(argv)
    cli.heed_interrupts()
    return cli.run("stress", lambda: stress(args))


def stress(args: argparse.Namespace) -> int:
    seconds = max(1, round(args.minutes * 60))
    progress = Progress(args.quiet, PROGRESS_S)

    def report(phase: str, at: int, requests: int) -> None:
        doing = {"run": f"{at} of {seconds} s", "end": "ending", "verify": "verifying"}.get(phase, phase)
        progress.show(f"stress: {doing}, {requests} requests")

    try:
        outcome = run_stress(args.flavour, seconds, args.seed, args.out, image=args.kernel, report=report)
    except cli.ToolError as error:
        raise cli.ToolError(str(error), cli.EXIT_USAGE) from None
    finally:
        progress.clear()
    print(json.dumps(outcome.as_json(), indent=1) if args.json else "\n".join(table(outcome)))
    if not outcome.ok:
        print(f"stress: failed; console and counts are in {args.out}", file=sys.stderr)
        return cli.EXIT_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
