# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files: reading, checking, and the cells (guest runs) they ask for.

A scenario describes a disk, groups of processes, and the scheduler
configurations to compare; README.md documents every key.  Whatever is wrong
with a file is found here, before anything runs, and reported with its line.
"""

import itertools
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import tomllines, units
from .errors import BadValue, ScenarioError

KINDS = ("paced", "greedy", "random", "tree")
METRICS = (
    "bytes_per_s", "bytes", "own_bytes_per_s", "reads", "reads_per_s", "misses", "expected", "files_per_s",
    "latency_mean_ms", "latency_p50_ms", "latency_p90_ms", "latency_p99_ms", "latency_p999_ms",
    "latency_max_ms", "below_50_ms", "below_100_ms", "below_125_ms", "below_250_ms", "below_500_ms",
    "below_1000_ms",
)  # fmt: skip
REDUCES = ("sum", "min", "max", "mean", "ratio")
OPS = ("<", "<=", "==", ">=", ">")
SEED_MAX = 2**63 - 1
DISK_KEYS_OF_THE_RUN = {
    "hw_queue_depth": "'depth' says how many commands the drive holds",
    "power": "each run switches its disk on",
}
SETTING = re.compile(r"[a-z0-9_]+")
VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")

Variant = dict[str, Any]  # a value for each key of [vary]


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
    raw: dict[str, Any]  # numbers that may hold $variables, resolved for a variant
    file: str
    write: bool
    direct: bool
    catch_up: bool
    priorities: dict[str, Priority]  # by policy
    when: dict[str, str]

    def active(self, labels: dict[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.when.items())


@dataclass(frozen=True)
class Config:
    """One scheduler with its tunables and the policy of priorities used."""

    at: tomllines.Path  # of the scheduler's name in the scenario file
    name: str
    scheduler: str
    tunables: dict[str, str]
    bw_tunables: dict[str, str]  # only where the kernel has the BW class
    queue: dict[str, str]
    policy: str
    fallback: str
    depth: list[int]
    only: dict[str, list[str]]


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
    says: str
    left: Select
    op: str
    right: Select
    needs: tuple[str, ...]
    sequence: str = ""  # "increases": left must grow along the variants
    order: tuple[str, ...] = ()  # "ordered": left must fall along these configs


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
    where: "Where" = field(repr=False, compare=False)
    name: str
    path: Path
    title: str
    about: str
    source: str
    must_show: str
    differences: str
    disk: str
    disk_set: dict[str, str]
    duration_s: float
    seed: int
    vary: dict[str, dict[str, Any]]  # key -> label -> value
    groups: list[Group]
    configs: list[Config]
    expects: list[Expect]
    views: list[View]
    published: list[dict[str, Any]]

    def cells(
        self, schedulers: list[str] | None = None, depths: list[int] | None = None, only: str = ""
    ) -> list[Cell]:
        """The runs; `only`: those whose name has this regular expression in it."""
        cells = []
        for config in self.configs:
            if schedulers is not None and config.scheduler not in schedulers:
                continue
            keys = list(self.vary)
            for depth in depths or config.depth:
                for labels in itertools.product(*(self.vary[key] for key in keys)):
                    named = dict(zip(keys, labels, strict=True))
                    if any(named[key] not in allowed for key, allowed in config.only.items()):
                        continue
                    variant = {key: self.vary[key][label] for key, label in named.items()}
                    cells.append(Cell(config, depth, named, variant))
        return [cell for cell in cells if re.search(only, cell.name)]


class Reader:
    """A TOML table that knows its lines and which keys nobody asked for."""

    def __init__(self, table: Any, where: "Where", path: tomllines.Path) -> None:
        self.where = where
        self.path = path
        if not isinstance(table, dict):
            raise self.error("", f"must be a table, not {_type(table)}")
        self.table = table
        self.asked: set[str] = set()

    def error(self, key: str, what: str) -> ScenarioError:
        path = self.path + ((key,) if key else ())
        return self.where.error(path, what)

    def take(self, key: str, check: Callable[[Any], Any], default: Any = None, required: bool = False) -> Any:
        self.asked.add(key)
        if key not in self.table:
            if required:
                raise self.error("", f"'{key}' is missing")
            return default
        try:
            return check(self.table[key])
        except ValueError as error:
            raise self.error(key, str(error)) from None

    def table_of(self, key: str) -> "Reader":
        self.asked.add(key)
        return Reader(self.table.get(key, {}), self.where, self.path + (key,))

    def tables_of(self, key: str) -> list["Reader"]:
        self.asked.add(key)
        value = self.table.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"must be [[{key}]] tables, not {_type(value)}")
        return [Reader(item, self.where, self.path + (key, index)) for index, item in enumerate(value)]

    def finish(self) -> None:
        for key in self.table:
            if key not in self.asked:
                known = ", ".join(sorted(self.asked))
                raise self.error(key, f"unknown key (known here: {known})")


class Where:
    """Turns the path of a key into file:line for a message."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.lines = tomllines.key_lines(text)

    def error(self, path: tomllines.Path, what: str) -> ScenarioError:
        key = ".".join(str(part) for part in path)
        return ScenarioError(self.name, tomllines.line_of(self.lines, path), key, what.replace("\n", "\\n"))


def _type(value: Any) -> str:
    names = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", list: "an array"}
    return names.get(type(value), "a table" if isinstance(value, dict) else type(value).__name__)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"must be a string, not {_type(value)}")
    return value


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"must be true or false, not {_type(value)}")
    return value


def integer(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadValue(f"must be an integer, not {_type(value)}")
        if not low <= value <= high:
            raise BadValue(f"{value} is not in {low}..{high}")
        return value

    return check


def number(low: float, high: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadValue(f"must be a number, not {_type(value)}")
        if not low <= value <= high:
            raise BadValue(f"{value} is not in {low}..{high}")
        return value

    return check


def one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in names:
            raise BadValue(f"{value!r} is not one of {', '.join(names)}")
        return str(value)

    return check


def names(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(text(item) for item in items)


def depths(value: Any) -> list[int]:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise BadValue("names no queue depth")
    return [integer(1, 1024)(item) for item in items]


def setting(value: Any) -> str:
    """A value as it is written to the kernel's file."""
    if not isinstance(value, str | int | float):
        raise BadValue(f"must be a string or number, not {_type(value)}")
    written = str(int(value) if isinstance(value, bool) else value)
    if not re.fullmatch(r"\S(.*\S)?", written):
        raise BadValue("must be one line that is not empty")
    return written


def settings(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadValue(f"must be a table, not {_type(value)}")
    found = {}
    for key, item in value.items():
        if not SETTING.fullmatch(key):
            raise BadValue(f"'{key}' is not the name of a setting")
        try:
            found[key] = setting(item)
        except BadValue as error:
            raise BadValue(f"'{key}' {error}") from None
    return found


def label_lists(value: Any) -> dict[str, list[str]]:
    """Labels of [vary] keys: one or an array for each key."""
    if not isinstance(value, dict):
        raise BadValue(f"must be a table, not {_type(value)}")
    if [] in value.values():
        raise BadValue("names no label")
    return {
        key: [str(item) for item in (items if isinstance(items, list) else [items])] for key, items in value.items()
    }


def rows(value: Any) -> list[list[str]]:
    """Rows of a table of texts."""
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise BadValue("must be an array of rows, each an array of strings")
    return [[text(cell) for cell in row] for row in value]


def _disk_set(reader: Reader) -> dict[str, str]:
    """Attributes of the disk; what only the kernel knows of them is asked of it later."""
    found: dict[str, str] = {key: reader.take(key, setting) for key in reader.table}
    for key in found:
        if not SETTING.fullmatch(key):
            raise reader.error(key, "is not the name of an attribute")
    for key, why in DISK_KEYS_OF_THE_RUN.items():
        if key in found:
            raise reader.error(key, why)
    for key in ("size", "blocksize"):
        if not re.fullmatch("[1-9][0-9]*", found.get(key, "1")):
            raise reader.error(key, f"'{found[key]}' is not a whole number above 0")
    if found.get("rot_model") == "0":
        for key in found:
            if key.startswith("rot_") and key != "rot_model":
                raise reader.error(key, "rot_model = 0: there is no rotating disk to have it")
    return found


def _vary(reader: Reader) -> dict[str, dict[str, Any]]:
    vary: dict[str, dict[str, Any]] = {}
    for key in reader.table:

        def check(value: Any, key: str = key) -> dict[str, Any]:
            if isinstance(value, list):
                value = {str(item): item for item in value}
            if not isinstance(value, dict) or not value:
                raise BadValue("must be an array of values or a table of label = value")
            if key == "seed":
                value = {label: integer(0, SEED_MAX)(item) for label, item in value.items()}
            return {str(label): item for label, item in value.items()}

        vary[key] = reader.take(key, check)
    return vary


def _priority(reader: Reader) -> Priority:
    cls = reader.take("class", one_of(*units.CLASSES), required=True)
    if cls == "bw":
        rate = reader.take("rate", units.parse_rate, required=True)
        delay = reader.take("delay_ms", integer(1, 100000), required=True)
        try:
            priority = Priority(units.bw_ioprio(rate, delay), f"BW {rate / units.MIB:g} MiB/s {delay} ms")
        except ValueError as error:
            raise reader.error("", str(error)) from None
    else:
        level = reader.take("level", integer(0, 7), 0 if cls == "idle" else 4)
        priority = Priority(units.level_ioprio(cls, level), f"{cls.upper()} {level}")
    reader.finish()
    return priority


def resolve(value: Any, variant: Variant) -> Any:
    """Put the variant's values in place of $variables."""
    if not isinstance(value, str):
        return value
    whole = VARIABLE.fullmatch(value)
    if whole:
        return variant[whole[1]]
    return VARIABLE.sub(lambda match: str(variant[match[1]]), value)


GROUP_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "count": integer(0, 1000),
    "rate": units.parse_rate,
    "per_s": number(0.001, 1_000_000),
    "period_ms": number(0.001, 1_000_000),
    "size": units.parse_size,
    "chunk": units.parse_size,
    "deadline_ms": number(0.001, 1_000_000),
    "start_ms": number(0, 1_000_000),
    "step_ms": number(0, 1_000_000),
    "spread_ms": number(0, 1_000_000),
    "think_ms": number(0, 1_000_000),
    "fsync_every": integer(0, 1_000_000_000),
    "reads": integer(0, 1_000_000_000),
    "files": integer(1, 1_000_000),
}


def group_numbers(group: Group, variant: Variant) -> dict[str, Any]:
    """The numbers of a group for one variant, checked."""
    return {
        key: GROUP_NUMBERS[key](resolve(value, variant)) for key, value in group.raw.items() if key in GROUP_NUMBERS
    }


def _group(reader: Reader, vary: dict[str, dict[str, Any]]) -> Group:
    name = reader.take("name", text, required=True)
    kind = reader.take("kind", one_of(*KINDS), required=True)
    raw: dict[str, Any] = {}
    for key, check in GROUP_NUMBERS.items():

        def may_vary(value: Any, check: Callable[[Any], Any] = check) -> Any:
            unknown = [used for used in VARIABLE.findall(value) if used not in vary] if isinstance(value, str) else []
            if unknown:
                raise BadValue(f"${unknown[0]} is not a key of [vary]")
            used = VARIABLE.findall(value) if isinstance(value, str) else []
            # check it for every value that it will take
            for combination in itertools.product(*(vary[key].items() for key in used)):
                check(resolve(value, {key: item for key, (_, item) in zip(used, combination, strict=True)}))
            if not used:
                check(value)
            return value

        value = reader.take(key, may_vary)
        if value is not None:
            raw[key] = value
    raw.setdefault("count", 1)
    file = reader.take("file", text, "media")
    for used in VARIABLE.findall(file):
        if used not in vary:
            raise reader.error("file", f"${used} is not a key of [vary]")
    when: dict[str, str] = {}
    for key, labels in reader.take("when", label_lists, {}).items():
        if len(labels) > 1:
            raise reader.error("when", f"{key} can have one value here, not {len(labels)}")
        when[key] = labels[0]
    for key, label in when.items():
        if label not in vary.get(key, {}):
            raise reader.error("when", f"[vary] has no {key} = {label}")
    priorities = {}
    priority = reader.table_of("priority")
    for policy in priority.table:
        priorities[policy] = _priority(priority.table_of(policy))
    group = Group(
        at=reader.path,
        name=name,
        kind=kind,
        raw=raw,
        file=file,
        write=reader.take("op", one_of("read", "write"), "read") == "write",
        direct=reader.take("direct", boolean, False),
        catch_up=reader.take("catch_up", boolean, "deadline_ms" in raw),
        priorities=priorities,
        when=when,
    )
    reader.finish()
    if kind == "paced" and not ("rate" in raw or "period_ms" in raw):
        raise reader.error("", "a paced group needs 'rate' or 'period_ms'")
    if "rate" in raw and ("period_ms" in raw or "per_s" in raw):
        raise reader.error("rate", "give one of rate, period_ms and per_s")
    if kind == "greedy" and any(key in raw for key in ("rate", "period_ms", "per_s")):
        raise reader.error("", 'a greedy group has no rate; use kind = "paced"')
    if (kind != "tree" or "rate" in raw) and "size" not in raw:
        raise reader.error("", "'size' is missing")
    if "deadline_ms" in raw and not (kind == "paced"):
        raise reader.error("deadline_ms", "only a paced group has deadlines")
    return group


def _select(value: Any, where: Where, path: tomllines.Path) -> Select:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Select(constant=float(value))
    reader = Reader(value, where, path)
    select = Select(
        metric=reader.take("metric", one_of(*METRICS), required=True),
        groups=reader.take("groups", names, ()),
        config=reader.take("config", names, ()),
        depth=tuple(reader.take("depth", depths, [])),
        vary={key: tuple(items) for key, items in reader.take("vary", label_lists, {}).items()},
        reduce=reader.take("reduce", one_of(*REDUCES), "sum"),
        over=reader.take("over", one_of("each", "min", "max", "mean", "sum"), "each"),
        factor=reader.take("factor", number(-1e12, 1e12), 1.0),
    )
    reader.finish()
    return select


def _expect(reader: Reader) -> Expect:
    says = reader.take("says", text, required=True)
    needs = reader.take("needs", names, ())
    for need in needs:
        if need != "bw":
            raise reader.error("needs", f"'{need}' is not a known need (known: bw)")
    left = _select(reader.take("left", lambda value: value, required=True), reader.where, reader.path + ("left",))
    sequence = reader.take("increases", text, "")
    order = reader.take("falls_along", names, ())
    if sequence or order:
        right, op = Select(constant=0.0), ">"
    else:
        op = reader.take("op", one_of(*OPS), required=True)
        value = reader.take("right", lambda value: value, required=True)
        right = _select(value, reader.where, reader.path + ("right",))
    reader.finish()
    return Expect(says, left, op, right, needs, sequence, order)


def _check_names(scenario: Scenario, readers: list[Reader], view_readers: list[Reader]) -> None:
    """What expectations and views name must exist."""
    known_groups = {group.name for group in scenario.groups}
    known_configs = {config.name for config in scenario.configs}

    def check(reader: Reader, key: str, used: tuple[str, ...], known: set[str], what: str) -> None:
        for name in used:
            if name not in known:
                raise reader.error(key, f"no {what} '{name}' (known: {', '.join(sorted(known))})")

    for expect, reader in zip(scenario.expects, readers, strict=True):
        for side, select in (("left", expect.left), ("right", expect.right)):
            check(reader, side, select.groups, known_groups, "group")
            check(reader, side, select.config, known_configs, "config")
            for key, labels in select.vary.items():
                check(reader, side, (key,), set(scenario.vary), "[vary] key")
                check(reader, side, labels, set(scenario.vary[key]), f"{key}")
        check(reader, "falls_along", expect.order, known_configs, "config")
        if expect.sequence:
            check(reader, "increases", (expect.sequence,), set(scenario.vary), "[vary] key")
    for view, reader in zip(scenario.views, view_readers, strict=True):
        check(reader, "groups", view.groups, known_groups, "group")
        check(reader, "config", view.configs, known_configs, "config")


def parse(name: str, path: Path, source: str) -> Scenario:
    try:
        data = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        what = re.sub(r" \(at line .*", "", str(error))
        raise ScenarioError(path.name, int(found[1]) if found else None, "", f"not TOML: {what}") from None
    where = Where(path.name, source)
    top = Reader(data, where, ())

    vary = _vary(top.table_of("vary"))
    groups = [_group(reader, vary) for reader in top.tables_of("group")]
    if not groups:
        raise top.error("", "no [[group]]: nobody would read anything")
    seen: set[str] = set()
    for index, group in enumerate(groups):
        if group.name in seen:
            raise where.error(("group", index, "name"), f"two groups are called '{group.name}'")
        seen.add(group.name)

    policies = {policy for group in groups for policy in group.priorities} | {"none"}

    def policy_name(value: Any) -> str:
        if text(value) not in policies:
            raise BadValue(f"no group has a priority.{value} (known: {', '.join(sorted(policies))})")
        return str(value)

    depth = top.take("depth", depths, [1])
    default_policy = top.take("policy", policy_name, "none")

    def variants(value: Any) -> dict[str, list[str]]:
        allowed = label_lists(value)
        for key, labels in allowed.items():
            for label in labels:
                if label not in vary.get(key, {}):
                    raise BadValue(f"[vary] has no {key} = {label}")
        return allowed

    stock_only = top.take("schedulers_only", variants, {})
    stock_depth = top.take("schedulers_depth", depths, depth)
    configs = [
        Config(("schedulers",), scheduler, scheduler, {}, {}, {}, default_policy, "", stock_depth, stock_only)
        for scheduler in top.take("schedulers", names, ())
    ]
    for reader in top.tables_of("config"):
        scheduler = reader.take("scheduler", text, required=True)
        config = Config(
            at=(*reader.path, "scheduler"),
            name=reader.take("name", text, scheduler),
            scheduler=scheduler,
            tunables=reader.take("set", settings, {}),
            bw_tunables=reader.take("bw_set", settings, {}),
            queue=reader.take("queue", settings, {}),
            policy=reader.take("policy", policy_name, default_policy),
            fallback=reader.take("fallback", policy_name, ""),
            depth=reader.take("depth", depths, depth),
            only=reader.take("only", variants, {}),
        )
        reader.finish()
        if scheduler == "none" and (config.tunables or config.bw_tunables):
            raise reader.error("set" if config.tunables else "bw_set", "scheduler none has no tunables")
        configs.append(config)
    if not configs:
        raise top.error("", "no schedulers: give schedulers = [...] or [[config]]")
    for index, config in enumerate(configs):
        if any(config.name == other.name for other in configs[:index]):
            raise where.error(config.at[:2], f"two configurations are called '{config.name}'")

    expect_readers = top.tables_of("expect")
    views = []
    view_readers = top.tables_of("view")
    for reader in view_readers:
        views.append(
            View(
                title=reader.take("title", text, required=True),
                metric=reader.take("metric", one_of(*METRICS), required=True),
                groups=reader.take("groups", names, ()),
                reduce=reader.take("reduce", one_of(*REDUCES), "sum"),
                rows=reader.take("rows", one_of("group", "process", *vary), next(iter(vary), "group")),
                unit=reader.take("unit", one_of(*units.SCALES), ""),
                configs=reader.take("config", names, ()),
            )
        )
        reader.finish()
    published = []
    for reader in top.tables_of("published"):
        published.append(
            {
                "caption": reader.take("caption", text, required=True),
                "columns": reader.take("columns", names, required=True),
                "rows": reader.take("rows", rows, required=True),
            }
        )
        if any(len(row) != len(published[-1]["columns"]) for row in published[-1]["rows"]):
            raise reader.error("rows", "a row has not as many cells as there are columns")
        reader.finish()

    scenario = Scenario(
        where=where,
        name=name,
        path=path,
        title=top.take("title", text, required=True),
        about=top.take("about", text, "").strip(),
        source=top.take("source", text, ""),
        must_show=top.take("must_show", text, ""),
        differences=top.take("differences", text, "").strip(),
        disk=top.take("disk", text, required=True),
        disk_set=_disk_set(top.table_of("disk_set")),
        duration_s=top.take("duration_s", number(0.01, 100_000), required=True),
        seed=top.take("seed", integer(0, SEED_MAX), 1),
        vary=vary,
        groups=groups,
        configs=configs,
        expects=[_expect(reader) for reader in expect_readers],
        views=views,
        published=published,
    )
    top.finish()
    _check_names(scenario, expect_readers, view_readers)
    return scenario


def load(path: Path) -> Scenario:
    try:
        source = path.read_text()
    except OSError as error:
        raise ScenarioError(str(path), None, "", f"{error.strerror}; `lab list` names the scenarios") from None
    except UnicodeDecodeError:
        raise ScenarioError(path.name, None, "", "not a text file in UTF-8") from None
    return parse(path.stem, path, source)
