# SPDX-License-Identifier: GPL-2.0
"""selftests/blktests/run: groups of blktests, and the project's own tests in its form, under several schedulers.

A guest for each group and scheduler, with the scheduler on every disk that there is or that appears. What was found is
kept: the same command goes on where an earlier one was interrupted. Exit codes: 0 cfq has no failure that bfq does not
have; 1 it has one; 2 nothing was run; 4 blktests is not here and cannot be fetched; 125 a guest cannot be run.
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
JUDGED = "cfq"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("wanted", nargs="*", metavar="GROUP[/NUMBER]", default=[],
                     help=f"groups or tests (default: {' '.join(GROUPS)})")
    top.add_argument("--schedulers", type=words, default=list(SCHEDULERS), metavar="A,B",
                     help=f"(default: {','.join(SCHEDULERS)})")
    top.add_argument("--kernel", type=Path, metavar="FOLDER",
                     help="where a kernel was built (default: build/kernel-blktests, or build/kernel-plain)")
    top.add_argument("--modules", type=Path, metavar="FOLDER",
                     help="where its modules are installed, what INSTALL_MOD_PATH was (default: those of the kernel's "
                          "folder are installed into build/blktests)")
    top.add_argument("--quick", type=positive, default=30, metavar="SECONDS",
                     help="what a test that keeps to a time should take (default: 30)")
    top.add_argument("--limit", type=positive, default=400, metavar="SECONDS",
                     help="a test that takes longer has failed (default: 400)")
    top.add_argument("--tries", type=positive, default=3, metavar="N",
                     help="how often a test that fails is run: it has failed if it never passes (default: 3)")
    top.add_argument("--slow", action="store_true", help="also tests that keep to no time")
    top.add_argument("--memory", default="3G", help="of a guest (default: 3G, of which a disk of scsi_debug takes 1G)")
    top.add_argument("--fresh", action="store_true", help="forget what earlier runs found of what is run now")
    top.add_argument("--report", action="store_true", help="run nothing, show what was found")
    top.add_argument("--out", type=Path, default=BUILD / "runs/blktests", metavar="FOLDER",
                     help="logs and results, table.md and results.json among them (default: build/runs/blktests)")
    top.add_argument("--json", action="store_true", help="the results as JSON on stdout, not the table")
    return top


def chosen(machine: guests.Machine, args: argparse.Namespace) -> list[guests.Group]:
    """Groups of one scheduler after those of another: two schedulers of a group can be compared early."""
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
    return cli.EXIT_FAILED if JUDGED in found and results.worse(found, JUDGED) else 0


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("run", lambda: command(args))


if __name__ == "__main__":
    sys.exit(main())
