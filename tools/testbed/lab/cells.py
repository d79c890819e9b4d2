# SPDX-License-Identifier: GPL-2.0
"""Runs of scenarios one by one, as a workflow engine wants them: inputs in files, one result each.

Of a folder: `plan.json` names the runs of each scenario in their order; `inputs/SCENARIO/RUN.json` is all
that the run depends on, and is written only if that has changed; `cells/SCENARIO/RUN.json` is what came out.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, cast

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_json
from tools.base.paths import TOOLS
from tools.testbed.vm.uml import Guests

from . import job, runner
from .features import Features, probe
from .results import CellResult, Result
from .runner import Plan

PLAN, INPUTS, CELLS, FEATURES = "plan.json", "inputs", "cells", "features.json"
# What makes figures of a guest's records.
CODE = ("job.py", "stats.py", "runner.py")


class Input(TypedDict):
    """All that a run depends on; digests are of SHA-256."""

    scenario: str  # its file's path, or the name of one of ours
    cell: str
    kernel: str
    loadgen: str
    code: str
    job: str
    lists: dict[str, str]


def sha256(*paths: Path) -> str:
    """Of files, one behind the other."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()


def input_of(plan: Plan, run: job.Run, named: str, kernel: str, loadgen: str) -> Input:
    """@named: how the scenario was asked for; the digests of kernel and load generator."""
    return {"scenario": named, "cell": run.cell.name, "kernel": kernel, "loadgen": loadgen,
            "code": sha256(*(TOOLS / "testbed/lab" / name for name in CODE)),
            "job": job.job_text(plan.scenario, plan.disk, run, plan.features.bw, None) if run.policy else "",
            "lists": {str(n): "\n".join(s.list_lines) for n, s in enumerate(run.streams) if s.list_lines}}


def features_of(guests: Guests, kernel: str, folder: Path) -> Features:
    """What the kernel has; asked once for each kernel, by its digest, and kept in the folder."""
    path = folder / FEATURES
    if path.is_file():
        kept = json.loads(path.read_text())
        if kept.pop("kernel") == kernel:
            return Features(**kept | {"attributes": frozenset(kept["attributes"])})
    found = probe(guests)
    write_json(path, {"kernel": kernel} | dataclasses.asdict(found) | {"attributes": sorted(found.attributes)})
    return found


def write_plan(folder: Path, plans: dict[str, Plan], kernel: str, loadgen: str) -> int:
    """Write the inputs that have changed, and forget runs that are not there any more; returns how many changed."""
    changed = 0
    names: dict[str, list[str]] = {}
    for named, plan in plans.items():
        scenario = plan.scenario.name
        names[scenario] = [runner.file_name(run.cell.name) for run in plan.runs]
        if len(set(names[scenario])) < len(names[scenario]):
            raise ToolError(f"{scenario}: two runs have the same file name: {sorted(names[scenario])}")
        for run, name in zip(plan.runs, names[scenario], strict=True):
            path = folder / INPUTS / scenario / f"{name}.json"
            wanted = input_of(plan, run, named, kernel, loadgen)
            if not path.is_file() or json.loads(path.read_text()) != wanted:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_json(path, wanted)
                changed += 1
    for kind in (INPUTS, CELLS):
        for path in (folder / kind).glob("*/*.json"):
            if path.stem not in names.get(path.parent.name, ()):
                path.unlink()
        for path in (folder / kind).glob("*"):
            if path.name not in names:
                shutil.rmtree(path)
    write_json(folder / PLAN, names)
    return changed


def run_one(path: Path, plan_of: Callable[[str, str], Plan], guests: Guests, loadgen: Path) -> CellResult:
    """Run what an input is of. @plan_of: makes the plan of a scenario's one run.

    Raises ToolError where the input is not of the present kernel, scenario or load generator.
    """
    wanted = cast(Input, json.loads(path.read_text()))
    plan = plan_of(wanted["scenario"], wanted["cell"])
    (run,) = plan.runs
    now = input_of(plan, run, wanted["scenario"], sha256(guests.kernel), sha256(loadgen))
    if now != wanted:
        what = ", ".join(key for key, value in now.items() if cast(dict[str, Any], wanted).get(key) != value)
        raise ToolError(f"{path}: another {what} than when it was written; `lab cells` writes it again", EXIT_USAGE)
    return runner.run_cell(plan, run, guests, None)


def assemble(folder: Path, plan: Plan) -> Result:
    """The result of a scenario from those of its runs."""
    cells = []
    for run in plan.runs:
        path = folder / CELLS / plan.scenario.name / f"{runner.file_name(run.cell.name)}.json"
        if not path.is_file():
            raise ToolError(f"{path}: not there; `lab cell` makes it", EXIT_USAGE)
        cells.append(cast(CellResult, json.loads(path.read_text())))
    return runner.assemble(plan, cells)
