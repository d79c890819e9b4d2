# SPDX-License-Identifier: GPL-2.0
"""`lab cells` and `lab cell`: runs one by one, for workflow/Snakefile, through the cache that `lab run` uses."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from tools.base.files import write_json

from ..model.catalog import DISKS, SCENARIOS, find_scenario
from ..run import runner
from ..run.cache import inputs_of, key_of
from ..run.loadgen import ending
from ..run.plan import make_plan
from .options import (
    KERNEL_HERE,
    Commands,
    cache_options,
    chosen_scenarios,
    guest_options,
    kernels_and_cache,
    run_options,
)


def cmd_cells(args: argparse.Namespace) -> int:
    """Name the runs whose results are not in the cache: by its key, the scenario and the run."""
    kernels, cache, features = kernels_and_cache(args)
    named = sorted(path.stem for path in SCENARIOS.glob("*.toml")) if args.all else args.scenario
    missing: dict[str, list[str]] = {}
    total = 0
    for name, scenario in zip(named, chosen_scenarios(args), strict=True):
        plan = make_plan(scenario, DISKS, args.scheduler, None, None, features)
        for run in plan.runs:
            key = key_of(inputs_of(plan, run, kernels.guests(plan, run))) if run.policy else ""
            total += bool(key)
            if key and not cache.get(key):
                missing[key] = [name, run.cell.name]
    write_json(args.out, missing)
    if not args.quiet:
        print(f"lab: {len(missing)} of {total} runs are not in {args.cache}: {args.out}", file=sys.stderr)
    return 0


def cmd_cell(args: argparse.Namespace) -> int:
    """Make one run that `lab cells` names; its result goes into the cache."""
    name, cell = json.loads(args.plan.read_text())[args.key]
    kernels, cache, features = kernels_and_cache(args)
    plan = make_plan(find_scenario(name), DISKS, None, None, None, features, f"^{re.escape(cell)}$")
    guests = kernels.guests(plan, plan.runs[0])
    key = key_of(inputs_of(plan, plan.runs[0], guests))
    if key != args.key:
        print(f"lab: {name} {cell}: its inputs have changed since `lab cells`: run that again", file=sys.stderr)
        return 1
    with ending(guests):
        cache.put(key, runner.run_cell(plan, plan.runs[0], guests, None))
    return 0


def cells_parsers(commands: Commands) -> None:
    """Runs one by one."""
    what = "name the runs that are not in the cache, for `lab cell`"
    p = commands.add_parser("cells", help=what,
                            parents=[run_options(jobs=False), guest_options(*KERNEL_HERE), cache_options()])
    p.add_argument("--out", type=Path, required=True, metavar="PLAN.json", help="where the names go")
    p.set_defaults(function=cmd_cells)
    what = "make a run that `lab cells` names, into the cache"
    p = commands.add_parser("cell", help=what, parents=[guest_options(*KERNEL_HERE), cache_options()])
    p.add_argument("plan", type=Path, metavar="PLAN.json", help="written by `lab cells`")
    p.add_argument("key", help="of the run, in the plan")
    p.set_defaults(function=cmd_cell)
