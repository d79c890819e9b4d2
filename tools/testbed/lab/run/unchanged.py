# SPDX-License-Identifier: GPL-2.0
"""Do two kernels serve the same requests at the same times?

For patches that must not show unless they are asked for: the same runs on a
kernel without and on one with them, no reservation in either, and the time of
each operation compared to the nanosecond.

Some runs depend on the tags that the kernel chooses at random, under bfq above
all, and no two kernels draw the same numbers. A run that differs is therefore
repeated on the newer kernel with other numbers: if it then differs from itself,
the difference says nothing of the patches.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from tools.base.cli import EXIT_USAGE, ToolError

from ..model.results import CellResult, Result
from ..model.scenario import Scenario
from . import runner
from .features import Features
from .kernels import Kernels
from .plan import Plan, make_plan

# The page cache decides by what memory is free, which the size of the kernel
# changes by some pages: with this much it never comes near its limits (the most
# that a scenario reads into it is 8 files of 384 MiB).
MEMORY = "5000M"
# Other random numbers than a guest has by itself, tried one after the other.
SEEDS = (2, 3, 4)

Results = dict[str, Result]  # by scenario


class Row(TypedDict):
    """A scenario on both kernels."""

    scenario: str
    runs: int
    operations: int
    differ: dict[str, str]  # run -> how
    random: dict[str, str]  # the same, of those that differ from themselves


def common(old: Features, new: Features) -> Features:
    """What both kernels have, and no BW class: nobody can ask for it."""
    for name, kernel in (("older", old), ("newer", new)):
        if not kernel.rotating:
            raise ToolError(f"the {name} kernel has no rotating disk in null_blk", EXIT_USAGE)
    schedulers = [name for name in new.schedulers if name in old.schedulers]
    return Features(new.release, schedulers, False, True, old.attributes & new.attributes)


def results_of(
    plans: list[Plan], kernels: Kernels, jobs: int, progress: Callable[[int, int, str, float], None]
) -> Results:
    """The results of all scenarios, by name; a guest that fails is an error."""
    found: Results = {}

    def finished(plan: Plan, result: Result) -> None:
        found[plan.scenario.name] = result

    failures = runner.run_plans(plans, kernels, jobs, None, finished, progress)
    if failures:
        raise ToolError(failures[0])
    return found


def difference(old: CellResult, new: CellResult) -> str:
    """How two runs of one cell differ, or nothing."""
    if old["status"] != new["status"]:
        return f"{old['status']} without, {new['status']} with"
    for before, after in zip(old["processes"], new["processes"], strict=True):
        if before != after:
            keys = [key for key, value in before.items() if value != after.get(key)]
            return f"{before['name']}: {', '.join(keys)}"
    return ""


def compare(old: Results, new: Results) -> list[Row]:
    """A row for each scenario: its runs, its operations, and what differs."""
    rows: list[Row] = []
    for name, result in new.items():
        pairs = [
            (cell, next(c for c in old[name]["cells"] if c["name"] == cell["name"]))
            for cell in result["cells"]
            if cell["status"] != "needs-bw"
        ]
        differing = {cell["name"]: difference(before, cell) for cell, before in pairs}
        rows.append(
            {
                "scenario": name,
                "runs": len(pairs),
                "operations": sum(process["reads"] for cell, _ in pairs for process in cell["processes"]),
                "differ": {run: how for run, how in differing.items() if how},
                "random": {},
            }
        )
    return rows


def set_random_aside(rows: list[Row], new: Results, again: Callable[[str, list[str], int], Results]) -> None:
    """Move the runs that differ from themselves with other random numbers from `differ` to `random`.

    `again` takes a scenario, names of its runs and a seed; it returns results of the newer kernel as `new` has them.
    """
    for row in rows:
        name = row["scenario"]
        before = {cell["name"]: cell for cell in new[name]["cells"]}
        for seed in SEEDS:
            if not row["differ"]:
                break
            for cell in again(name, list(row["differ"]), seed)[name]["cells"]:
                if how := difference(before[cell["name"]], cell):
                    del row["differ"][cell["name"]]
                    row["random"][cell["name"]] = how


def plans_for(
    scenarios: list[Scenario],
    disk_folder: Path,
    schedulers: list[str] | None,
    duration: float | None,
    features: Features,
) -> list[Plan]:
    """Plans of the scenarios that use one of the schedulers."""
    plans = []
    for scenario in scenarios:
        if duration:
            scenario = dataclasses.replace(scenario, duration_s=min(duration, scenario.duration_s))
        if scenario.cells(schedulers, None):
            plans.append(make_plan(scenario, disk_folder, schedulers, None, None, features))
    if not plans:
        raise ToolError(f"no scenario uses {', '.join(schedulers or [])}", EXIT_USAGE)
    return plans
