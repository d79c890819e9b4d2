# SPDX-License-Identifier: GPL-2.0
"""The scenarios and disk presets of this checkout."""

from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import DOCUMENTS, ROOT, TOOLS

from . import schema
from .scenario import Scenario

SCENARIOS = TOOLS / "testbed/lab/scenarios"
DISKS = ROOT / "configs" / "disks"
RECORDS = DOCUMENTS / "results"
OLDSCHED = "oldsched"  # folder below SCENARIOS and below results: of the schedulers that only patches/oldsched has


def all_scenarios(folder: Path = SCENARIOS) -> list[Scenario]:
    """The scenarios of a folder, by name."""
    return [schema.load(path) for path in sorted(folder.glob("*.toml"))]


def record_of(name: str) -> Path:
    """The committed results of a scenario."""
    return RECORDS / f"{name}.json"


def find_scenario(name: str) -> Scenario:
    """A scenario by its file, or by the name of one of this checkout."""
    path = Path(name) if name.endswith(".toml") else SCENARIOS / f"{name}.toml"
    if not path.exists():
        raise ToolError(f"no scenario '{name}'; `lab list` names them", EXIT_USAGE)
    return schema.load(path)
