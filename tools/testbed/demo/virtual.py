# SPDX-License-Identifier: GPL-2.0
"""Players and cameras in User-Mode Linux: in virtual time, which other load of the machine does not change."""

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
from tools.testbed.lab.run.features import Features, probe
from tools.testbed.lab.run.kernels import Kernels
from tools.testbed.lab.run.loadgen import build_loadgen, ending
from tools.testbed.lab.run.plan import make_plan
from tools.testbed.vm.uml import Guests

from . import results

Tables = dict[str, dict[str, dict[str, Any]]]
HERE = Path(__file__).resolve().parent
LIMIT_S = 600  # of real time, for one run
TABLES: dict[str, tuple[Callable[[CellResult, int], dict[str, Any]], dict[str, str]]] = {
    "players": (results.player_row, results.PLAYERS_IN), "cameras": (results.camera_row, results.CAMERAS_WITH)}


def scenario(name: str, disk: str) -> Scenario:
    return dataclasses.replace(schema.load(HERE / f"{name}.toml"), disk=disk)


def guests_of(kernel: Path) -> tuple[Guests, Features]:
    """Guests of a kernel, and what it has. Raises ToolError if the kernel does not boot, or has no class BW."""
    if not kernel.is_file():
        raise ToolError(f"{kernel} does not exist: `make uml` builds it, --uml names another")
    guests = Guests(kernel, build_loadgen(), LIMIT_S)
    features = probe(guests)
    if not features.bw:
        raise ToolError(f"{kernel} has no class BW: `make uml` builds one that has")
    return guests, features


def run(guests: Guests, features: Features, disk: str, jobs: int, quiet: bool,
        seconds: float | None = None) -> Tables:
    """The rows of each table by scheduler.

    @disk: a preset; @jobs: guests at once; @seconds: of virtual time, instead of the scenarios'
    """
    found: dict[str, Result] = {}
    with ending(guests):
        scenarios = [scenario(name, disk) for name in TABLES]
        if seconds:
            scenarios = [dataclasses.replace(one, duration_s=seconds) for one in scenarios]
        plans = [make_plan(one, DISKS, None, None, None, features) for one in scenarios]
        failures = runner.run_plans(plans, Kernels(guests), jobs, None,
                                    lambda plan, result: found.update({plan.scenario.name: result}), Runs(quiet))
    if failures:
        raise ToolError(failures[0])
    return {name: {cell["scheduler"]: row(cell, found[name]["duration_ns"])
                   for cell in sorted(found[name]["cells"], key=lambda cell: list(order).index(cell["scheduler"]))}
            for name, (row, order) in TABLES.items()}
