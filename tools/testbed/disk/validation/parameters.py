# SPDX-License-Identifier: GPL-2.0
"""Reads DiskSim's parameter files: blocks of `name = value`, lists, and tables of measured seeks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.testbed.disk.errors import DiskError

_SPACE = re.compile(r"[\s,]*")
_NAME = re.compile(r"([^=\[\]{},]+?)\s*=\s*")
_WORD = re.compile(r"[^\s,{}\[\]]+")
# The share of a zone's sectors that may be spare; more contradicts the parameters.
SPARES = 0.1

_SEEK = re.compile(r"^\s*(\d+)\s*,\s*([\d.]+)\s*$", re.MULTILINE)

Block = dict[str, Any]


@dataclass(frozen=True)
class Zone:
    """Cylinders with the same number of sectors per track; skews in sectors."""

    cylinders: int
    sectors: float
    track_skew: float
    cylinder_skew: float


@dataclass(frozen=True)
class Drive:
    """DiskSim's parameters of a drive.

    @specs: controller, interface and buffer
    @model: platters, arm and layout
    @zones: recording zones, from the outermost
    @seeks: measured seek times in milliseconds, by distance in cylinders
    """

    name: str
    specs: Block
    model: Block
    zones: list[Zone]
    seeks: dict[int, float]


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.text = re.sub(r"#.*", "", text)
        self.where = where
        self.at = 0

    def fail(self, wanted: str) -> DiskError:
        line = self.text.count("\n", 0, self.at) + 1
        return DiskError(f"{self.where}:{line}: {wanted} expected")

    def take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if not match:
            raise self.fail(wanted)
        self.at = match.end()
        return match

    def ends(self, closing: str) -> bool:
        """Whether a block or a list ends here; skips its end."""
        self.at = self.take(_SPACE, "").end()
        if self.at >= len(self.text):
            raise self.fail(f"'{closing}'")
        if self.text[self.at] != closing:
            return False
        self.at += 1
        return True

    def block(self) -> Block:
        found: Block = {}
        while not self.ends("}"):
            name = self.take(_NAME, "name =")[1]
            found[name] = self.value()
        return found

    def value(self) -> Any:
        if self.text.startswith("[", self.at):
            self.at += 1
            values = []
            while not self.ends("]"):
                values.append(self.value())
            return values
        word = self.take(_WORD, "a value")[0]
        if word == "source":
            self.take(_SPACE, "")
            return self.take(_WORD, "a file")[0]
        opening = re.compile(r"\s*\{").match(self.text, self.at)
        if opening:
            self.at = opening.end()
            return self.block()
        try:
            return float(word)
        except ValueError:
            return word


def parse(text: str, where: str) -> Block:
    """Parse the first block of a parameter file; numbers become floats. @where is for messages."""
    reader = _Reader(text, where)
    reader.take(re.compile(r"[^{]*\{"), "'{'")
    return reader.block()


def parse_seeks(text: str, where: str) -> dict[int, float]:
    """A table of seek times: lines of `cylinders, milliseconds`."""
    seeks = {int(distance): float(ms) for distance, ms in _SEEK.findall(text)}
    if 1 not in seeks:
        raise DiskError(f"{where}: no seek time of one cylinder")
    return seeks


def zones_of(model: Block) -> list[Zone]:
    """The recording zones; a cylinder between two belongs to the first."""
    blocks: list[Block] = model["Layout Model"]["Zones"]
    firsts = [int(zone["First cylinder number"]) for zone in blocks]
    ends = [*firsts[1:], int(model["Number of cylinders"])]
    return [Zone(end - first, zone["Blocks per track"], zone["Skew for track switch"],
                 zone["Skew for cylinder switch"])
            for zone, first, end in zip(blocks, firsts, ends, strict=True)]


def load(name: str, folder: Path) -> Drive:
    """A drive from DiskSim's folder of validated ones."""
    specs_file = folder / f"{name}.diskspecs"
    if not specs_file.is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.diskspecs")))
        raise DiskError(f"no drive '{name}' in {folder} (known: {known or 'none'})")
    specs = parse(specs_file.read_text(), specs_file.name)
    model_file = folder / str(specs.get("Model"))
    model = parse(model_file.read_text(), model_file.name)
    mechanics = model.get("Mechanical Model", {})
    if mechanics.get("Seek type") != "extracted" or "Zones" not in model.get("Layout Model", {}):
        raise DiskError(f"{model_file}: not a drive with measured seek times and recording zones")
    zones = zones_of(model)
    held = model["Number of data surfaces"] * sum(zone.cylinders * zone.sectors for zone in zones)
    if not 1 - SPARES <= model["Block count"] / held <= 1:
        raise DiskError(f"{model_file}: Block count is {model['Block count']:.0f}, but its zones hold {held:.0f}: "
                        "contradicting parameters cannot be compared")
    seeks_file = folder / str(mechanics["Full seek curve"])
    return Drive(name, specs, model, zones, parse_seeks(seeks_file.read_text(), seeks_file.name))
