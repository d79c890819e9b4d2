# SPDX-License-Identifier: GPL-2.0
"""Run groups of blktests, and the project's own tests in their format, under several schedulers.

Each group and scheduler has a guest, with the scheduler set on every disk. Results are kept: after an interruption the
same command continues. Exit codes: 0 cfq has no failure that bfq does not have; 1 it has one; 2 nothing was run; 4
blktests cannot be cloned; 125 a guest cannot be run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli
from tools.base.arguments import positive, words
from tools.base.files import write_json, write_whole
from tools.base.paths import BUILD

from . import guests, results, source

GROUPS = ("blktrace", "nullb", "block", "throtl", "loop", "scsi", "zbd")
SCHEDULERS = ("cfq", "bfq", "mq-deadline")
CHECKED = "cfq"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("wanted", nargs="*", metavar="GROUP[/NUMBER]", default=[],
                     help=f"groups or tests (default: {' '.join(GROUPS)})")
    top.add_argument("--schedulers", type=words, default=list(SCHEDULERS), metavar="A,B",
                     help=f"schedulers to compare (default: {','.join(SCHEDULERS)})")
    top.add_argument("--kernel", type=Path, metavar="FOLDER",
                     help="build folder of a kernel (default: build/kernel-blktests, else build/kernel-plain)")
    top.add_argument("--modules", type=Path, metavar="FOLDER",
                     help="folder with its installed modules, the INSTALL_MOD_PATH (default: install those of the "
                          "kernel's folder into build/blktests)")
    top.add_argument("--quick", type=positive, default=30, metavar="SECONDS",
                     help="time of a test with a time limit (default: 30)")
    top.add_argument("--limit", type=positive, default=400, metavar="SECONDS",
                     help="a test that takes longer fails (default: 400)")
    top.add_argument("--tries", type=positive, default=3, metavar="N",
                     help="run a failing test up to N times; it fails if it never passes (default: 3)")
    top.add_argument("--slow", action="store_true", help="also run tests without a time limit")
    top.add_argument("--memory", default="3G",
                     help="memory of a guest (default: 3G, of which a disk of scsi_debug takes 1G)")
    top.add_argument("--fresh", action="store_true", help="discard earlier results of these groups")
    top.add_argument("--report", action="store_true", help="only show the results of earlier runs")
    top.add_argument("--out", type=Path, default=BUILD / "runs/blktests", metavar="FOLDER",
                     help="folder for logs and results, with table.md and results.json (default: build/runs/blktests)")
    top.add_argument("--json", action="store_true", help="print the results as JSON")
    return top


def chosen(machine: guests.Machine, args: argparse.Namespace) -> list[guests.Group]:
    """The groups, each under all schedulers before the next: the schedulers can be compared early."""
    tests: dict[str, list[str]] = {}
    for wanted in args.wanted or GROUPS:
        found = tests.setdefault(results.group_of(wanted), [])
        found += [test for test in source.tests(machine.tree, wanted, args.slow) if test not in found]
    return [guests.Group(machine, args.out, name, scheduler, found)
            for name, found in tests.items() for scheduler in args.schedulers]


def command(args: argparse.Namespace) -> int:
    machine = guests.machine(args.kernel, args.modules, args.quick, args.limit, args.tries, args.memory)
    groups = chosen(machine, args)
    if args.report:
        groups = [group for group in groups if group.is_current()]
    else:
        run(groups, args.fresh)
    found = {scheduler: {group.name: group.outcomes() for group in groups if group.scheduler == scheduler}
             for scheduler in args.schedulers}
    return tell(found, machine, args)


def run(groups: Sequence[guests.Group], fresh: bool) -> None:
    for group in groups:
        if fresh or not group.is_current():
            group.forget()
    for group in groups:
        group.run()


def tell(found: results.Results, machine: guests.Machine, args: argparse.Namespace) -> int:
    value = results.as_json(found, {"blktests": source.COMMIT, "kernel": guests.shown(machine.kernel),
                                    "modules": sorted(path.name for path in guests.modules_in(machine.modules))})
    table = results.page(found)
    write_json(args.out / "results.json", value)
    write_whole(args.out / "table.md", table + "\n")
    print(json.dumps(value) if args.json else table)
    return cli.EXIT_FAILED if CHECKED in found and results.worse(found, CHECKED) else 0


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("run", lambda: command(args))


if __name__ == "__main__":
    sys.exit(main())
