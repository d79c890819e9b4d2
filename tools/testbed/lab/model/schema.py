# SPDX-License-Identifier: GPL-2.0
"""Scenario files: README.md documents every key.

Whatever is wrong with a file is found here, before anything runs, and reported with its line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.testbed.disk import presets

from . import cgroups, filesystems, units
from .errors import BadValue, ScenarioError
from .reading import (
    Reader,
    Value,
    anything,
    boolean,
    integer,
    names,
    number,
    one_of,
    one_or_more,
    read,
    rows,
    setting,
    settings,
    table,
    text,
)
from .scenario import (
    NUMBERS,
    VARIABLE,
    Config,
    Expect,
    Group,
    Priority,
    Published,
    Scenario,
    Select,
    Vary,
    View,
    resolve,
)

KINDS = ("paced", "greedy", "random", "tree", "copy")
METRICS = (
    "bytes_per_s", "bytes", "own_bytes_per_s", "reads", "reads_per_s", "misses", "expected", "lost", "files_per_s",
    "met_percent", "latency_mean_ms", "latency_p25_ms", "latency_p50_ms", "latency_p75_ms", "latency_p90_ms",
    "latency_p99_ms", "latency_p999_ms",
    "latency_max_ms", "below_50_ms", "below_100_ms", "below_125_ms", "below_250_ms", "below_500_ms",
    "below_1000_ms",
)  # fmt: skip
REDUCES = ("sum", "min", "max", "mean", "ratio")
OVERS = ("each", "min", "max", "mean", "median", "sum")
OPS = ("<", "<=", "==", ">=", ">")
NEEDS = ("bw",)
SEED_MAX = 2**63 - 1
DISK_KEYS_OF_THE_RUN = {
    "hw_queue_depth": "'depth' says how many commands the drive holds",
    "power": "each run switches its disk on",
}


@dataclass(frozen=True)
class Known:
    """Names that expectations and views may use."""

    groups: Collection[str]
    configs: Collection[str]
    vary: Vary


@dataclass(frozen=True)
class Defaults:
    """What configurations have in common unless they say otherwise."""

    depth: list[int]
    policy: str


def load(path: Path) -> Scenario:
    """The scenario of a file."""
    try:
        source = path.read_text()
    except OSError as error:
        raise ScenarioError(str(path), None, "", f"{error.strerror}; `lab list` names the scenarios") from None
    except UnicodeDecodeError:
        raise ScenarioError(path.name, None, "", "not a text file in UTF-8") from None
    return parse(path, source)


def parse(path: Path, source: str) -> Scenario:
    """The scenario of a file's text."""
    top = read(path.name, source)
    vary = _vary(top.table_of("vary"))
    groups = _groups(top, vary)
    configs = _configs(top, vary, {policy for group in groups for policy in group.priorities} | {"none"})
    known = Known({group.name for group in groups}, {config.name for config in configs}, vary)
    scenario = Scenario(
        where=top.where,
        name=path.stem,
        title=top.need("title", text),
        about=top.take("about", text, "").strip(),
        source=top.take("source", text, ""),
        must_show=top.take("must_show", text, ""),
        differences=top.take("differences", text, "").strip(),
        disk=top.need("disk", text),
        disk_set=_disk_set(top.table_of("disk_set")),
        filesystem=top.take("filesystem", _varying(one_of(*filesystems.MKFS), vary), ""),
        duration_s=top.need("duration_s", number(0.01, 100_000)),
        seed=top.take("seed", integer(0, SEED_MAX), 1),
        vary=vary,
        groups=groups,
        configs=configs,
        expects=[_expect(reader, known) for reader in top.tables_of("expect")],
        views=[_view(reader, known) for reader in top.tables_of("view")],
        published=[_published(reader) for reader in top.tables_of("published")],
    )
    top.finish()
    _check_files(scenario)
    _check_cgroups(scenario)
    return scenario


def _check_cgroups(scenario: Scenario) -> None:
    """What a configuration sets is of a control group that has processes, or of the root."""
    known = {group.cgroup for group in scenario.groups if group.cgroup}
    for config in scenario.configs:
        for name in config.cgroups:
            if name not in known | {cgroups.ROOT}:
                what = f"no group has cgroup = \"{name}\" (known: {', '.join(sorted(known | {cgroups.ROOT}))})"
                raise scenario.where.error((*config.at[:2], "cgroup", name), what)


def _check_files(scenario: Scenario) -> None:
    """Files of a file system, or ranges of the device: a scenario has the one or the other."""
    for group in scenario.groups:
        if bool(scenario.filesystem) != filesystems.is_file(group.file):
            what = "with a filesystem it is own:SIZE or new" if scenario.filesystem else "needs a filesystem"
            raise scenario.where.error((*group.at, "file"), f"'{group.file}': {what}")
        if group.file == filesystems.NEW and not (group.write and group.kind != "random"):
            raise scenario.where.error((*group.at, "file"), "a new file has nothing to be read or changed")
        if group.kind == "copy" and not scenario.filesystem:
            raise scenario.where.error((*group.at, "kind"), "a copy needs a filesystem")
        if group.kind == "copy" and group.write:
            raise scenario.where.error((*group.at, "op"), "a copy reads its file, and writes another")


def depths(value: Value) -> list[int]:
    """Queue depths of a drive."""
    items = one_or_more(value)
    if not items:
        raise BadValue("names no queue depth")
    return [integer(1, 1024)(item) for item in items]


def _label_lists(value: Value) -> dict[str, list[str]]:
    """Labels of [vary] keys: one or an array for each key."""
    lists = table(value)
    if [] in lists.values():
        raise BadValue("names no label")
    return {key: [str(item) for item in one_or_more(items)] for key, items in lists.items()}


def _disk_set(reader: Reader) -> dict[str, str]:
    """Attributes of the disk; what only the kernel knows of them is asked of it later."""
    found = {key: reader.need(key, setting) for key in reader.table}
    for key in found:
        if not presets.ATTRIBUTE.fullmatch(key):
            raise reader.error(key, "is not the name of an attribute")
    for key, why in DISK_KEYS_OF_THE_RUN.items():
        if key in found:
            raise reader.error(key, why)
    for key in ("size", "blocksize"):
        if not re.fullmatch("[1-9][0-9]*", found.get(key, "1")):
            raise reader.error(key, f"'{found[key]}' is not a whole number above 0")
    irqmode = found.get("irqmode", presets.ROTATING)
    if irqmode != presets.ROTATING:
        for key in found:
            if key.startswith("rot/"):
                raise reader.error(key, f"irqmode = {irqmode}: there is no rotating disk to have it")
    return found


def _vary(reader: Reader) -> Vary:
    return {key: reader.need(key, _seeds if key == "seed" else _labelled) for key in reader.table}


def _labelled(value: Value) -> dict[str, Value]:
    """Values by their labels."""
    if isinstance(value, list):
        value = {str(item): item for item in value}
    if not isinstance(value, dict) or not value:
        raise BadValue("must be an array of values or a table of label = value")
    return value


def _seeds(value: Value) -> dict[str, Value]:
    return {label: integer(0, SEED_MAX)(item) for label, item in _labelled(value).items()}


def _groups(top: Reader, vary: Vary) -> list[Group]:
    groups: dict[str, Group] = {}
    for reader in top.tables_of("group"):
        group = _group(reader, vary)
        if group.name in groups:
            raise reader.error("name", f"two groups are called '{group.name}'")
        groups[group.name] = group
    if not groups:
        raise top.error("", "no [[group]]: nobody would read anything")
    return list(groups.values())


def _group(reader: Reader, vary: Vary) -> Group:
    name = reader.need("name", text)
    kind = reader.need("kind", one_of(*KINDS))
    numbers = {key: reader.take(key, _varying(check, vary), None) for key, check in NUMBERS.items()}
    raw = {key: value for key, value in numbers.items() if value is not None}
    priority = reader.table_of("priority")
    op = reader.take("op", one_of("read", "write", "rewrite"), "read")
    group = Group(
        at=reader.path,
        name=name,
        kind=kind,
        raw=raw,
        file=reader.take("file", _file(vary), "media"),
        write=op != "read",
        rewrite=op == "rewrite",
        direct=reader.take("direct", boolean, False),
        catch_up=reader.take("catch_up", boolean, "deadline_ms" in raw or "buffer_ms" in raw),
        priorities={policy: _priority(priority.table_of(policy)) for policy in priority.table},
        when=reader.take("when", _variants_of(vary), {}),
        cgroup=reader.take("cgroup", cgroups.name, ""),
    )
    reader.finish()
    _check_pace(reader, kind, raw)
    return group


def _varying(check: Callable[[Value], object], vary: Vary) -> Callable[[Value], Value]:
    """A check of a value for each variant that there will be."""

    def checked(value: Value) -> Value:
        used = VARIABLE.findall(value) if isinstance(value, str) else []
        for key in used:
            if key not in vary:
                raise BadValue(f"${key} is not a key of [vary]")
        for items in itertools.product(*(vary[key].values() for key in used)):
            check(resolve(value, dict(zip(used, items, strict=True))))
        return value

    return checked


def _file(vary: Vary) -> Callable[[Value], str]:
    """A text with known variables; what it names depends on the disk."""
    return lambda value: text(_varying(anything, vary)(text(value)))


def _check_pace(reader: Reader, kind: str, raw: Mapping[str, Value]) -> None:
    """What of a group's numbers depends on its kind and on each other."""
    if kind == "paced" and not ("rate" in raw or "period_ms" in raw):
        raise reader.error("", "a paced group needs 'rate' or 'period_ms'")
    if "rate" in raw and ("period_ms" in raw or "per_s" in raw):
        raise reader.error("rate", "give one of rate, period_ms and per_s")
    if kind in ("greedy", "copy") and any(key in raw for key in ("rate", "period_ms", "per_s")):
        raise reader.error("", f'a {kind} group has no rate; use kind = "paced"')
    if kind == "copy" and "fsync_every" in raw:
        raise reader.error("fsync_every", "a copy is not synced")
    if (kind != "tree" or "rate" in raw) and "size" not in raw:
        raise reader.error("", "'size' is missing")
    if "deadline_ms" in raw and kind not in ("paced", "greedy", "random"):
        raise reader.error("deadline_ms", f"a {kind} group has no deadline")
    if "buffer_ms" in raw and kind != "paced":
        raise reader.error("buffer_ms", "only a paced group has a buffer")
    if "burst" in raw and "pause_ms" not in raw:
        raise reader.error("burst", "there is no pause_ms after it")
    if "swing" in raw and (kind in ("random", "tree") or "direct" in reader.table):
        raise reader.error("swing", "only of operations that are sequential, and not direct")


def _priority(reader: Reader) -> Priority:
    cls = reader.need("class", one_of(*units.CLASSES))
    if cls == "bw":
        rate = reader.need("rate", units.parse_rate)
        delay = reader.need("delay_ms", integer(1, 100000))
        try:
            priority = Priority(units.bw_ioprio(rate, delay), f"BW {rate / units.MIB:g} MiB/s {delay} ms")
        except ValueError as error:
            raise reader.error("", str(error)) from None
    else:
        level = reader.take("level", integer(0, 7), 0 if cls == "idle" else 4)
        priority = Priority(units.level_ioprio(cls, level), f"{cls.upper()} {level}")
    reader.finish()
    return priority


def _configs(top: Reader, vary: Vary, policies: set[str]) -> list[Config]:
    """Schedulers as they are, and those with settings of their own."""
    policy = _one_of_policies(policies)
    defaults = Defaults(top.take("depth", depths, [1]), top.take("policy", policy, "none"))
    only: dict[str, list[str]] = top.take("schedulers_only", _variants_of(vary), {})
    depth = top.take("schedulers_depth", depths, defaults.depth)
    schedulers: tuple[str, ...] = top.take("schedulers", names, ())
    configs = [Config(("schedulers",), name, name, defaults.policy, depth, only) for name in schedulers]
    configs += [_config(reader, vary, policy, defaults) for reader in top.tables_of("config")]
    if not configs:
        raise top.error("", "no schedulers: give schedulers = [...] or [[config]]")
    for index, config in enumerate(configs):
        if any(config.name == other.name for other in configs[:index]):
            raise top.where.error(config.at[:2], f"two configurations are called '{config.name}'")
    return configs


def _config(reader: Reader, vary: Vary, policy: Callable[[Value], str], defaults: Defaults) -> Config:
    scheduler = reader.need("scheduler", text)
    config = Config(
        at=(*reader.path, "scheduler"),
        name=reader.take("name", text, scheduler),
        scheduler=scheduler,
        policy=reader.take("policy", policy, defaults.policy),
        depth=reader.take("depth", depths, defaults.depth),
        only=reader.take("only", _variants_of(vary), {}),
        tunables=reader.take("set", settings, {}),
        bw_tunables=reader.take("bw_set", settings, {}),
        queue=reader.take("queue", settings, {}),
        fallback=reader.take("fallback", policy, ""),
        cgroups=reader.take("cgroup", cgroups.settings, {}),
    )
    reader.finish()
    if scheduler == "none" and (config.tunables or config.bw_tunables):
        raise reader.error("set" if config.tunables else "bw_set", "scheduler none has no tunables")
    return config


def _one_of_policies(policies: set[str]) -> Callable[[Value], str]:
    def check(value: Value) -> str:
        if text(value) not in policies:
            raise BadValue(f"no group has a priority.{value} (known: {', '.join(sorted(policies))})")
        return str(value)

    return check


def _variants_of(vary: Vary) -> Callable[[Value], dict[str, list[str]]]:
    """The variants that a group or a configuration is limited to: labels that [vary] has."""

    def check(value: Value) -> dict[str, list[str]]:
        allowed = _label_lists(value)
        for key, labels in allowed.items():
            for label in labels:
                if label not in vary.get(key, {}):
                    raise BadValue(f"[vary] has no {key} = {label}")
        return allowed

    return check


def _expect(reader: Reader, known: Known) -> Expect:
    says = reader.need("says", text)
    needs: tuple[str, ...] = reader.take("needs", names, ())
    for need in needs:
        if need not in NEEDS:
            raise reader.error("needs", f"'{need}' is not a known need (known: {', '.join(NEEDS)})")
    left = _select(reader, "left", known)
    sequence = reader.take("increases", text, "")
    order: tuple[str, ...] = reader.take("falls_along", names, ())
    if sequence or order:
        right, op = Select(constant=0.0), ">"
    else:
        op = reader.need("op", one_of(*OPS))
        right = _select(reader, "right", known)
    reader.finish()
    reader.check_names("falls_along", order, known.configs, "config")
    if sequence:
        reader.check_names("increases", [sequence], known.vary, "[vary] key")
    return Expect(says, left, op, right, needs, sequence, order)


def _select(expect: Reader, side: str, known: Known) -> Select:
    value = expect.need(side, anything)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Select(constant=float(value))
    reader = expect.table_of(side)
    vary: dict[str, list[str]] = reader.take("vary", _label_lists, {})
    select = Select(
        metric=reader.need("metric", one_of(*METRICS)),
        groups=reader.take("groups", names, ()),
        config=reader.take("config", names, ()),
        depth=tuple(reader.take("depth", depths, [])),
        vary={key: tuple(labels) for key, labels in vary.items()},
        reduce=reader.take("reduce", one_of(*REDUCES), "sum"),
        over=reader.take("over", one_of(*OVERS), "each"),
        factor=reader.take("factor", number(-1e12, 1e12), 1.0),
    )
    reader.finish()
    expect.check_names(side, select.groups, known.groups, "group")
    expect.check_names(side, select.config, known.configs, "config")
    expect.check_names(side, select.vary, known.vary, "[vary] key")
    for key, labels in select.vary.items():
        expect.check_names(side, labels, known.vary[key], key)
    return select


def _view(reader: Reader, known: Known) -> View:
    view = View(
        title=reader.need("title", text),
        metric=reader.need("metric", one_of(*METRICS)),
        groups=reader.take("groups", names, ()),
        reduce=reader.take("reduce", one_of(*REDUCES), "sum"),
        rows=reader.take("rows", one_of("group", "process", *known.vary), next(iter(known.vary), "group")),
        unit=reader.take("unit", one_of(*units.SCALES), ""),
        configs=reader.take("config", names, ()),
    )
    reader.finish()
    reader.check_names("groups", view.groups, known.groups, "group")
    reader.check_names("config", view.configs, known.configs, "config")
    return view


def _published(reader: Reader) -> Published:
    published = Published(reader.need("caption", text), reader.need("columns", names), reader.need("rows", rows))
    if any(len(row) != len(published.columns) for row in published.rows):
        raise reader.error("rows", "a row has not as many cells as there are columns")
    reader.finish()
    return published
