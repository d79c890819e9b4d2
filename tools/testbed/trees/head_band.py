# SPDX-License-Identifier: GPL-2.0
"""The position of the disk head while a tree is read, from a trace; after figure 4.2 of Lunde (2009)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tools.base.cli import ToolError
from tools.testbed.lab.model.units import NSEC_PER_SEC

SECTORS_OF_GIB = 1 << 21
OF_EXT4 = "ext4lazyinit"  # the kernel thread that reads block bitmaps after a mount


class Band(NamedTuple):
    """The lowest and the highest position in each interval of @piece_s seconds, in GiB; None: the head did not move."""

    piece_s: float
    lowest: list[float | None]
    highest: list[float | None]

    @property
    def seconds(self) -> float:
        return len(self.lowest) * self.piece_s

    def mean_width(self) -> float:
        """In GiB, over the intervals in which the head moved."""
        widths = [high - low for low, high in zip(self.lowest, self.highest, strict=True)
                  if low is not None and high is not None]
        return sum(widths) / len(widths) if widths else 0.0


def of_trace(trace: Path) -> Band:
    """The band from the first completion on. Raises ToolError if the file system read for itself meanwhile."""
    from tools.user.blkviz import model, panels, process_stats, trace_files

    found = model.build(*trace_files.read([str(trace)]))
    if any(process.name == OF_EXT4 for process in found.processes):
        raise ToolError(f"{trace}: {OF_EXT4} read from the disk, too; mount with no_prefetch_block_bitmaps")
    lowest, highest = ([None if place != place else round(place / SECTORS_OF_GIB, 3) for place in places.tolist()]
                       for places in process_stats.head_band(found))
    first = next((number for number, place in enumerate(lowest) if place is not None), 0)
    return Band(panels.BAND_NS / NSEC_PER_SEC, lowest[first:], highest[first:])


def rows(heads: Mapping[str, Band]) -> list[list[str]]:
    return [[program, f"{band.seconds:.1f}", f"{band.mean_width():.1f}"] for program, band in heads.items()]
