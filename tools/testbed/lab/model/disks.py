# SPDX-License-Identifier: GPL-2.0
"""Disk presets, read by the tool that owns them."""

from dataclasses import dataclass
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.disk import presets
from tools.testbed.disk.errors import DiskError

from .scenario import Scenario
from .units import MIB


@dataclass(frozen=True)
class Disk:
    """A preset by its name; attributes in the order of the file."""

    name: str
    attributes: dict[str, str]
    transport: str = ""

    @property
    def bytes(self) -> int:
        return int(self.attributes["size"]) * MIB

    @property
    def block_bytes(self) -> int:
        """What offset and length of direct I/O are multiples of."""
        return int(self.attributes.get("blocksize", 512))


def load_disk(folder: Path, name: str) -> Disk:
    known = presets.names(folder)
    if name not in known:
        raise ToolError(f"no disk preset '{name}' (known: {', '.join(known) or 'none'})", EXIT_USAGE)
    try:
        preset = presets.parse((folder / f"{name}.conf").read_text(), name)
    except DiskError as error:
        raise ToolError(str(error), EXIT_USAGE) from None
    return Disk(name, preset.attributes, preset.transport)


def of_scenario(scenario: Scenario, folder: Path) -> Disk:
    """The scenario's preset as its [disk_set] changes it."""
    try:
        preset = load_disk(folder, scenario.disk)
    except ToolError as error:
        raise scenario.where.error(("disk",), str(error)) from None
    disk = Disk(preset.name, preset.attributes | scenario.disk_set, preset.transport)
    seeks = ("rot/seek_avg_us", "rot/seek_full_us")
    if disk.attributes.get("rot/seek_knee_percent", "0") != "0":
        return disk
    if all(disk.attributes.get(key, "0") != "0" for key in seeks):
        changed = [key for key in seeks if key in scenario.disk_set]
        path = ("disk_set", changed[-1]) if changed else ("disk",)
        raise scenario.where.error(
            path, f"{' and '.join(seeks)} say the same without rot/seek_knee_percent: set one of them to 0")
    return disk
