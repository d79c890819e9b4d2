# SPDX-License-Identifier: GPL-2.0
"""`lab unchanged` and `lab crosscheck`: results against another kernel's and against fio's."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from tools.base import text
from tools.base.arguments import seconds, words
from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError
from tools.base.files import write_json
from tools.testbed.vm.uml import Guests

from ..model import disks, results
from ..model.catalog import find_scenario
from ..report import result_tables
from ..run import crosscheck, job, unchanged
from ..run.features import probe
from ..run.kernels import Kernels
from ..run.loadgen import LOADGEN, build_loadgen, ending
from ..run.plan import Plan
from .options import (
    Commands,
    Runs,
    chosen_scenarios,
    depth_option,
    disks_option,
    guest_options,
    json_option,
    results_option,
    run_options,
)


def cmd_unchanged(args: argparse.Namespace) -> int:
    scenarios = chosen_scenarios(args)
    build_loadgen()
    both = [Guests(path, LOADGEN, args.limit, unchanged.MEMORY) for path in (args.without, args.kernel)]
    features = unchanged.common(*(probe(guests) for guests in both))
    plans = unchanged.plans_for(scenarios, args.disks, args.scheduler, args.duration, features)

    def results_of(plans: list[Plan], guests: Guests, quiet: bool) -> unchanged.Results:
        with ending(guests):
            return unchanged.results_of(plans, Kernels(guests), args.jobs, Runs(quiet))

    def again(name: str, cells: list[str], seed: int) -> unchanged.Results:
        plan = next(plan for plan in plans if plan.scenario.name == name)
        plan = dataclasses.replace(plan, runs=[one for one in plan.runs if one.cell.name in cells])
        return results_of([plan], Guests(args.kernel, LOADGEN, args.limit, unchanged.MEMORY, seed), True)

    found = []
    for guests in both:
        if not args.quiet:
            print(f"lab: {guests.kernel}", file=sys.stderr)
        found.append(results_of(plans, guests, args.quiet))
    rows = unchanged.compare(*found)
    unchanged.set_random_aside(rows, found[1], again)
    print(json.dumps(rows, indent=1) if args.json else unchanged_text(rows))
    return EXIT_FAILED if any(row["differ"] for row in rows) else 0


def unchanged_text(rows: list[unchanged.Row]) -> str:
    """A line for each scenario, and one for each run that differs."""
    counts = [(row["runs"], row["operations"], len(row["random"]), len(row["differ"])) for row in rows]
    header = ["scenario", "runs", "operations", "differ by themselves", "runs that differ"]
    lines = [text.table(header, [[row["scenario"], *map(str, n)] for row, n in zip(rows, counts, strict=True)])]
    for row in rows:
        for names, why in ((row["random"], ", as with other random numbers"), (row["differ"], "")):
            lines += [f"{row['scenario']} {name}: {how}{why}" for name, how in names.items()]
    return "\n".join(lines)


def cmd_crosscheck(args: argparse.Namespace) -> int:
    scenario = find_scenario(args.scenario)
    disk = disks.of_scenario(scenario, args.disks)
    path = args.results / f"{scenario.name}.json"
    result = results.load_result(path)
    pairs = []
    for cell in scenario.cells(args.scheduler, args.depth):
        virtual = [entry for entry in result["cells"] if entry["name"] == cell.name and entry["status"] == "ok"]
        if not virtual:
            raise ToolError(f"{path}: has no '{cell.name}'; `lab run {scenario.name}` first", EXIT_USAGE)
        print(f"lab: {cell.name} in QEMU, {scenario.duration_s:g} s", file=sys.stderr)
        folder = args.results / "crosscheck" / cell.name.replace(" ", "-").replace("=", "-")
        same = job.make_run(scenario, cell, disk, result["seed"], bw=True)
        pairs.append((virtual[0], crosscheck.run_fio(scenario, same, disk, args.kernel, folder, args.icount)))
    found = crosscheck.compare(scenario, pairs, result["duration_ns"], args.icount)
    write_json(args.results / f"crosscheck-{found['clock']}.json", found)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        rows = result_tables.crosscheck_rows(found)
        print(text.table(["figure", "virtual", "real", "difference"], rows))
        print(f"{found['status'].upper()} within {found['limit_percent']:g}%")
    return 0 if found["status"] == "pass" else EXIT_FAILED


def crosscheck_parser(commands: Commands) -> None:
    p = commands.add_parser(
        "crosscheck",
        help="repeat a scenario with fio in QEMU, in real time, and compare",
        parents=[results_option("run"), disks_option(), depth_option(" (default: the scenario's)"), json_option()],
    )
    p.add_argument("scenario", nargs="?", default="crosscheck", help="default: crosscheck; it must have been run")
    p.add_argument("--scheduler", type=words, default=["mq-deadline"], metavar="A,B", help="default: mq-deadline")
    what = "the guest's clock counts its instructions: the host's other work does not show"
    p.add_argument("--icount", action="store_true", help=what)
    p.add_argument("--kernel", type=Path, metavar="BZIMAGE", help="default: build/kernel-plain's")
    p.set_defaults(function=cmd_crosscheck)


def unchanged_parser(commands: Commands) -> None:
    what = "run without reservations on two kernels: exit 1 if any operation had another time"
    p = commands.add_parser("unchanged", help=what, parents=[run_options(), guest_options(), json_option()])
    what = "a User-Mode Linux without the patches that --kernel has"
    p.add_argument("--without", type=Path, required=True, metavar="PATH", help=what)
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds at most")
    p.set_defaults(function=cmd_unchanged)
