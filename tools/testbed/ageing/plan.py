# SPDX-License-Identifier: GPL-2.0
"""The steps in which a file system ages: the same for the same list and setup.

1. `media`: large files, one after the other.
2. `early`: trees of the last version, each in one go, and never changed again.
3. A stage for each version of the list: trees take turns of TURN operations. After each turn one of a few large
   files grows, so that the use of the file system rises with the number of operations.
4. `full`: large files, until little space is free.
5. `clean`: trees of the last version, each in one go.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tools.base.cli import EXIT_USAGE, ToolError

from .churn import CREATED, Operation, Version, sizes

TURN = 256  # operations of a tree before the next one's turn
GROWN = 8  # files that grow while the trees change
FULL_FILES = 8  # files that fill the file system at the end
MEDIA, EARLY, AGED, LARGE, FULL, CLEAN = "media", "early", "aged", "grown", "full", "clean"


@dataclass(frozen=True)
class Setup:
    """@levels: percentages of the blocks in use after the media files, the versions and the full stage.

    @allocate: allocate large files without writing them; @zeros: write only zeros
    """

    trees: int = 16
    early: int = 16
    clean: int = 16
    media: int = 40
    levels: tuple[float, float, float] = (69, 80, 93)
    allocate: bool = False
    zeros: bool = False


class Fill(NamedTuple):
    """Let a large file grow until a level is reached, in percent."""

    file: str
    level: float


class Turn(NamedTuple):
    """Apply the operations begin to end of a version (an index into Plan.versions) to one tree."""

    folder: str
    version: int
    begin: int
    end: int


class Step(NamedTuple):
    stage: str
    action: Fill | Turn


class Plan:
    """All steps for a list. An additional last version is the checkout for early and clean trees."""

    def __init__(self, versions: Sequence[Version], setup: Setup) -> None:
        self.setup = setup
        for files in sizes(versions):
            last = files
        checkout = [Operation(CREATED, path, last[path]) for path in sorted(last, key=os.fsencode)]
        self.versions = [*versions, Version(CLEAN, checkout)]
        self.steps = [*self._media(), *self._checkouts(EARLY, setup.early), *self._ageing(), *self._full(),
                      *self._checkouts(CLEAN, setup.clean)]

    def until(self, version: int | None) -> int:
        """The number of steps to the end of a version (counted from 1), or to the end of the plan."""
        if version is None:
            return len(self.steps)
        if not 1 <= version < len(self.versions):
            raise ToolError(f"--until {version}: the list has {len(self.versions) - 1} versions", EXIT_USAGE)
        stage = self.stage(version - 1)
        return max(number for number, step in enumerate(self.steps, 1) if step.stage == stage)

    def stage(self, version: int) -> str:
        return f"{version + 1} {self.versions[version].name}"

    def _media(self) -> Iterator[Step]:
        for number in range(self.setup.media):
            level = self.setup.levels[0] * (number + 1) / self.setup.media
            yield Step(MEDIA, Fill(f"{MEDIA}/{number:02}", level))

    def _ageing(self) -> Iterator[Step]:
        begin, end, _ = self.setup.levels
        whole = self.setup.trees * sum(len(version.operations) for version in self.versions[:-1])
        done = turns = 0
        for number in range(len(self.versions) - 1):
            for turn in self._turns(number):
                done += turn.end - turn.begin
                yield Step(self.stage(number), turn)
                yield Step(self.stage(number), Fill(f"{LARGE}/{turns % GROWN:02}",
                                                    begin + (end - begin) * done / whole))
                turns += 1
            # a version without changes is a stage, too; this also makes up for rounding above
            yield Step(self.stage(number), Fill(f"{LARGE}/{turns % GROWN:02}",
                                                begin + (end - begin) * (done / whole if whole else 1)))

    def _turns(self, version: int) -> Iterator[Turn]:
        operations = len(self.versions[version].operations)
        for first in range(0, operations, TURN):
            for tree in range(self.setup.trees):
                yield Turn(f"{AGED}-{tree:02}", version, first, min(first + TURN, operations))

    def _full(self) -> Iterator[Step]:
        _, begin, end = self.setup.levels
        for number in range(FULL_FILES):
            yield Step(FULL, Fill(f"{FULL}/{number:02}", begin + (end - begin) * (number + 1) / FULL_FILES))

    def _checkouts(self, stage: str, trees: int) -> Iterator[Step]:
        last = len(self.versions) - 1
        for number in range(trees):
            yield Step(stage, Turn(f"{stage}-{number:02}", last, 0, len(self.versions[last].operations)))


def check_room(plan: Plan, state: os.statvfs_result) -> None:
    """Raises ToolError if the trees do not fit into the space that the levels leave."""
    setup, block = plan.setup, state.f_frsize
    size = state.f_blocks * block
    files = [[-(-length // block) * block for length in tree.values()] for tree in sizes(plan.versions[:-1])]
    largest, last = max(map(sum, files)), sum(files[-1])
    reserved = 0 if os.geteuid() == 0 else (state.f_bfree - state.f_bavail) * block
    for what, number, each, begin, end, kept in (
            ("early and aged", setup.early + setup.trees, largest, setup.levels[0], setup.levels[1], 0),
            ("clean", setup.clean, last, setup.levels[2], 100, reserved)):
        room = size * (end - begin) / 100 - kept
        if number * each > room:
            raise ToolError(
                f"{number} {what} trees take {number * each / 2**20:.0f} MiB, and from {begin:g} to {end:g}% of the "
                f"file system are {room / 2**20:.0f} MiB: use fewer trees, other levels, or a smaller list", EXIT_USAGE)
    inodes = (setup.early + setup.trees + setup.clean) * max(map(len, files))
    if state.f_files and inodes > state.f_ffree:
        raise ToolError(f"the trees take {inodes} inodes, but {state.f_ffree} are free: use mkfs with more", EXIT_USAGE)
