# SPDX-License-Identifier: GPL-2.0
"""Measures the distances on the device between related blocks, for the files of a directory tree."""

from __future__ import annotations

import bisect
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.text import table

from . import places
from .places import Places

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
STEPS = (0, 128 * KIB, MIB, 16 * MIB, 128 * MIB, GIB, 2 * GIB, 8 * GIB, 32 * GIB, 76 * GIB, 256 * GIB, 1024 * GIB)
PERCENTILES = 100
KINDS = {
    "data": "inode to first data block",
    "siblings": "first data blocks of a directory, median of a file's distances",
    "directory": "inode to directory block",
}
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass
class Layout:
    """@distances: for each of KINDS, in bytes, ascending; without files that lack one of the positions.

    @placeless: number of files with data inside of the inode, without data, or of unknown position
    """

    name: str
    files: int = 0
    directories: int = 0
    placeless: int = 0
    unreadable: int = 0
    distances: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def within(self, kind: str, limit: float) -> float:
        """The percentage of distances up to a limit; 0 if there are no distances."""
        found = self.distances[kind]
        return 100 * bisect.bisect_right(found, limit) / len(found) if found else 0.0

    def percentile(self, kind: str, percent: int) -> float:
        """A percentile of the distances; 0 if there are no distances."""
        found = self.distances[kind]
        return found[max(0, -(-len(found) * percent // 100) - 1)] if found else 0.0


def nearest(ascending: Sequence[int], k: int) -> list[int]:
    """For each position the distance of its @k-th nearest among the others, counted from 1.

    A position and its k nearest are k + 1 adjacent positions: this window moves on with the position.
    """
    found, first = [], 0
    for index, place in enumerate(ascending):
        first = max(first, index - k)
        reach = _reach(ascending, place, first, k)
        while first < min(index, len(ascending) - 1 - k):
            further = _reach(ascending, place, first + 1, k)
            if further > reach:
                break
            first, reach = first + 1, further
        found.append(reach)
    return found


def _reach(ascending: Sequence[int], place: int, first: int, k: int) -> int:
    """The largest distance from a position to its window of k + 1 positions."""
    return max(place - ascending[first], ascending[first + k] - place)


def sibling_medians(data: Sequence[int]) -> list[float]:
    """For each file of a directory the median of the distances from its data to that of the other files."""
    ascending = sorted(data)
    others = len(ascending) - 1
    if others < 1:
        return []
    lower = nearest(ascending, (others + 1) // 2)
    upper = nearest(ascending, others // 2 + 1)
    return [(one + other) / 2 for one, other in zip(lower, upper, strict=True)]


class Walk:
    """Measures a tree on one file system, without following links or entering other file systems."""

    def __init__(self, folder: Path, device: Path | None, tell: Callable[[str], None]) -> None:
        self.layout = Layout(str(folder))
        self.tell = tell
        self.seen: set[int] = set()
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise ToolError(f"{folder}: {error.strerror}", EXIT_USAGE) from None
        try:
            self.device = os.fstat(handle).st_dev
            self.places: Places = places.of_folder(folder, handle, device)
        finally:
            os.close(handle)
        waiting = [os.fspath(folder)]
        while waiting:
            waiting += self._directory(waiting.pop())
        for found in self.layout.distances.values():
            found.sort()

    def _directory(self, path: str) -> list[str]:
        """Measure the files of a directory; returns its directories."""
        try:
            handle = os.open(path, _OPEN | os.O_DIRECTORY)
        except OSError:
            self.layout.unreadable += 1
            return []
        try:
            about = os.fstat(handle)
            if about.st_dev != self.device:
                return []
            self.layout.directories += 1
            block = self.places.directory(handle, about.st_ino)
            with os.scandir(handle) as entries:
                found = sorted(entries, key=lambda entry: entry.inode())
            files = [entry.name for entry in found if entry.is_file(follow_symlinks=False)]
            self._siblings([one for name in files for one in self._file(handle, name)], block)
            return [f"{path}/{entry.name}" for entry in found if entry.is_dir(follow_symlinks=False)]
        finally:
            os.close(handle)

    def _siblings(self, files: list[tuple[int, int | None]], directory: int | None) -> None:
        """@files: the positions of inode and data of each file."""
        distances = self.layout.distances
        if directory is not None:
            distances["directory"] += [abs(inode - directory) for inode, _ in files]
        distances["data"] += [abs(data - inode) for inode, data in files if data is not None]
        distances["siblings"] += sibling_medians([data for _, data in files if data is not None])
        self.tell(f"{self.layout.name}: {self.layout.files:,} files in {self.layout.directories:,} directories")

    def _file(self, folder: int, name: str) -> Iterator[tuple[int, int | None]]:
        """The positions of inode and data of a file; none if it is gone, unreadable, or seen under another name."""
        try:
            handle = os.open(name, _OPEN, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError:
            self.layout.unreadable += 1
            return
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_ino in self.seen:
                return
            if about.st_nlink > 1:
                self.seen.add(about.st_ino)
            data, _ = places.first_extent(handle)
        finally:
            os.close(handle)
        self.layout.files += 1
        self.layout.placeless += data is None
        yield self.places.inode(about.st_ino), data


def measure(folder: Path, device: Path | None, tell: Callable[[str], None]) -> Layout:
    """Measure a tree; raises ToolError for an unsupported file system."""
    return Walk(folder, device, tell).layout


def as_json(layout: Layout) -> dict[str, Any]:
    """The distances as percentiles, and the percentages within each limit of the table."""
    return {
        "directory": layout.name,
        "files": layout.files,
        "directories": layout.directories,
        "placeless": layout.placeless,
        "unreadable": layout.unreadable,
        "distances": {
            kind: {
                "count": len(layout.distances[kind]),
                "percentile_bytes": [layout.percentile(kind, percent) for percent in range(PERCENTILES + 1)],
                "within_percent": {str(step): round(layout.within(kind, step), 3) for step in STEPS},
            }
            for kind in KINDS
        },
    }


def size(value: float) -> str:
    """128 KiB"""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if value >= unit:
            return f"{value / unit:g} {name}"
    return f"{value:g} B"


def as_text(layouts: Sequence[Layout]) -> str:
    """A table for each kind of distance, a column for each tree."""
    parts = []
    for layout in layouts:
        notes = [f"{number} {what}" for number, what in (
            (layout.placeless, "without data of their own place"), (layout.unreadable, "unreadable")) if number]
        parts.append(f"{layout.name}: {layout.files} files in {layout.directories} directories"
                     + (f", {', '.join(notes)}" if notes else ""))
    for kind, title in KINDS.items():
        last = max((layout.distances[kind][-1] for layout in layouts if layout.distances[kind]), default=0)
        steps = STEPS[: bisect.bisect_left(STEPS, last) + 1]
        rows = [[size(step), *(f"{layout.within(kind, step):.1f}" for layout in layouts)] for step in steps]
        parts.append(f"\n{title}: % within\n" + table(["distance", *(layout.name for layout in layouts)], rows))
    return "\n".join(parts)
