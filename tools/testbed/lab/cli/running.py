# SPDX-License-Identifier: GPL-2.0
"""`lab run`, `lab try` and `lab record`: make results, compare them with the committed ones, commit them."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import get_args

from tools.base import text
from tools.base.arguments import regex, seconds
from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError
from tools.base.files import write_json

from ..model import results, settings
from ..model.catalog import OLDSCHED, SCENARIOS, all_scenarios, find_scenario, record_of
from ..model.results import Result, Verdict
from ..report import compare, result_tables
from ..run import expect, figures, runner
from ..run.loadgen import LOADGEN, ending
from ..run.plan import Plan, make_plan
from .options import (
    KERNEL_HERE,
    RESULTS,
    Commands,
    Runs,
    cache_options,
    chosen_scenarios,
    depth_option,
    guest_options,
    json_option,
    kernels_and_cache,
    run_options,
)


def cmd_run(args: argparse.Namespace) -> int:
    scenarios = of_files = chosen_scenarios(args)
    kernels, cache, features = kernels_and_cache(args, args.loadgen)
    if args.duration:
        scenarios = [dataclasses.replace(scenario, duration_s=args.duration) for scenario in scenarios]
    if args.disk:
        scenarios = [dataclasses.replace(scenario, disk=args.disk) for scenario in scenarios]
    if args.settings:
        scenarios = [scenario.with_settings(args.settings) for scenario in scenarios]
    if args.seed is not None:
        scenarios = [dataclasses.replace(scenario, seed=args.seed) for scenario in scenarios]
    if args.fragmented:
        scenarios = [dataclasses.replace(scenario, fragmented=True) for scenario in scenarios]
    scenarios = [now if now == of_file else dataclasses.replace(now, digest="")  # the load of no file
                 for now, of_file in zip(scenarios, of_files, strict=True)]
    plans = [
        make_plan(scenario, args.disks, args.scheduler, args.depth, scenario.seed, features, args.cell)
        for scenario in scenarios
    ]
    args.out.mkdir(parents=True, exist_ok=True)  # before the runs, not after them
    progress = Runs(args.quiet)
    verdicts: list[tuple[str, list[Verdict]]] = []

    def finished(plan: Plan, result: Result) -> None:
        write_json(args.out / f"{plan.scenario.name}.json", result)
        verdicts.append((plan.scenario.name, result["expect"]))
        if not args.json:
            progress.line.clear()
            print(result_tables.terminal(result, plan.scenario, args.details) + "\n", flush=True)

    try:
        with ending(kernels):
            trace_to = args.out / "traces" if args.trace else None
            failures = runner.run_plans(plans, kernels, args.jobs, trace_to, finished, progress, cache)
    except KeyboardInterrupt:
        print("lab: scenarios that were complete are in the results", file=sys.stderr)
        raise
    if args.json:
        print(json.dumps([{"scenario": name, "expect": found} for name, found in verdicts], indent=1))
    for failure in failures:
        print(f"lab: {failure}", file=sys.stderr)
    if not args.quiet:
        print(f"lab: {progress.summary()}; results in {args.out}", file=sys.stderr)
    unmet = any(verdict["status"] == "fail" for _, found in verdicts for verdict in found)
    return EXIT_FAILED if failures or (unmet and args.strict) else 0


def cmd_try(args: argparse.Namespace) -> int:
    """Run scenarios, and show what is not as in the committed results."""
    scenarios = chosen_scenarios(args)
    kernels, cache, features = kernels_and_cache(args)
    plans = [make_plan(scenario, args.disks, args.scheduler, args.depth, None, features, args.cell)
             for scenario in scenarios]
    found: list[Result] = []
    progress = Runs(args.quiet)
    with ending(kernels):
        failures = runner.run_plans(plans, kernels, args.jobs, None, lambda _, result: found.append(result), progress,
                                    cache)
    changed = False
    for result in found:
        scenario = find_scenario(result["scenario"])
        before = figures.load(record_of(scenario.name), scenario)
        rows, total = compare.with_record(before, result, scenario, args.percent)
        changed |= bool(rows)
        print(f"{scenario.name}: {len(rows)} of {total} results differ from the committed ones"
              f" by more than {args.percent:g}%")
        if rows:
            print(text.table(["run", "metric", "committed", "now", "change"], rows, "llrrr"))
        for verdict in compare.changed_verdicts(before, result, scenario):
            changed = True
            print(verdict)
    for failure in failures:
        print(f"lab: {failure}", file=sys.stderr)
    return EXIT_FAILED if failures or (changed and args.strict) else 0


def cmd_record(args: argparse.Namespace) -> int:
    """Write the records of results, which are committed."""
    if bool(args.scenario) == args.all:
        raise ToolError("name scenarios, or give --all", EXIT_USAGE)
    scenarios = {one.name: one for one in [*all_scenarios(), *all_scenarios(SCENARIOS / OLDSCHED)]}
    paths = sorted(args.results.glob("*.json")) + sorted((args.results / OLDSCHED).glob("*.json"))
    done = 0
    for path in paths:
        named = str(path.relative_to(args.results).with_suffix(""))
        scenario = scenarios.get(path.stem)
        if scenario is None or (args.scenario and named not in args.scenario):
            continue
        result = results.load_result(path)
        if result.get("digest") != scenario.digest:
            raise ToolError(f"{path}: of another load than {named} has now; `lab run {named}` makes it again",
                            EXIT_USAGE)
        target = record_of(named)
        if args.keep:
            result = figures.with_kept(result, figures.load(target, scenario), scenario)
        figures.write(result, scenario, target)
        again = figures.load(target, scenario)
        lost = [a["says"] for a, b in zip(expect.evaluate(result, scenario), expect.evaluate(again, scenario),
                                          strict=True) if a["status"] != b["status"]]
        if lost:
            raise ToolError(f"{target}: {figures.DIGITS} digits are too few to decide '{lost[0]}'")
        done += 1
        print(target.relative_to(Path.cwd()) if target.is_relative_to(Path.cwd()) else target)
    if not done:
        raise ToolError(f"no results of these scenarios in {args.results}; `lab run` makes them", EXIT_USAGE)
    return 0


def run_parser(commands: Commands) -> None:
    p = commands.add_parser(
        "run",
        help="run scenarios and show what came out",
        parents=[
            run_options(),
            guest_options(*KERNEL_HERE),
            depth_option(", instead of the scenario's"),
            cache_options(),
            json_option("print the expectations as JSON and no tables"),
        ],
    )
    what = "only runs whose name it is found in, as 'cfq.* N=24'"
    p.add_argument("--cell", type=regex, default="", metavar="REGEX", help=what)
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds, instead of the scenario's")
    what = "preset instead of the scenario's; give --out too, or its results replace those of the scenario's disk"
    p.add_argument("--disk", metavar="PRESET", help=what)
    what = "of the disk's queue, instead of the scenario's; give --out too"
    p.add_argument("--settings", choices=get_args(settings.Name), help=what)
    p.add_argument("--fragmented", action="store_true", help="with fragmented memory; give --out too")
    p.add_argument("--seed", type=int, help="draws other files and offsets than the scenario's own seed")
    what = "where results go (default: build/lab/results)"
    p.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help=what)
    p.add_argument("--trace", action="store_true", help="record a blktrace of each run under DIR/traces")
    what = "load generator (default: built from loadgen/)"
    p.add_argument("--loadgen", type=Path, default=LOADGEN, metavar="PATH", help=what)
    p.add_argument("--strict", action="store_true", help="exit 1 when an expectation does not hold")
    p.add_argument("--details", action="store_true", help="also print every group of every run")
    p.set_defaults(function=cmd_run)


def try_parser(commands: Commands) -> None:
    what = "run scenarios and show what differs from the committed results"
    p = commands.add_parser("try", help=what, parents=[run_options(), guest_options(*KERNEL_HERE), cache_options(),
                                                       depth_option(" instead of the scenario's")])
    p.set_defaults(function=cmd_try, scheduler=["cfq"])
    p.add_argument("--cell", type=regex, default="", metavar="REGEX", help="only runs whose name matches")
    p.add_argument("--percent", type=float, default=1, metavar="P",
                   help="changes of up to P percent are not shown (default: 1)")
    p.add_argument("--strict", action="store_true", help="exit 1 when something differs")


def record_parser(commands: Commands) -> None:
    what = "write results to Documentation/queue/results, where they are committed"
    p = commands.add_parser("record", help=what)
    p.add_argument("scenario", nargs="*", help="as NAME or oldsched/NAME; it must have been run")
    p.add_argument("--all", action="store_true", help="all results that there are")
    p.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="default: build/lab/results")
    p.add_argument("--keep", action="store_true",
                   help="keep recorded runs that the results lack: those of other schedulers, when only cfq changed")
    p.set_defaults(function=cmd_record)
