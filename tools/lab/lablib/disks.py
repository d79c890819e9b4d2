# SPDX-License-Identifier: GPL-2.0-only
"""Disk presets, read by the tool that owns them."""

import sys
from dataclasses import dataclass
from pathlib import Path

from .errors import EXIT_USAGE, LabError
from .units import MIB

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from disk import presets
from disk.errors import DiskError


@dataclass(frozen=True)
class Disk:
    """A preset by its name; attributes in the order of the file."""

    name: str
    attributes: dict[str, str]

    @property
    def bytes(self) -> int:
        return int(self.attributes["size"]) * MIB


def load_disk(folder: Path, name: str) -> Disk:
    path = folder / f"{name}.conf"
    if not path.is_file():
        known = ", ".join(presets.names(folder)) or "none"
        raise LabError(f"no disk preset '{name}' (known: {known})", EXIT_USAGE)
    try:
        preset = presets.parse(path.read_text(), name)
    except DiskError as error:
        raise LabError(str(error), EXIT_USAGE) from None
    return Disk(name, preset.attributes)
