# SPDX-License-Identifier: GPL-2.0
"""Presets: files of `attribute = value` lines for null_blk's configfs directory.

`#` begins a comment. A line `#@ key = value` is a rated speed of the disk, from its data sheet;
`disk check` compares with it. `transport = NAME` is one of transports.py: it is no attribute of null_blk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .errors import DiskError
from .transports import TRANSPORTS

FOLDER = Path(__file__).resolve().parents[3] / "configs" / "disks"
RATED = ("outer_mbps", "inner_mbps", "random_4k_ms", "random_4k_kib_s", "random_64k_kib_s")

MAX_SECTORS = 1024  # largest request to the disk of a guest, where neither preset nor settings say so

ROTATING = "3"  # the irqmode of a rotating disk
ATTRIBUTE = re.compile(r"(?:rot/)?[a-z0-9_]+")  # path of an attribute in the folder of a device
_LINE = re.compile(rf"(?P<key>{ATTRIBUTE.pattern})\s*=\s*(?P<value>\S+)")


@dataclass
class Preset:
    """A disk: its attributes and rated speeds."""

    name: str
    title: str
    attributes: dict[str, str] = field(default_factory=dict)
    rated: dict[str, float] = field(default_factory=dict)
    transport: str = ""

    def with_limits(self) -> dict[str, str]:
        """The attributes, with the largest command and the segments that Linux sets for the transport."""
        return {**(TRANSPORTS[self.transport].attributes if self.transport else {}), **self.attributes}


def names(folder: Path = FOLDER) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.conf"))


def parse(text: str, name: str) -> Preset:
    """Parse the text of a preset's file; messages use @name, too."""
    preset = Preset(name, "")
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}.conf:{number}"
        rated = line.startswith("#@")
        if line.startswith("#") and not rated:
            preset.title = preset.title or line.strip("# ")
            continue
        content = line.removeprefix("#@")
        if not rated:
            content = content.split("#", 1)[0]
        if not content.strip():
            continue
        match = _LINE.match(content.strip())
        if not match or (not rated and match.end() != len(content.strip())):
            raise DiskError(f"{where}: not of the form 'attribute = value'")
        key, value = match["key"], match["value"]
        if rated:
            preset.rated[key] = _rated(key, value, where)
        elif key in preset.attributes or (key == "transport" and preset.transport):
            raise DiskError(f"{where}: {key} is set twice")
        elif key == "transport":
            if value not in TRANSPORTS:
                raise DiskError(f"{where}: no transport '{value}' (known: {', '.join(TRANSPORTS)})")
            preset.transport = value
        else:
            preset.attributes[key] = value
    if preset.attributes.get("irqmode") != ROTATING or "size" not in preset.attributes:
        raise DiskError(f"{name}.conf: 'irqmode = 3' and 'size = MiB' are required")
    return preset


def _rated(key: str, value: str, where: str) -> float:
    if key not in RATED:
        raise DiskError(f"{where}: unknown rated speed '{key}' (known: {', '.join(RATED)})")
    try:
        return float(value)
    except ValueError:
        raise DiskError(f"{where}: {key}: '{value}' is not a number") from None


def load(name: str, folder: Path = FOLDER) -> Preset:
    path = folder / f"{name}.conf"
    try:
        return parse(path.read_text(), name)
    except FileNotFoundError:
        known = ", ".join(names(folder)) or "none"
        raise DiskError(f"no preset '{name}' in {folder} (known: {known})") from None


def job_lines(folder: str, attributes: Mapping[str, str], depth: int) -> list[str]:
    """The lines of a guest's job that create a disk.

    @folder: of the device, in configfs
    @depth: queue depth of the drive, instead of that of the attributes
    """
    all_of_them = {"max_sectors": str(MAX_SECTORS), "submit_queues": "1", **attributes, "hw_queue_depth": str(depth)}
    return [f"mkdir {folder}", *(f"write {folder}/{key} {value}" for key, value in all_of_them.items()),
            f"write {folder}/power 1"]


def change(preset: Preset, settings: Iterable[str]) -> None:
    """Apply `attribute=value` settings of a command line."""
    for setting in settings:
        key, sep, value = setting.partition("=")
        if not (sep and key and value):
            raise DiskError(f"--set {setting}: not 'attribute=value'")
        preset.attributes[key] = value
        preset.rated.clear()  # a changed disk has no rated speeds
