# SPDX-License-Identifier: GPL-2.0
"""Scenario files: what msgspec reads of them, and what depends on more than one key.

Whatever is wrong with a file is found here, before anything runs, and reported with its line.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from tools.testbed.disk import presets

from . import baselines, cgroups, filesystems, settings
from .errors import BadValue, ScenarioError
from .reading import Depths, Labels, Names, Size, Value, Where, convert, read, setting, table
from .scenario import (
    VARIABLE,
    Config,
    ConfigKeys,
    Expect,
    ExpectKeys,
    Group,
    GroupKeys,
    Numbers,
    Published,
    Scenario,
    Select,
    SelectKeys,
    Vary,
    View,
    resolve,
)

Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
NEEDS = ("bw",)
DISK_KEYS_OF_THE_RUN = {
    "hw_queue_depth": "'depth' says how many commands the drive holds",
    "power": "each run switches its disk on",
}


class DiskSet(dict[str, str]):
    """Attributes of the disk; what only the kernel knows of them is asked of it later."""

    @classmethod
    def read(cls, value: Value) -> DiskSet:
        found = cls()
        for key, item in table(value).items():
            try:
                found[key] = setting(item)
            except BadValue as error:
                raise BadValue(str(error), key) from None
            if not presets.ATTRIBUTE.fullmatch(key):
                raise BadValue("is not the name of an attribute", key)
            if key in DISK_KEYS_OF_THE_RUN:
                raise BadValue(DISK_KEYS_OF_THE_RUN[key], key)
            if key in ("size", "blocksize") and not re.fullmatch("[1-9][0-9]*", found[key]):
                raise BadValue(f"'{found[key]}' is not a whole number above 0", key)
        irqmode = found.get("irqmode", presets.ROTATING)
        for key in found:
            if irqmode != presets.ROTATING and key.startswith("rot/"):
                raise BadValue(f"irqmode = {irqmode}: there is no rotating disk to have it", key)
        return found


class Varied(dict[str, dict[str, Value]]):
    """Values of each key of [vary] by their labels."""

    @classmethod
    def read(cls, value: Value) -> Varied:
        found = cls()
        for key, items in table(value).items():
            if isinstance(items, list):
                items = {str(item): item for item in items}
            if not isinstance(items, dict) or not items:
                raise BadValue("must be an array of values or a table of label = value", key)
            try:
                found[key] = {label: convert(item, Seed) for label, item in items.items()} if key == "seed" else items
            except BadValue as error:
                raise BadValue(str(error), key) from None
        return found


class OnFilesystem(Struct):
    """What a scenario's filesystem is in a variant."""

    filesystem: Literal["ext4", "xfs", "btrfs"]


class OfQueue(Struct):
    """What a scenario's settings are in a variant."""

    settings: settings.Name


class ScenarioKeys(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The top of the file."""

    title: Annotated[str, Meta(description="one line")]
    about: Annotated[str, Meta(description="what the scenario does")] = ""
    source: Annotated[str, Meta(description="where it was published, or `not published`")] = ""
    must_show: Annotated[str, Meta(description="what is expected, in one line")] = ""
    differences: Annotated[str, Meta(description="why results differ from those that were published")] = ""
    disk: Annotated[str, Meta(description="a preset of configs/disks")]
    disk_set: Annotated[DiskSet, Meta(
        description="attributes of null_blk that replace those of the preset; not `hw_queue_depth` (that is `depth`)"
        " and not `power`")] = msgspec.field(default_factory=DiskSet)
    filesystem: Annotated[str, Meta(
        description="`ext4`, `xfs`, `btrfs` or a `$variable`: made and mounted for each run, on a disk in memory;"
        " without it the groups use the raw device")] = ""
    settings: Annotated[str, Meta(
        description="of the disk's queue: `published` (commands of at most 512 KiB, 256 tags), `linux` (what Linux sets"
        " for the preset's transport), `recommended` (of configs/udev/90-cfq.rules) or a `$variable`")] = "published"
    fragmented: Annotated[bool, Meta(
        description="the guest's free memory is taken, and every second page of it given back: free pages have no"
        " neighbours, and a command has as many segments as pages")] = False
    swap: Annotated[Size, Meta(description="of a file in the file system that the kernel swaps to; default: none")
                    ] = Size(0)
    duration_s: Annotated[float, Meta(ge=0.01, le=100_000, description="virtual seconds")]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="draws files and offsets at random")] = 1
    depth: Annotated[Depths, Meta(description="queue depths of the drive, a run for each; 1: no command"
                                  " queueing")] = Depths((1,))
    policy: Annotated[str, Meta(description="which `priority` of each group is used")] = "none"
    schedulers: Annotated[Names, Meta(description="schedulers without settings")] = Names()
    schedulers_depth: Annotated[Depths | None, Meta(description="their queue depths, instead of `depth`")] = None
    schedulers_only: Annotated[Labels, Meta(description="only these values of `[vary]` for them")] = msgspec.field(
        default_factory=Labels)
    cgroup: Annotated[cgroups.Files, Meta(
        description="`cgroup.NAME`: files of a control group under every configuration, and their values; a value may"
        " be a `$variable`")] = msgspec.field(default_factory=cgroups.Files)
    baselines: Annotated[bool, Meta(
        description="also run the configurations of baselines.toml, with `policy` and `depth`")] = False
    vary: Annotated[Varied, Meta(
        description="values that differ from run to run: `N = [1, 2]` or `N.label = value`; `$N` in a group is"
        " replaced by the value. `seed` replaces the seed")] = msgspec.field(default_factory=Varied)
    config: Annotated[tuple[ConfigKeys, ...], Meta(description="see `[[config]]`")] = ()
    group: Annotated[tuple[dict[str, Any], ...], Meta(description="see `[[group]]`")] = ()
    view: Annotated[tuple[View, ...], Meta(description="see `[[view]]`")] = ()
    expect: Annotated[tuple[ExpectKeys, ...], Meta(description="see `[[expect]]`")] = ()
    published: Annotated[tuple[Published, ...], Meta(description="see `[[published]]`")] = ()


def load(path: Path) -> Scenario:
    """The scenario of a file."""
    try:
        source = path.read_text()
    except OSError as error:
        raise ScenarioError(str(path), None, "", f"{error.strerror}; `lab list` names the scenarios") from None
    except UnicodeDecodeError:
        raise ScenarioError(path.name, None, "", "not a text file in UTF-8") from None
    return parse(path, source)


# Texts, and what is made of the results.
NOT_OF_RUNS = frozenset({"title", "about", "source", "must_show", "differences", "expect", "view", "published"})


def parse(path: Path, source: str) -> Scenario:
    """The scenario of a file's text."""
    raw, where = read(path.name, source)
    scenario = Checked(where.convert(raw, ScenarioKeys), where).scenario(path.stem)
    return replace(scenario, digest=digest_of(raw))


def digest_of(raw: Mapping[str, Any]) -> str:
    """Of all that runs depend on in a scenario file, and in that of the baselines."""
    told = {key: value for key, value in raw.items() if key not in NOT_OF_RUNS}
    others = tomllib.loads(baselines.FILE.read_text()) if raw.get("baselines") else {}
    return hashlib.sha256(json.dumps([told, others], sort_keys=True).encode()).hexdigest()[:16]


def depths(values: list[int]) -> tuple[int, ...]:
    """Queue depths of a drive."""
    return Depths.read(values)


class Checked:
    """What of a file depends on more than one key."""

    def __init__(self, keys: ScenarioKeys, where: Where) -> None:
        self.keys = keys
        self.where = where
        self.vary: Vary = keys.vary
        self.groups = [self.group(index, raw) for index, raw in enumerate(keys.group)]
        if not self.groups:
            raise where.error((), "no [[group]]: the scenario has no processes")
        self.unique(("group",), [group.name for group in self.groups], "groups", "name")
        self.policies = {policy for group in self.groups for policy in group.priorities} | {"none"}
        self.configs = self.all_configs()
        self.group_names = {group.name for group in self.groups}
        self.config_names = {config.name for config in self.configs}

    def scenario(self, name: str) -> Scenario:
        keys = self.keys
        if keys.filesystem:
            self.varying(keys.filesystem, OnFilesystem, (), "filesystem")
        self.varying(keys.settings, OfQueue, (), "settings")
        self.check_files()
        self.check_cgroups()
        return Scenario(
            where=self.where, name=name, title=keys.title, about=keys.about.strip(), source=keys.source,
            must_show=keys.must_show, differences=keys.differences.strip(), disk=keys.disk, disk_set=keys.disk_set,
            filesystem=keys.filesystem, settings=keys.settings, fragmented=keys.fragmented, swap=keys.swap,
            cgroups=keys.cgroup, duration_s=keys.duration_s, seed=keys.seed, vary=self.vary, groups=self.groups,
            configs=self.configs,
            expects=[self.expect(index, expect) for index, expect in enumerate(keys.expect)],
            views=[self.view(index, view) for index, view in enumerate(keys.view)],
            published=[self.published(index, one) for index, one in enumerate(keys.published)],
        )

    def unique(self, path: tuple[str, ...], names: list[str], what: str, *key: str) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise self.where.error((*path, index, *key), f"two {what} are called '{name}'")

    def known(self, used: Iterable[str], known: Iterable[str], what: str, *path: str | int) -> None:
        """What the value of a key names must be known."""
        for name in used:
            if name not in (names := sorted(known)):
                raise self.where.error(path, f"no {what} '{name}' (known: {', '.join(names)})")

    def labels(self, labels: Mapping[str, Iterable[str]], *path: str | int) -> None:
        """The variants that a group or a configuration is limited to are in [vary]."""
        for key, label in ((key, label) for key, chosen in labels.items() for label in chosen):
            if label not in self.vary.get(key, {}):
                raise self.where.error(path, f"[vary] has no {key} = {label}")

    def variables(self, value: Value, *path: str | int) -> list[str]:
        used = VARIABLE.findall(value) if isinstance(value, str) else []
        for key in used:
            if key not in self.vary:
                raise self.where.error(path, f"${key} is not a key of [vary]")
        return used

    def varying(self, value: Value, kind: type[Struct], path: tuple[str | int, ...], key: str) -> None:
        """The value of a Struct's key in each variant that there will be."""
        used = self.variables(value, *path, key)
        for items in itertools.product(*(self.vary[name].values() for name in used)):
            self.where.convert({key: resolve(value, dict(zip(used, items, strict=True)))}, kind, *path)

    def group(self, index: int, raw: dict[str, Value]) -> Group:
        at = ("group", index)
        known = sorted((*GroupKeys.__struct_encode_fields__, *Numbers.__struct_encode_fields__))
        for key in raw:
            if key not in known:
                raise self.where.error((*at, key), f"unknown key (known here: {', '.join(known)})")
        numbers = {key: value for key, value in raw.items() if key in Numbers.__struct_fields__}
        keys = self.where.convert({key: value for key, value in raw.items() if key not in numbers}, GroupKeys, *at)
        for key, value in numbers.items():
            self.varying(value, Numbers, at, key)
        self.variables(keys.file, *at, "file")
        self.labels(keys.when, *at, "when")
        for wrong, key, what in pace(keys.kind, raw):
            if wrong:
                raise self.where.error((*at, key) if key else at, what)
        hurries = "deadline_ms" in numbers or "buffer_ms" in numbers
        return Group(
            at=at, name=keys.name, kind=keys.kind, raw=numbers, file=keys.file, write=keys.op != "read",
            rewrite=keys.op == "rewrite", direct=keys.direct, cgroup=keys.cgroup, priorities=keys.priority,
            when=keys.when, catch_up=hurries if keys.catch_up is None else keys.catch_up)

    def policy(self, policy: str, *path: str | int) -> str:
        if policy not in self.policies:
            known = ", ".join(sorted(self.policies))
            raise self.where.error(path, f"no group has a priority.{policy} (known: {known})")
        return policy

    def all_configs(self) -> list[Config]:
        """Schedulers as they are, and those with settings of their own."""
        keys = self.keys
        self.policy(keys.policy, "policy")
        self.labels(keys.schedulers_only, "schedulers_only")
        depth = keys.schedulers_depth or keys.depth
        configs = [Config(("schedulers",), name, name, keys.policy, depth, keys.schedulers_only)
                   for name in keys.schedulers]
        configs += [self.config(index, one) for index, one in enumerate(keys.config)]
        if keys.baselines:
            configs += baselines.configs(self.groups, configs, keys.policy, keys.depth)
        if not configs:
            raise self.where.error((), "no schedulers: give schedulers = [...] or [[config]]")
        for index, config in enumerate(configs):
            if config.name in [other.name for other in configs[:index]]:
                raise self.where.error(config.at[:2], f"two configurations are called '{config.name}'")
        return configs

    def config(self, index: int, keys: ConfigKeys) -> Config:
        at = ("config", index)
        self.labels(keys.only, *at, "only")
        if keys.scheduler == "none" and (keys.tunables or keys.bw_tunables):
            raise self.where.error((*at, "set" if keys.tunables else "bw_set"), "scheduler none has no tunables")
        return Config(
            at=(*at, "scheduler"), name=keys.called, scheduler=keys.scheduler,
            policy=self.keys.policy if keys.policy is None else self.policy(keys.policy, *at, "policy"),
            depth=keys.depth or self.keys.depth, only=keys.only, tunables=keys.tunables, bw_tunables=keys.bw_tunables,
            queue=keys.queue, cgroups=keys.cgroups,
            fallback="" if keys.fallback is None else self.policy(keys.fallback, *at, "fallback"))

    def check_cgroups(self) -> None:
        """What a configuration sets is of a control group that has processes, or of the root."""
        known = {group.cgroup for group in self.groups if group.cgroup} | {cgroups.ROOT}
        for name, files in self.keys.cgroup.items():
            self.known([name], known, "control group", "cgroup", name)
            for file, value in files.items():
                self.variables(value, "cgroup", name, file)
        for config in self.configs:
            for name in config.cgroups:
                if name not in known:
                    what = f"no group has cgroup = \"{name}\" (known: {', '.join(sorted(known))})"
                    raise self.where.error((*config.at[:2], "cgroup", name), what)

    def check_files(self) -> None:
        """Files of a file system, or ranges of the device: a scenario has the one or the other."""
        mounted = bool(self.keys.filesystem)
        if self.keys.swap and not mounted:
            raise self.where.error(("swap",), "needs a filesystem")
        for group in self.groups:
            if mounted != filesystems.is_file(group.file):
                what = "with a filesystem it is own:SIZE or new" if mounted else "needs a filesystem"
                raise self.where.error((*group.at, "file"), f"'{group.file}': {what}")
            if group.file == filesystems.NEW and not (group.write and group.kind != "random"):
                raise self.where.error((*group.at, "file"), "a new file has nothing to be read or changed")
            if group.kind == "copy" and not mounted:
                raise self.where.error((*group.at, "kind"), "a copy needs a filesystem")
            if group.kind == "copy" and group.write:
                raise self.where.error((*group.at, "op"), "a copy reads its file, and writes another")

    def expect(self, index: int, keys: ExpectKeys) -> Expect:
        at = ("expect", index)
        self.known(keys.needs, NEEDS, "need", *at, "needs")
        left = self.select(keys.left, *at, "left")
        if keys.increases or keys.falls_along:
            self.known(keys.falls_along, self.config_names, "config", *at, "falls_along")
            self.known([keys.increases] if keys.increases else [], self.vary, "[vary] key", *at, "increases")
            for key in ("op", "right"):
                if getattr(keys, key) is not None:
                    raise self.where.error((*at, key), "neither with 'increases' nor with 'falls_along'")
            return Expect(keys.says, left, ">", Select(constant=0.0), keys.needs, keys.increases, keys.falls_along)
        if keys.op is None or keys.right is None:
            raise self.where.error(at, f"'{'op' if keys.op is None else 'right'}' is missing")
        return Expect(keys.says, left, keys.op, self.select(keys.right, *at, "right"), keys.needs)

    def select(self, keys: SelectKeys | float, *path: str | int) -> Select:
        if not isinstance(keys, SelectKeys):
            return Select(constant=keys)
        self.known(keys.groups, self.group_names, "group", *path)
        if baselines.ALL in keys.config:
            of_file = [one.name for one in self.configs if one.at[0] == baselines.ALL]
            if not of_file:
                raise self.where.error((*path, "config"), "the scenario has no baselines = true")
            keys = structs.replace(keys, config=Names([*of_file, *(n for n in keys.config if n != baselines.ALL)]))
        self.known(keys.config, self.config_names, "config", *path)
        self.known(keys.vary, self.vary, "[vary] key", *path)
        for key, labels in keys.vary.items():
            self.known(labels, self.vary[key], key, *path)
        return Select(**structs.asdict(keys))

    def view(self, index: int, view: View) -> View:
        at = ("view", index)
        self.known(view.groups, self.group_names, "group", *at, "groups")
        self.known(view.configs, self.config_names, "config", *at, "config")
        self.known([view.rows] if view.rows else [], ["group", "process", *self.vary], "rows", *at, "rows")
        return view if view.rows else structs.replace(view, rows=next(iter(self.vary), "group"))

    def published(self, index: int, one: Published) -> Published:
        if any(len(row) != len(one.columns) for row in one.rows):
            raise self.where.error(("published", index, "rows"), "a row has not as many cells as there are columns")
        return one


def pace(kind: str, raw: Mapping[str, Value]) -> list[tuple[bool, str, str]]:
    """What of a group's numbers depends on its kind and on each other: whether it is wrong, the key, and why."""
    paces = [key for key in ("rate", "period_ms", "per_s") if key in raw]
    return [
        (kind == "paced" and not {"rate", "period_ms"} & raw.keys(), "", "a paced group needs 'rate' or 'period_ms'"),
        ("rate" in paces and len(paces) > 1, "rate", "give one of rate, period_ms and per_s"),
        (kind in ("greedy", "copy") and bool(paces), "", f'a {kind} group has no rate; use kind = "paced"'),
        (kind == "copy" and "fsync_every" in raw, "fsync_every", "a copy is not synced"),
        ((kind != "tree" or "rate" in raw) and "size" not in raw, "", "'size' is missing"),
        ("deadline_ms" in raw and kind not in ("paced", "greedy", "random"), "deadline_ms",
         f"a {kind} group has no deadline"),
        ("buffer_ms" in raw and kind != "paced", "buffer_ms", "only a paced group has a buffer"),
        ("burst" in raw and "pause_ms" not in raw, "burst", "there is no pause_ms after it"),
        ("swing" in raw and (kind in ("random", "tree") or "direct" in raw), "swing",
         "only of operations that are sequential, and not direct"),
    ]
