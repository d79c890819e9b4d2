# SPDX-License-Identifier: GPL-2.0
"""Players and cameras in User-Mode Linux: in virtual time, so that results are the same on every machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.base.cli import ToolError
from tools.testbed.lab.cli.options import Runs
from tools.testbed.lab.model import schema
from tools.testbed.lab.model.catalog import DISKS
from tools.testbed.lab.model.results import CellResult, Result
from tools.testbed.lab.model.scenario import Scenario
from tools.testbed.lab.run import runner
from tools.testbed.lab.run.features import probe
from tools.testbed.lab.run.loadgen import build_loadgen, ending
from tools.testbed.lab.run.plan import make_plan
from tools.testbed.vm.uml import Guests

from . import results

HERE = Path(__file__).resolve().parent
LIMIT_S = 600  # of real time, for one run
TABLES: dict[str, tuple[Callable[[CellResult, int], dict[str, Any]], dict[str, str]]] = {
    "players": (results.player_row, results.PLAYERS_IN), "cameras": (results.camera_row, results.CAMERAS_WITH)}


def scenario(name: str, disk: str) -> Scenario:
    return dataclasses.replace(schema.load(HERE / f"{name}.toml"), disk=disk)


def run(disk: str, kernel: Path, jobs: int, quiet: bool) -> dict[str, dict[str, dict[str, Any]]]:
    """The rows of each table by scheduler. @disk: a preset; @jobs: guests at once"""
    guests = Guests(kernel, build_loadgen(), LIMIT_S)
    found: dict[str, Result] = {}
    with ending(guests):
        features = probe(guests)
        plans = [make_plan(scenario(name, disk), DISKS, None, None, None, features) for name in TABLES]
        failures = runner.run_plans(plans, guests, jobs, None,
                                    lambda plan, result: found.update({plan.scenario.name: result}), Runs(quiet))
    if failures:
        raise ToolError(failures[0])
    return {name: {cell["scheduler"]: row(cell, found[name]["duration_ns"])
                   for cell in sorted(found[name]["cells"], key=lambda cell: list(order).index(cell["scheduler"]))}
            for name, (row, order) in TABLES.items()}
