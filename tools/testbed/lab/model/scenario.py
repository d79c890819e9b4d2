# SPDX-License-Identifier: GPL-2.0
"""A scenario: a disk, groups of processes, the schedulers to compare, and the runs that they ask for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import tomllines, units
from .reading import Value, Where, integer, number

VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")

Vary = dict[str, dict[str, Value]]  # key -> label -> value
Variant = dict[str, Value]  # a value for each key of [vary]

# The numbers of a group and what they may be, once each $variable has its value.
NUMBERS: dict[str, Callable[[Value], Any]] = {
    "count": integer(0, 1000),
    "rate": units.parse_rate,
    "per_s": number(0.001, 1_000_000),
    "period_ms": number(0.001, 1_000_000),
    "size": units.parse_size,
    "chunk": units.parse_size,
    "deadline_ms": number(0.001, 1_000_000),
    "buffer_ms": number(0.001, 1_000_000),
    "start_ms": number(0, 1_000_000),
    "step_ms": number(0, 1_000_000),
    "spread_ms": number(0, 1_000_000),
    "think_ms": number(0, 1_000_000),
    "burst": integer(1, 1_000_000_000),
    "pause_ms": number(0, 1_000_000),
    "swing": units.parse_size,
    "fsync_every": integer(0, 1_000_000_000),
    "reads": integer(0, 1_000_000_000),
    "files": integer(1, 1_000_000),
}


def resolve(value: Value, variant: Variant) -> Value:
    """Put the variant's values in place of $variables."""
    if not isinstance(value, str):
        return value
    whole = VARIABLE.fullmatch(value)
    if whole:
        return variant[whole[1]]
    return VARIABLE.sub(lambda match: str(variant[match[1]]), value)


@dataclass(frozen=True)
class Numbers:
    """A group's numbers in one variant, in the units of the scenario file; None where the file has none."""

    count: int = 1
    rate: int | None = None
    per_s: float | None = None
    period_ms: float | None = None
    size: int = 0
    chunk: int = 0
    deadline_ms: float = 0
    buffer_ms: float = 0
    start_ms: float = 0
    step_ms: float = 0
    spread_ms: float | None = None
    think_ms: float = 0
    burst: int = 1
    pause_ms: float = 0
    swing: int = 0
    fsync_every: int = 0
    reads: int = 0
    files: int = 20_000

    @property
    def period_ns(self) -> int:
        """From one operation to the next; 0 without a pace."""
        if self.rate:
            return round(self.size * units.NSEC_PER_SEC / self.rate)
        if self.per_s:
            return round(units.NSEC_PER_SEC / self.per_s)
        return round((self.period_ms or 0) * units.NSEC_PER_MSEC)

    def start_ns(self, member: int) -> int:
        """When a member of the group starts: one step after another, spread over a while."""
        spread_ms = self.spread_ms if self.spread_ms is not None else 1000 if self.period_ns else 0
        spread_ns = round(spread_ms * units.NSEC_PER_MSEC) * member // max(self.count, 1)
        steps_ns = round(self.step_ms * units.NSEC_PER_MSEC) * member
        return round(self.start_ms * units.NSEC_PER_MSEC) + spread_ns + steps_ns


@dataclass(frozen=True)
class Priority:
    """What ioprio_set is given, and whether the kernel needs the BW class."""

    ioprio: int
    text: str

    @property
    def needs_bw(self) -> bool:
        return self.ioprio >> units.CLASS_SHIFT == units.CLASSES["bw"]


@dataclass(frozen=True)
class Group:
    """Processes that differ in their file and start only."""

    at: tomllines.Path  # in the scenario file
    name: str
    kind: str
    raw: dict[str, Value]  # numbers that may hold $variables
    file: str
    write: bool
    direct: bool
    catch_up: bool
    priorities: dict[str, Priority]  # by policy
    when: dict[str, list[str]]
    cgroup: str = ""  # control group that its processes are in; empty: the root
    rewrite: bool = False  # what is written has been read before, in the same place

    def active(self, labels: dict[str, str]) -> bool:
        return all(labels.get(key) in values for key, values in self.when.items())

    def numbers(self, variant: Variant) -> Numbers:
        return Numbers(**{key: NUMBERS[key](resolve(value, variant)) for key, value in self.raw.items()})


@dataclass(frozen=True)
class Config:
    """One scheduler with its tunables and the policy of priorities used."""

    at: tomllines.Path  # of the scheduler's name in the scenario file
    name: str
    scheduler: str
    policy: str
    depth: list[int]
    only: dict[str, list[str]]
    tunables: dict[str, str] = field(default_factory=dict)
    bw_tunables: dict[str, str] = field(default_factory=dict)  # only where the kernel has the BW class
    queue: dict[str, str] = field(default_factory=dict)
    fallback: str = ""
    cgroups: dict[str, dict[str, str]] = field(default_factory=dict)  # of control groups, their files


@dataclass(frozen=True)
class Select:
    """One side of an expectation: a number made from the cells it selects."""

    metric: str = ""
    groups: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    depth: tuple[int, ...] = ()
    vary: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reduce: str = "sum"
    over: str = "each"
    factor: float = 1.0
    constant: float | None = None


@dataclass(frozen=True)
class Expect:
    """What must hold: @left compared to @right, or along something."""

    says: str
    left: Select
    op: str
    right: Select
    needs: tuple[str, ...]
    sequence: str = ""  # "increases": left must grow along the variants
    order: tuple[str, ...] = ()  # "falls_along": left must fall along these configs


@dataclass(frozen=True)
class View:
    """A table and plot of one figure of each cell."""

    title: str
    metric: str
    groups: tuple[str, ...]
    reduce: str
    rows: str
    unit: str
    configs: tuple[str, ...]


@dataclass(frozen=True)
class Published:
    """A table of the experiment that a scenario follows."""

    caption: str
    columns: tuple[str, ...]
    rows: list[list[str]]


@dataclass(frozen=True)
class Cell:
    """One run of one guest."""

    config: Config
    depth: int
    labels: dict[str, str]
    variant: Variant

    @property
    def name(self) -> str:
        parts = [self.config.name, f"depth{self.depth}"]
        parts += [f"{key}={label}" for key, label in self.labels.items()]
        return " ".join(parts)


@dataclass(frozen=True)
class Scenario:
    """A scenario file that has been checked."""

    where: Where = field(repr=False, compare=False)
    name: str
    title: str
    about: str
    source: str
    must_show: str
    differences: str
    disk: str
    disk_set: dict[str, str]
    filesystem: str  # a name or a $variable; empty: the raw device
    duration_s: float
    seed: int
    vary: Vary
    groups: list[Group]
    configs: list[Config]
    expects: list[Expect]
    views: list[View]
    published: list[Published]

    @property
    def duration_ns(self) -> int:
        return round(self.duration_s * units.NSEC_PER_SEC)

    def cells(
        self, schedulers: list[str] | None = None, depths: list[int] | None = None, only: str = ""
    ) -> list[Cell]:
        """The runs; `only`: those whose name has this regular expression in it."""
        cells = [
            Cell(config, depth, labels, {key: self.vary[key][label] for key, label in labels.items()})
            for config in self.configs
            if schedulers is None or config.scheduler in schedulers
            for depth in depths or config.depth
            for labels in self._variants(config)
        ]
        return [cell for cell in cells if re.search(only, cell.name)]

    def _variants(self, config: Config) -> list[dict[str, str]]:
        """A label for each key of [vary], in all ways that the configuration allows."""
        combinations = (dict(zip(self.vary, labels, strict=True)) for labels in itertools.product(*self.vary.values()))
        return [
            labels
            for labels in combinations
            if all(labels[key] in allowed for key, allowed in config.only.items())
        ]
