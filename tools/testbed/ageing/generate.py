# SPDX-License-Identifier: GPL-2.0
"""Makes a churn list from a seed, with the numbers that Lunde (2009) reports.

The paper reports 24 versions of a source tree: a release, and all candidates of the next three (8, 7 and 8
versions); 60,885 files created and 39,510 deleted, which leaves 21,375; a tree of "about 22,500 files" with a
mean size of 18 KiB; few new directories; most changes in versions 1, 2, 10 and 17, with which a release begins.
We take the 22,500 as entries of the tree, so that 1,125 are directories.
Our own choices are the number of files at first and of removed files, which files change, names and sizes.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from tools.base.cli import EXIT_USAGE, ToolError

from .churn import CHANGED, CREATED, DELETED, Operation, Version

VERSIONS = 24
CREATED_FILES = 60_885
DELETED_FILES = 39_510
DIRECTORIES = 1_125  # including the root
MEAN_BYTES = 18 * 1024  # of the files of the last version
BEGINNINGS = (2, 10, 17)  # versions

# Not reported in the paper.
FIRST_FILES = 19_500
REMOVED_FILES = 1_500  # whose name is not used again
BEGINNING_WEIGHT = 10  # factor of changes in a version that begins a release
LATE_DIRECTORIES = 0.08
TOP_DIRECTORIES = 20
DEPTH = 6
SIZE_SIGMA = 1.4  # of the logarithm
RESIZE_SIGMA = 0.05
HEAT_SIGMA = 1.0  # how unequally files change, and directories do
FILES_SIGMA = 1.2  # how unequally files are spread over directories
LEAST_SCALE, MOST_SCALE = 0.001, 100

_WEIGHTS = [BEGINNING_WEIGHT if version in BEGINNINGS else 1 for version in range(2, VERSIONS + 1)]
_CONSONANTS, _VOWELS = "bcdfgklmnprstvx", "aeiou"
_ENDINGS = (".c", ".c", ".c", ".h", ".h", ".S", ".txt")
_ANCHOR = "Makefile"  # in each directory, and never deleted


@dataclass(frozen=True)
class Amounts:
    """The numbers of a whole list; a file that is deleted and created again counts as `changed`."""

    first: int
    added: int
    changed: int
    removed: int
    directories: int

    @classmethod
    def of(cls, scale: float) -> Amounts:
        if not LEAST_SCALE <= scale <= MOST_SCALE:
            raise ToolError(f"--scale {scale:g}: must be from {LEAST_SCALE:g} to {MOST_SCALE}", EXIT_USAGE)
        first, removed = round(FIRST_FILES * scale), round(REMOVED_FILES * scale)
        changed = round(DELETED_FILES * scale) - removed
        return cls(first, round(CREATED_FILES * scale) - first - changed, changed, removed,
                   max(1, round(DIRECTORIES * scale)))


class Draw:
    """Random numbers from Random.random(), which are the same in all versions of Python."""

    def __init__(self, seed: int) -> None:
        self.unit = random.Random(seed).random
        self.inverse = NormalDist().inv_cdf

    def below(self, limit: int) -> int:
        return int(self.unit() * limit)

    def log_normal(self, sigma: float) -> float:
        """A log-normal number with median 1."""
        return math.exp(sigma * self.inverse(max(self.unit(), 2**-53)))

    def name(self) -> str:
        return "".join(_CONSONANTS[self.below(len(_CONSONANTS))] + _VOWELS[self.below(len(_VOWELS))]
                       for _ in range(2 + self.below(3)))


class Weights:
    """Draws indices in proportion to their weights; more may be added."""

    def __init__(self) -> None:
        self.sums: list[float] = []

    def add(self, weight: float) -> None:
        self.sums.append((self.sums[-1] if self.sums else 0) + weight)

    def draw(self, draw: Draw) -> int:
        return min(bisect.bisect_right(self.sums, draw.unit() * self.sums[-1]), len(self.sums) - 1)


@dataclass
class Directory:
    path: str  # empty: the root
    depth: int
    heat: float
    names: set[str]


@dataclass
class File:
    path: str
    heat: float
    size: float  # relative, until all sizes are known
    anchor: bool = False


def shares(amount: int, weights: Sequence[float]) -> list[int]:
    """Divide a whole number in proportion to weights; the sum is exact."""
    ends = [round(amount * end / sum(weights)) for end in itertools.accumulate(weights)]
    return [end - begin for begin, end in itertools.pairwise([0, *ends])]


class Generator:
    """Makes the versions, one after the other."""

    def __init__(self, seed: int, scale: float) -> None:
        self.draw = Draw(seed)
        self.amounts = Amounts.of(scale)
        self.directories: list[Directory] = []
        self.weights = Weights()
        self.files: dict[str, File] = {}

    def versions(self) -> list[Version]:
        made = [(name, self._version(*numbers)) for name, numbers in zip(
            (f"v{number}" for number in range(1, VERSIONS + 1)), self._numbers(), strict=True)]
        factor = MEAN_BYTES * len(self.files) / sum(file.size for file in self.files.values())
        return [Version(name, [Operation(kind, path, max(1, round(size * factor)) if size else 0)
                               for kind, path, size in operations]) for name, operations in made]

    def _numbers(self) -> list[tuple[int, int, int, int]]:
        """For each version: the numbers of new directories, other new files, changed and removed files."""
        amounts = self.amounts
        late = min(round(amounts.directories * LATE_DIRECTORIES), amounts.added)
        early = min(amounts.directories - late, amounts.first)
        columns = [shares(amount, _WEIGHTS) for amount in (
            late, amounts.added - late, amounts.changed, amounts.removed)]
        return [(early, amounts.first - early, 0, 0), *zip(*columns, strict=True)]

    def _version(self, directories: int, files: int, changed: int, removed: int) -> list[tuple[str, str, float]]:
        gone = self._sample(removed, [(1, file) for file in self.files.values() if not file.anchor])
        for file in gone:
            del self.files[file.path]
        altered = self._sample(changed, [(file.heat, file) for file in self.files.values()])
        for file in altered:
            file.size *= self.draw.log_normal(RESIZE_SIGMA)
        new = [self._file(self._directory(), _ANCHOR) for _ in range(directories)]
        new += [self._file(self.directories[self.weights.draw(self.draw)]) for _ in range(files)]
        written = [(CHANGED, file.path, file.size) for file in altered]
        written += [(CREATED, file.path, file.size) for file in new]
        # in the order of a checkout: first deletions, then the rest, both by path
        return [(DELETED, path, 0.0) for path in sorted(file.path for file in gone)] + \
            sorted(written, key=lambda operation: operation[1])

    def _sample(self, number: int, weighted: list[tuple[float, File]]) -> list[File]:
        """Weighted draw without replacement: the largest random numbers to the power of 1/weight."""
        keys = ((math.log(max(self.draw.unit(), 2**-53)) / weight, index)
                for index, (weight, _) in enumerate(weighted))
        return [weighted[index][1] for _, index in heapq.nlargest(number, keys)]

    def _directory(self) -> Directory:
        number = len(self.directories)
        if not number:
            made = Directory("", 0, 1, set())
        else:
            parent = self.directories[0 if number <= TOP_DIRECTORIES else self.weights.draw(self.draw)]
            if parent.depth >= DEPTH:
                parent = self.directories[1 + self.draw.below(min(TOP_DIRECTORIES, number - 1))]
            name = self._unused(parent, "")
            made = Directory(f"{parent.path}/{name}".lstrip("/"), parent.depth + 1,
                             self.draw.log_normal(HEAT_SIGMA), set())
        self.directories.append(made)
        self.weights.add(self.draw.log_normal(FILES_SIGMA))
        return made

    def _file(self, folder: Directory, name: str = "") -> File:
        anchor = bool(name)
        name = name or self._unused(folder, _ENDINGS[self.draw.below(len(_ENDINGS))])
        folder.names.add(name)
        file = File(f"{folder.path}/{name}".lstrip("/"), folder.heat * self.draw.log_normal(HEAT_SIGMA),
                    self.draw.log_normal(SIZE_SIGMA), anchor)
        self.files[file.path] = file
        return file

    def _unused(self, folder: Directory, ending: str) -> str:
        """A name that is new in the directory."""
        while (name := self.draw.name() + ending) in folder.names:
            pass
        folder.names.add(name)
        return name


def generate(seed: int, scale: float = 1) -> list[Version]:
    """Make the versions of a seed; @scale: factor for all counts except the number of versions."""
    return Generator(seed, scale).versions()
