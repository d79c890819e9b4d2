# SPDX-License-Identifier: GPL-2.0
"""What a scenario, a kernel and the command line make together: the runs, checked before a guest starts."""

from dataclasses import dataclass
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.disk import presets

from ..model import disks
from ..model.scenario import Cell, Scenario
from . import job, oldsched
from .features import Features
from .job import Run


@dataclass(frozen=True)
class Plan:
    """A scenario with what the command line and the kernel make of it."""

    scenario: Scenario
    disk: disks.Disk
    seed: int
    features: Features
    runs: list[Run]


def make_plan(
    scenario: Scenario,
    disk_folder: Path,
    schedulers: list[str] | None,
    depths: list[int] | None,
    seed: int | None,
    features: Features,
    only: str = "",
) -> Plan:
    """Everything that can be wrong is found here, before a guest starts."""
    disk = disks.of_scenario(scenario, disk_folder)
    _check_disk(scenario, disk, features)
    scenario = oldsched.for_kernel(scenario, features, schedulers)
    cells = scenario.cells(schedulers, depths, only)
    if not cells and only:
        raise ToolError(f"{scenario.name}: no run is called '{only}' (lab show names them)", EXIT_USAGE)
    if not cells:
        raise ToolError(f"{scenario.name}: no configuration uses {', '.join(schedulers or [])}", EXIT_USAGE)
    for cell in cells:
        _check_scheduler(scenario, cell, features)
        job.settings_of(scenario, cell, disk)
    if seed is None:
        seed = scenario.seed
    runs = [job.make_run(scenario, cell, disk, seed, features.bw) for cell in cells]
    return Plan(scenario, disk, seed, features, runs)


def _check_disk(scenario: Scenario, disk: disks.Disk, features: Features) -> None:
    rotates = disk.attributes.get("irqmode") == presets.ROTATING
    if (rotates or any(key.startswith("rot/") for key in disk.attributes)) and not features.rotating:
        raise scenario.where.error(("disk",), f"kernel {features.release} has no rotating disk in null_blk")
    for key in scenario.disk_set:
        if features.attributes and key not in features.attributes:
            what = f"null_blk of kernel {features.release} has no such attribute"
            raise scenario.where.error(("disk_set", key), what)


def _check_scheduler(scenario: Scenario, cell: Cell, features: Features) -> None:
    if cell.config.scheduler not in features.schedulers:
        raise scenario.where.error(
            cell.config.at,
            f"kernel {features.release} has no scheduler '{cell.config.scheduler}'"
            f" (it has {', '.join(features.schedulers)}); choose with --scheduler",
        )
