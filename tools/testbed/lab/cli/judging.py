# SPDX-License-Identifier: GPL-2.0
"""`lab matrix`: a claim over settings, tags, queue depths, disks and seeds."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from tools.base import text
from tools.base.arguments import seconds, words
from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError
from tools.base.files import write_json
from tools.base.paths import BUILD
from tools.testbed.vm.uml import Guests

from ..model.catalog import find_scenario
from ..model.results import Result
from ..run import matrix, runner
from ..run.cache import Cache
from ..run.loadgen import LOADGEN, build_loadgen, ending
from ..run.metrics import figure
from ..run.plan import Plan, make_plan
from .options import KERNEL_HERE, Commands, Runs, cache_options, guest_options, json_option, run_options

MATRIX = BUILD / "lab" / "matrix"


def _chosen(given: list[str] | None, known: dict[str, Any] | tuple[Any, ...], what: str) -> list[Any]:
    """The values of an axis that were asked for, or all."""
    by_name = {str(value): value for value in known}
    if given and (unknown := [name for name in given if name not in by_name]):
        raise ToolError(f"--{what}: there is no '{unknown[0]}', only {'; '.join(by_name)}", EXIT_USAGE)
    return [by_name[name] for name in given] if given else list(by_name.values())


def cmd_matrix(args: argparse.Namespace) -> int:
    """Run the cells of claims; print the worst and the median beside the best baseline."""
    claims = matrix.load()
    if args.list:
        print(text.table(["claim", "scenario", "says"], [[one.name, one.scenario, one.says]
                                                         for one in claims.values()], "lll"))
        return 0
    wanted = _chosen(args.scenario or None, tuple(claims), "claim")
    points = list(matrix.points(
        _chosen(args.on, matrix.DISKS, "on"), _chosen(args.settings, matrix.SETTINGS, "settings"),
        _chosen(args.tags, matrix.TAGS, "tags"), _chosen(args.seeds, matrix.SEEDS, "seeds")))
    build_loadgen()
    guests = Guests(args.kernel, LOADGEN, args.limit)
    cache = Cache(args.cache, args.again)
    features = cache.features(guests)
    asked: dict[int, tuple[matrix.Claim, matrix.Point]] = {}
    plans = []
    for name in wanted:
        scenario = find_scenario(claims[name].scenario)
        if args.duration:
            scenario = dataclasses.replace(scenario, duration_s=args.duration)
        for point in points:
            there = matrix.at(claims[name], scenario, point, args.disks)
            plans.append(make_plan(there, args.disks, args.scheduler, None, point.seed, features, args.cell))
            asked[id(plans[-1])] = claims[name], point
    found: dict[str, list[matrix.Cell]] = {name: [] for name in wanted}

    def finished(plan: Plan, result: Result) -> None:
        claim, point = asked[id(plan)]
        found[claim.name] += matrix.cells(claim, point, result)

    with ending(guests):
        failures = runner.run_plans(plans, guests, args.jobs, None, finished, Runs(args.quiet), cache)
    summaries = [matrix.summary(claims[name], cells) for name, cells in found.items() if cells]
    for name, cells in found.items():
        write_json(args.out / f"{name}.json", [dataclasses.asdict(cell) for cell in cells])
    print(json.dumps(summaries, indent=1) if args.json else shown(summaries))
    for failure in failures:
        print(f"lab: {failure}", file=sys.stderr)
    broken = any(one["hold"] < one["cells"] for one in summaries)
    return EXIT_FAILED if failures or (broken and args.strict) else 0


def shown(summaries: list[dict[str, Any]]) -> str:
    """A line for each claim."""
    rows = []
    for one in summaries:
        worst = one["worst"]
        ratio = "" if worst["ratio"] == worst["ours"] else f" ({figure(worst['ratio'])} times as bad)"
        rows.append([one["claim"], f"{one['hold']} of {one['cells']}", figure(one["median_ratio"]),
                     f"{figure(worst['ours'])} against {figure(worst['theirs'])} under {worst['baseline']}{ratio}",
                     worst["where"]])
    return text.table(["claim", "cells that hold", "median ratio", "worst cell", "where"], rows, "llrll")


def matrix_parser(commands: Commands) -> None:
    what = "test a claim over settings, tags, queue depths, disks and seeds, beside the best baseline"
    p = commands.add_parser("matrix", help=what, parents=[run_options(), guest_options(*KERNEL_HERE), cache_options(),
                                                          json_option("print the summaries as JSON")])
    p.set_defaults(function=cmd_matrix)
    p.add_argument("--list", action="store_true", help="name the claims")
    p.add_argument("--on", type=words, metavar="A,B", help=f"only these disks: {', '.join(matrix.DISKS)}")
    p.add_argument("--settings", type=settings_names, metavar="A;B", help=f"only these: {'; '.join(matrix.SETTINGS)}")
    p.add_argument("--tags", type=words, metavar="N,M", help=f"only these: {', '.join(map(str, matrix.TAGS))}")
    p.add_argument("--seeds", type=words, metavar="N,M", help=f"only these: {', '.join(map(str, matrix.SEEDS))}")
    p.add_argument("--duration", type=seconds, metavar="S", help="virtual seconds, instead of the scenario's")
    p.add_argument("--cell", default="", metavar="REGEX", help="only runs whose name matches")
    p.add_argument("--strict", action="store_true", help="exit 1 when a claim does not hold in each cell")
    p.add_argument("--out", type=Path, default=MATRIX, metavar="DIR", help="where cells go (default: build/lab/matrix)")


def settings_names(given: str) -> list[str]:
    """Names of settings, which may have a comma."""
    return [name.strip() for name in given.split(";")]
