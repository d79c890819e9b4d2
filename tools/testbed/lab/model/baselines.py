# SPDX-License-Identifier: GPL-2.0
"""The configurations that results are compared with (baselines.toml), for any scenario."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from . import reading
from .scenario import Config, ConfigKeys, Group
from .units import CLASSES, ioprio_class

FILE = Path(__file__).resolve().parents[1] / "baselines.toml"
ALL = "baselines"  # in an expectation: each of them
HOLDER, OTHER = "HOLDER", "OTHER"  # of control groups, in the file


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    config: tuple[ConfigKeys, ...]


@functools.cache
def load() -> tuple[ConfigKeys, ...]:
    return reading.load(FILE, Keys).config


def suited(writes: bool, classes: int, by_group: bool) -> list[ConfigKeys]:
    """The baselines that can differ under a load: some settings do nothing without writes, classes or groups.

    @writes: somebody writes; @classes: number of different I/O classes; @by_group: a control group reserves
    """
    return [keys for keys in load()
            if (by_group or not keys.cgroups) and (writes or not {"wbt_lat_usec", "async_depth"} & keys.queue.keys())
            and (classes > 1 or "prio_aging_expire" not in keys.tunables)]


def with_tags(scheduler: str, queue: Mapping[str, str], tags: int, settings: str) -> dict[str, str]:
    """The files of queue/ with a number of tags, before what the kernel limits to it.

    Of none they are the drive's, and the recommended settings have a number of their own.
    """
    if scheduler == "none" or settings == "recommended":
        return dict(queue)
    return {"nr_requests": str(tags), **{key: value for key, value in queue.items() if key != "nr_requests"}}


def control_groups(keys: ConfigKeys, holders: Iterable[str], others: Iterable[str]) -> dict[str, dict[str, str]]:
    """The files of a baseline's control groups: those of HOLDER and OTHER for each that has, or has no, reservation."""
    stands_for = {HOLDER: sorted(holders), OTHER: sorted(others)}
    return {name: dict(files) for key, files in keys.cgroups.items() for name in stands_for[key]}


def configs(groups: list[Group], ours: list[Config], policy: str, depth: tuple[int, ...]) -> Iterator[Config]:
    """The baselines of a scenario that can differ under its load.

    @ours: the scenario's own configurations, which say what control groups reserve; @policy: of priorities
    """
    names = {group.cgroup for group in groups if group.cgroup}
    holders = {name for config in ours for name, files in config.cgroups.items() if "io.bw" in files}
    writes = any(group.write or group.kind == "copy" for group in groups)
    named = [group.priorities.get(policy) for group in groups]
    classes = {ioprio_class(priority.ioprio) if priority else CLASSES["be"] for priority in named}
    for keys in suited(writes, len(classes), bool(holders)):
        files = control_groups(keys, holders, names - holders)
        yield Config(at=(ALL,), name=keys.called, scheduler=keys.scheduler, policy=policy,
                     depth=depth, only={}, tunables=keys.tunables, queue=keys.queue, cgroups=files)
