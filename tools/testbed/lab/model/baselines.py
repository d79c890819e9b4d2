# SPDX-License-Identifier: GPL-2.0
"""The configurations that results are compared with (baselines.toml), for any scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from .reading import read
from .scenario import Config, ConfigKeys, Group

FILE = Path(__file__).resolve().parents[1] / "baselines.toml"
HOLDER, OTHER = "HOLDER", "OTHER"  # of control groups, in the file


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    config: tuple[ConfigKeys, ...]


def load(path: Path = FILE) -> tuple[ConfigKeys, ...]:
    raw, where = read(path.name, path.read_text())
    return where.convert(raw, Keys).config


def configs(groups: list[Group], ours: list[Config], policy: str, depth: tuple[int, ...]) -> Iterator[Config]:
    """The baselines of a scenario; those for control groups only where it has some.

    @ours: the scenario's own configurations, which say what control groups reserve; @policy: of priorities
    """
    names = {group.cgroup for group in groups if group.cgroup}
    holders = {name for config in ours for name, files in config.cgroups.items() if "io.bw" in files}
    for keys in load():
        if keys.cgroups and not holders:
            continue
        stands_for = {HOLDER: holders, OTHER: names - holders}
        files = {name: of_one for key, of_one in keys.cgroups.items() for name in sorted(stands_for[key])}
        yield Config(at=("baselines",), name=keys.name or keys.scheduler, scheduler=keys.scheduler, policy=policy,
                     depth=depth, only={}, tunables=keys.tunables, queue=keys.queue, cgroups=files)
