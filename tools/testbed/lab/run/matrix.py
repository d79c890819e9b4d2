# SPDX-License-Identifier: GPL-2.0
"""A claim over settings, tags, queue depths, disks and seeds: which runs there are, and what they show."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from tools.testbed.disk import capacity, characteristics

from ..model import baselines, reading
from ..model.disks import load_disk
from ..model.reading import Labels, Names
from ..model.results import Result
from ..model.scenario import Group, Metric, Reduce, Scenario
from ..model.settings import LEAST_NR_REQUESTS, recommended
from . import metrics, scores

FILE = Path(__file__).resolve().parents[1] / "matrix.toml"
PUBLISHED_ON = "barracuda-7200.11"  # there scenarios keep their own numbers of streams
LARGE, SMALL = "3MiB/s", "1MiB/s"  # rates of the streams whose number depends on the disk
LARGE_STREAMS = 10  # beside a number of small ones, where they fit; otherwise a fifth of all

SETTINGS: dict[str, tuple[str, dict[str, str]]] = {  # name: of the queue, and attributes of the disk
    "linux": ("linux", {}),
    "recommended": ("recommended", {}),
    "1,280 KiB": ("linux", {"max_sectors": "2560"}),
}
TAGS = (2, 64, 256)
DEPTHS = (1, 32)
DISKS = ("barracuda-7200.11", "nearline-20tb", "laptop-5400", "cheetah-15k")
SEEDS = (1, 2, 3)
# Of the processes that a claim is not about: on a file system, where a run depends on these, instead of seeds.
STARTS_MS = (0, 100, 200, 300, 400, 500, 600, 700)


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of matrix.toml."""

    name: str
    says: str
    scenario: str
    ours: str  # configuration of the scenario
    policy: str  # of the baselines' priorities
    metric: Metric
    groups: Names
    vary: Labels = msgspec.field(default_factory=Labels)
    reduce: Reduce = "sum"
    streams: bool = False  # the number of streams is what the disk can serve
    more_is_better: bool = False
    most: float | None = None  # largest value of any cell
    bound: float | None = None  # largest ratio to the best baseline
    as_good_in: str | None = None  # baselines count that are as good in this claim; else the best in it


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    claim: tuple[Claim, ...]


@dataclasses.dataclass(frozen=True)
class Point:
    """What the runs of one plan have in common."""

    settings: str
    tags: int
    disk: str
    seed: int


@dataclasses.dataclass(frozen=True)
class Cell:
    """A claim at one point, queue depth and variant: our value and that of the best baseline."""

    where: str
    ours: float
    baseline: str
    theirs: float
    ratio: float
    holds: bool


def depths(tags: int) -> tuple[int, ...]:
    """The queue depths of drives that have this number of tags."""
    return DEPTHS if tags >= LEAST_NR_REQUESTS else DEPTHS[:1]


@functools.cache
def load() -> Mapping[str, Claim]:
    return {claim.name: claim for claim in reading.load(FILE, Keys).claim}


def points(disks: Sequence[str] = DISKS, settings: Sequence[str] = tuple(SETTINGS), tags: Sequence[int] = TAGS,
           seeds: Sequence[int] = SEEDS) -> Iterator[Point]:
    return itertools.starmap(Point, itertools.product(settings, tags, disks, seeds))


def of_claim(points: Iterable[Point], scenario: Scenario) -> list[Point]:
    """The points of a scenario: on a file system those of one seed, with eight starts each."""
    if not scenario.filesystem:
        return list(points)
    return list(dict.fromkeys(dataclasses.replace(point, seed=SEEDS[0]) for point in points))


def as_set(point: Point) -> Point:
    """With the recommended settings the tags are those of the rule."""
    if point.settings != "recommended":
        return point
    return dataclasses.replace(point, tags=int(recommended()["nr_requests"]))


def streams(attributes: dict[str, str]) -> tuple[int, int]:
    """How many large and small streams the rule of administrators.md admits on a disk."""
    disk = characteristics.compute(attributes)
    large = float(LARGE.removesuffix("MiB/s"))
    if small := capacity.most([large] * LARGE_STREAMS, 1, disk):
        return LARGE_STREAMS, small
    inner, each_ms = capacity.inner_mib(disk), capacity.positioning_ms(disk)
    count = 1
    while capacity.admits([large] * ((count + 1) // 5) + [1.0] * (count + 1 - (count + 1) // 5), inner, each_ms):
        count += 1
    return count // 5, count - count // 5


def _counted(group: Group, large: int, small: int) -> Group:
    """A group of streams with as many as the disk can serve."""
    if group.raw.get("rate") == LARGE and group.raw.get("count") == LARGE_STREAMS:
        return dataclasses.replace(group, raw=group.raw | {"count": large})
    if group.raw.get("rate") == SMALL and group.raw.get("count") == "$N":
        return dataclasses.replace(group, raw=group.raw | {"count": small})
    return group


def _starting(group: Group, claim: Claim) -> Group:
    """A group that starts at $begin_ms, if the claim is about others."""
    if group.name in claim.groups:
        return group
    return dataclasses.replace(group, raw=group.raw | {"start_ms": "$begin_ms"})


def at(claim: Claim, scenario: Scenario, point: Point, disks: Path) -> Scenario:
    """The scenario of a claim as it is run at a point: with our configuration and all baselines."""
    name, attributes = SETTINGS[point.settings]
    scenario = scenario.with_settings(name)
    ours = next(config for config in scenario.configs if config.name == claim.ours)
    vary = {key: {label: value for label, value in values.items() if label in claim.vary.get(key, values)}
            for key, values in scenario.vary.items()}
    groups = scenario.groups
    if claim.streams and point.disk != PUBLISHED_ON:
        large, small = streams(load_disk(disks, point.disk).attributes)
        groups = [_counted(group, large, small) for group in groups]
        vary["N"] = {str(small): small}
    if scenario.filesystem and "begin_ms" not in vary:
        vary["begin_ms"] = {str(start): start for start in STARTS_MS}
        groups = [_starting(group, claim) for group in groups]
    if "seed" in vary:
        vary["seed"] = {str(point.seed): point.seed}
    configs = [dataclasses.replace(ours, only={}), *baselines.configs(groups, [ours], claim.policy, DEPTHS)]
    of_tags = depths(point.tags)
    return dataclasses.replace(
        scenario, disk=point.disk, disk_set=scenario.disk_set | attributes, seed=point.seed,
        vary=vary, groups=groups, expects=[], views=[], published=[],
        configs=[dataclasses.replace(config, depth=of_tags, queue=baselines.with_tags(
            config.scheduler, config.queue, point.tags, name)) for config in configs])


def single(scenario: Scenario) -> Iterator[Scenario]:
    """A scenario for each cell of one: a queue depth, and a value of each key of [vary]."""
    for depth in scenario.configs[0].depth:
        for labels in itertools.product(*scenario.vary.values()):
            vary = {key: {label: scenario.vary[key][label]} for key, label in zip(scenario.vary, labels, strict=True)}
            yield dataclasses.replace(scenario, vary=vary, configs=[dataclasses.replace(config, depth=(depth,))
                                                                    for config in scenario.configs])


def scenarios(claim: Claim, scenario: Scenario, points: Iterable[Point], disks: Path,
              draw: int | None = None) -> list[tuple[Point, Scenario]]:
    """What is run for a claim: all of each point, or a number of cells drawn at random.

    A larger number has the cells of a smaller one, and more.
    """
    there = {point: as_set(point) for point in of_claim(points, scenario)}
    if draw is None:
        return [(point, at(claim, scenario, point, disks)) for point in dict.fromkeys(there.values())]
    alone = [(known, cell) for point, known in there.items() for cell in single(at(claim, scenario, point, disks))]
    Random(claim.name).shuffle(alone)
    different: dict[str, tuple[Point, Scenario]] = {}
    for point, cell in alone:
        different.setdefault(repr((point, cell.configs[0].depth, cell.vary)), (point, cell))
    return list(different.values())[:draw]


def values_of(claim: Claim, result: Result) -> dict[tuple[int, str], dict[str, float]]:
    """The claim's value under each configuration, by queue depth and variant."""
    values: dict[tuple[int, str], dict[str, float]] = {}
    for run in result["cells"]:
        value = metrics.of_cell(run, claim.metric, claim.groups, claim.reduce, result["duration_ns"]) \
            if run["status"] == "ok" else None
        if value is not None:
            variant = " ".join(f"{key}={label}" for key, label in run["vary"].items() if key != "seed")
            values.setdefault((run["depth"], variant), {})[run["config"]] = value
    return values


def as_good(claim: Claim, values: Mapping[str, float]) -> set[str]:
    """The baselines that are as good as we in a claim; or the best of them, if none is."""
    theirs = {name: value for name, value in values.items() if name != claim.ours}
    ours = values[claim.ours]
    return {name for name, value in theirs.items()
            if scores.ratio(ours, value, claim.more_is_better) >= scores.NO_WORSE} or {
                scores.best(theirs.items(), claim.more_is_better)[0]}


def cells(claim: Claim, point: Point, result: Result) -> list[Cell]:
    """Our value beside the best baseline's, for each queue depth and variant."""
    other = load()[claim.as_good_in] if claim.as_good_in else None
    values_of_other = values_of(other, result) if other else {}
    found = []
    for (depth, variant), by_config in values_of(claim, result).items():
        ours = by_config.pop(claim.ours, None)
        if ours is None or not by_config:
            continue
        counting = as_good(other, values_of_other[depth, variant]) if other else set(by_config)
        baseline, theirs = scores.best([one for one in by_config.items() if one[0] in counting], claim.more_is_better)
        ratio = scores.ratio(ours, theirs, claim.more_is_better)
        holds = (claim.most is None or ours <= claim.most) and (claim.bound is None or ratio <= claim.bound)
        where = f"{point.disk}, {point.settings}, {point.tags} tags, @{depth}, seed {point.seed}"
        found.append(Cell(f"{where}{', ' if variant else ''}{variant}", ours, baseline, theirs, ratio, holds))
    return found


def summary(claim: Claim, found: Sequence[Cell]) -> dict[str, Any]:
    """Worst and median cell, and how many hold."""
    ordered = sorted(found, key=lambda cell: (cell.holds, -(cell.ours if claim.most is not None else cell.ratio)))
    by_ratio = sorted(found, key=lambda cell: cell.ratio)
    return {"claim": claim.name, "says": claim.says, "metric": claim.metric,
            "cells": len(found), "hold": sum(cell.holds for cell in found),
            "median": dataclasses.asdict(by_ratio[(len(found) - 1) // 2]), "worst": dataclasses.asdict(ordered[0])}
