# SPDX-License-Identifier: GPL-2.0
"""Run the project's tests, step by step.

The steps that boot QEMU, which uses one CPU most of the time, run alongside the others.
A step that fails does not stop the rest. The last line is always
`N passed, N failed, N skipped`; the exit code is 0 only when nothing failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli, text
from tools.base.files import write_whole
from tools.testbed.vm import surroundings

from .counting import Count
from .running import Row, run_lanes
from .seed import VARIABLE
from .steps import LOGS, steps

SLOWEST = 20


def parser(names: Sequence[str]) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="check", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--steps", default=os.environ.get("STEPS", ""), metavar="A,B",
                     help="only these: " + ", ".join(names))
    top.add_argument("--all", action="store_true", help="run the steps too that otherwise run only when they are named")
    top.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or secrets.randbelow(10**6)), metavar="S",
                     help="seed of the random inputs (default: $SEED, else a new one)")
    top.add_argument("--last-start", type=float, default=os.environ.get("LAST_START") or "inf", metavar="T",
                     help="leave out bisect and series-tips if they would begin later, in seconds since 1970 "
                          "(default: $LAST_START, if set)")
    top.add_argument("--list", action="store_true", help="print the names of the steps and exit")
    top.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    table = steps()
    args = parser([step.name for step in table]).parse_args(argv)
    if args.list:
        print("\n".join(step.name for step in table))
        return 0
    # what is built here is run by other users, too, in guests
    os.umask(surroundings.UMASK)
    # what it starts in the background would ignore the signal that ends it
    cli.heed_interrupts()
    return cli.run("check", lambda: check(args))


def check(args: argparse.Namespace) -> int:
    table = steps()
    wanted = [name for name in re.split(r"[,\s]+", args.steps) if name]
    known = [step.name for step in table]
    if unknown := [name for name in wanted if name not in known]:
        raise cli.ToolError(f"no step named {', '.join(unknown)}; there are {', '.join(known)}", cli.EXIT_USAGE)
    LOGS.mkdir(parents=True, exist_ok=True)
    os.environ[VARIABLE] = str(args.seed)
    rows = run_lanes([step for step in table if (step.name in wanted if wanted else args.all or not step.extra)],
                     args.last_start)
    return summary(rows, args.seed, args.json)


def summary(rows: Sequence[Row], seed: int, report: Path | None) -> int:
    total = Count()
    for row in rows:
        total.passed += row.count.passed
        total.skipped += row.count.skipped
        total.failures += [f"{row.name}: {failure}" for failure in row.count.failures]
        total.times += [(seconds, f"{row.name}: {name}") for seconds, name in row.count.times]
    print("\n" + text.table(["slowest tests", "time"], [
        [name[:100], text.minutes(seconds)] for seconds, name in sorted(total.times, reverse=True)[:SLOWEST]]))
    print("\n" + text.table(["step", "passed", "failed", "skipped", "time"], [
        [row.name, str(row.count.passed), str(len(row.count.failures)), str(row.count.skipped),
         text.minutes(row.seconds)] for row in rows]))
    # Last, where a log that is cut still has it.
    if total.failures:
        print("failed:")
        for failure in total.failures:
            print(f"  {failure}")
    print(f"logs: build/check/; the same random inputs again: SEED={seed}")
    if report:
        write_whole(report, json.dumps([
            {"step": row.name, "passed": row.count.passed, "failed": row.count.failures,
             "skipped": row.count.skipped, "seconds": round(row.seconds, 1),
             "tests": [{"name": name, "seconds": seconds} for seconds, name in row.count.times]}
            for row in rows], indent=1) + "\n")
    print(f"{total.passed} passed, {len(total.failures)} failed, {total.skipped} skipped")
    return cli.EXIT_FAILED if total.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
