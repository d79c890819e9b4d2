# SPDX-License-Identifier: GPL-2.0
"""A scenario: a disk, groups of processes, the schedulers to compare, and the runs that they ask for.

Structs whose names end in Keys are tables of a scenario file as it has them; `lab keys` prints their descriptions.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from . import cgroups, tomllines, units
from .errors import BadValue
from .reading import Depths, Labels, Names, Rate, Settings, Size, Value, Where, convert

VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")

Vary = dict[str, dict[str, Value]]  # key -> label -> value
Variant = dict[str, Value]  # a value for each key of [vary]

Metric = Literal[
    "bytes_per_s", "bytes", "own_bytes_per_s", "reads", "reads_per_s", "misses", "expected", "lost", "files_per_s",
    "met_percent", "latency_mean_ms", "latency_p25_ms", "latency_p50_ms", "latency_p75_ms", "latency_p90_ms",
    "latency_p99_ms", "latency_p999_ms", "latency_max_ms", "below_50_ms", "below_100_ms", "below_125_ms",
    "below_250_ms", "below_500_ms", "below_1000_ms", "read_command_mean_kib", "read_command_max_kib",
    "write_command_mean_kib", "write_command_max_kib", "bw_met", "bw_missed",
]
Reduce = Literal["sum", "min", "max", "mean", "ratio"]
Over = Literal["each", "min", "max", "mean", "median", "sum"]


def resolve(value: Value, variant: Variant) -> Value:
    """Replace $variables by the variant's values."""
    if not isinstance(value, str):
        return value
    whole = VARIABLE.fullmatch(value)
    if whole:
        return variant[whole[1]]
    return VARIABLE.sub(lambda match: str(variant[match[1]]), value)


class Numbers(Struct, frozen=True, forbid_unknown_fields=True):
    """A group's numbers in one variant, in the units of the scenario file."""

    count: Annotated[int, Meta(ge=0, le=1000, description="number of processes")] = 1
    rate: Annotated[Rate | None, Meta(description="pace: bytes a second, as `3MiB/s`")] = None
    per_s: Annotated[float, Meta(ge=0.001, le=1_000_000, description="pace: operations a second")] | None = None
    period_ms: Annotated[float, Meta(
        ge=0.001, le=1_000_000, description="pace: time from one operation to the next")] | None = None
    size: Annotated[Size, Meta(description="bytes of an operation, as `64KiB`; with `direct` a multiple of the"
                               " disk's block size (`blocksize`, 512)")] = Size(0)
    chunk: Annotated[Size, Meta(description="bytes of a system call, if less than `size`")] = Size(0)
    deadline_ms: Annotated[float, Meta(
        ge=0.001, le=1_000_000, description="paced groups: an operation misses its deadline when it has not returned"
        " this long after its time, or was never issued. Paced, sequential and random groups: the limit of"
        " `met_percent`")] = 0
    buffer_ms: Annotated[float, Meta(ge=0.001, le=1_000_000, description="paced groups: an operation that would begin"
                                     " this long after its time is left out and counts as lost")] = 0
    start_ms: Annotated[float, Meta(ge=0, le=1_000_000, description="start of the first process")] = 0
    step_ms: Annotated[float, Meta(ge=0, le=1_000_000, description="time between the starts of two processes")] = 0
    spread_ms: Annotated[float, Meta(ge=0, le=1_000_000, description="time over which the starts are spread; default:"
                                     " 1000 with a pace, otherwise 0")] | None = None
    think_ms: Annotated[float, Meta(ge=0, le=1_000_000, description="pause after each operation")] = 0
    burst: Annotated[int, Meta(ge=1, le=10**9, description="operations between two pauses of `pause_ms`")] = 1
    pause_ms: Annotated[float, Meta(ge=0, le=1_000_000, description="longest pause; each is drawn at random")] = 0
    swing: Annotated[Size, Meta(description="largest difference of an operation to `size`; drawn at random, in steps"
                                " of 1 KiB; for buffered sequential operations")] = Size(0)
    fsync_every: Annotated[int, Meta(ge=0, le=10**9, description="operations between two fsync; 0: none")] = 0
    reads: Annotated[int, Meta(ge=0, le=10**9, description="number of operations; 0: until the end")] = 0
    memory: Annotated[Size, Meta(description="memory of each process, of which each operation uses the next 64 KiB")
                      ] = Size(0)
    files: Annotated[int, Meta(ge=1, le=1_000_000, description="files of a tree")] = 20_000

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


class PriorityKeys(Struct, frozen=True, forbid_unknown_fields=True):
    """The I/O priority of a group."""

    cls: Annotated[Literal["rt", "be", "idle", "bw"], Meta(description="class")] = msgspec.field(name="class")
    level: Annotated[int, Meta(ge=0, le=7, description="not of `bw`; default: 4, of `idle` 0")] | None = None
    rate: Annotated[Rate | None, Meta(description="of `bw`: reserved bandwidth, a multiple of 128 KiB/s")] = None
    delay_ms: Annotated[int, Meta(ge=1, le=100_000, description="of `bw`: 25, 50, 100, 200, 500, 800, 1000 or 2000")] \
        | None = None

    @classmethod
    def read(cls, value: Value) -> Priority:
        return convert(value, cls).priority()

    def priority(self) -> Priority:
        for key in ("level",) if self.cls == "bw" else ("rate", "delay_ms"):
            if getattr(self, key) is not None:
                raise BadValue(f"class {self.cls} has no {key}", key)
        if self.cls != "bw":
            level = self.level if self.level is not None else 0 if self.cls == "idle" else 4
            return Priority(units.level_ioprio(self.cls, level), f"{self.cls.upper()} {level}")
        if self.rate is None or self.delay_ms is None:
            raise BadValue(f"'{'rate' if self.rate is None else 'delay_ms'}' is missing")
        try:
            ioprio = units.bw_ioprio(self.rate, self.delay_ms)
        except ValueError as error:
            raise BadValue(str(error)) from None
        return Priority(ioprio, f"BW {self.rate / units.MIB:g} MiB/s {self.delay_ms} ms")


@dataclass(frozen=True)
class Priority:
    """What ioprio_set is given, and whether the kernel needs the BW class."""

    ioprio: int
    text: str

    @property
    def needs_bw(self) -> bool:
        return units.ioprio_class(self.ioprio) == units.CLASSES["bw"]


class Priorities(dict[str, Priority]):
    """Priorities by policy."""

    @classmethod
    def read(cls, value: Value) -> Priorities:
        found = cls()
        for policy, keys in convert(value, dict[str, Any]).items():
            try:
                found[policy] = PriorityKeys.read(keys)
            except BadValue as error:
                raise BadValue(str(error), policy, *error.path) from None
        return found


class GroupKeys(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[[group]]`: processes that differ in their file and start only. Numbers may be `"$VARIABLE"`."""

    name: Annotated[str, Meta(description="of the group, in results")]
    kind: Annotated[Literal["paced", "greedy", "random", "tree", "copy"], Meta(
        description="`paced`: an operation each period; `greedy`: sequential, closed-loop; `random`: with a pace or"
        " closed-loop; `tree`: a walk over many files; `copy`: sequential reads, each written to a new file")]
    op: Annotated[Literal["read", "write", "rewrite"], Meta(
        description="`rewrite`: the same place is read before it is written")] = "read"
    file: Annotated[str, Meta(
        description="on the disk: `media` (drawn at random), `media:3,1`, `block:1GiB` (one after the other;"
        " `block:8GiB+1GiB`: from 8 GiB on), `at:100GiB+8GiB` (the same for all), `db`, `tree`, `disk`, `outer`,"
        " `inner`, `edges`; with a `filesystem`: `own:3GiB` (a file of this size for each process), `new` (a new file"
        " for each, to append to)")] = "media"
    direct: Annotated[bool, Meta(description="O_DIRECT")] = False
    catch_up: Annotated[bool | None, Meta(description="whether a process behind its pace hurries; default: with a"
                                          " deadline or a buffer")] = None
    priority: Annotated[Priorities, Meta(description="`priority.POLICY`: see below")] = msgspec.field(
        default_factory=Priorities)
    when: Annotated[Labels, Meta(description="only in these variants, as `{ load = \"full\" }`; one label or several"
                                 " for each key")] = msgspec.field(default_factory=Labels)
    cgroup: Annotated[cgroups.Name, Meta(description="control group of the processes, below the root; made for each"
                                         " run")] = cgroups.Name("")


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
    when: dict[str, tuple[str, ...]]
    cgroup: str = ""  # control group that its processes are in; empty: the root
    rewrite: bool = False  # what is written has been read before, in the same place

    def active(self, labels: dict[str, str]) -> bool:
        return all(labels.get(key) in values for key, values in self.when.items())

    def numbers(self, variant: Variant) -> Numbers:
        return convert({key: resolve(value, variant) for key, value in self.raw.items()}, Numbers)


class ConfigKeys(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[[config]]`: a scheduler with settings of its own."""

    scheduler: Annotated[str, Meta(description="the kernel's name")]
    name: Annotated[str, Meta(description="in results; default: the scheduler's")] = ""
    policy: Annotated[str | None, Meta(description="which `priority` of each group is used; default: the"
                                       " scenario's")] = None
    depth: Annotated[Depths | None, Meta(description="queue depths of the drive; default: the scenario's")] = None
    only: Annotated[Labels, Meta(description="only these values of `[vary]`, as `{ N = [1] }`")] = msgspec.field(
        default_factory=Labels)
    tunables: Annotated[Settings, Meta(description="values for `queue/iosched/`")] = msgspec.field(
        name="set", default_factory=Settings)
    bw_tunables: Annotated[Settings, Meta(
        description="values for `queue/iosched/` on a kernel with the BW class")] = msgspec.field(
        name="bw_set", default_factory=Settings)
    queue: Annotated[Settings, Meta(description="values for `queue/`")] = msgspec.field(default_factory=Settings)
    fallback: Annotated[str | None, Meta(
        description="policy on a kernel without the BW class; without it such a run is left out as `needs-bw`")] = None
    cgroups: Annotated[cgroups.Files, Meta(
        description="`cgroup.NAME`: files of a control group of the groups, or of `root`, and their values. A value"
        " that begins with `DEV` is for the disk: `{ \"io.bw\" = \"DEV bps=16000000\" }`")] = msgspec.field(
        name="cgroup", default_factory=cgroups.Files)

    @property
    def called(self) -> str:
        """The name in results."""
        return self.name or self.scheduler


@dataclass(frozen=True)
class Config:
    """One scheduler with its tunables and the policy of priorities used."""

    at: tomllines.Path  # of the scheduler's name in the scenario file
    name: str
    scheduler: str
    policy: str
    depth: tuple[int, ...]
    only: dict[str, tuple[str, ...]]
    tunables: dict[str, str] = field(default_factory=dict)
    bw_tunables: dict[str, str] = field(default_factory=dict)  # only where the kernel has the BW class
    queue: dict[str, str] = field(default_factory=dict)
    fallback: str = ""
    cgroups: dict[str, dict[str, str]] = field(default_factory=dict)  # of control groups, their files


class SelectKeys(Struct, frozen=True, forbid_unknown_fields=True):
    """One side of an expectation, when it is not a number."""

    metric: Annotated[Metric, Meta(description="see below")]
    groups: Annotated[Names, Meta(description="groups; default: all")] = Names()
    config: Annotated[Names, Meta(
        description="configurations; `baselines`: each of those; default: all")] = Names()
    depth: Annotated[Depths, Meta(description="queue depths; default: all")] = Depths()
    vary: Annotated[Labels, Meta(description="variants, as `{ N = 1 }`; default: all")] = msgspec.field(
        default_factory=Labels)
    fewest: Annotated[Literal["lost", "misses"] | None, Meta(
        description="of the runs of a depth and variant only those of which all processes together have fewest")] = None
    reduce: Annotated[Reduce, Meta(description="one value of the processes of a run; `ratio`: min to max")] = "sum"
    over: Annotated[Over, Meta(description="one value of the runs, or `each` of them")] = "each"
    factor: Annotated[float, Meta(ge=-1e12, le=1e12, description="the value is multiplied by it")] = 1.0


@dataclass(frozen=True)
class Select:
    """One side of an expectation: a number made from the cells it selects."""

    metric: str = ""
    groups: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    depth: tuple[int, ...] = ()
    vary: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fewest: str | None = None
    reduce: str = "sum"
    over: str = "each"
    factor: float = 1.0
    constant: float | None = None

    def without(self, key: str) -> Select:
        """The same where nothing varies by a key."""
        return replace(self, vary={name: labels for name, labels in self.vary.items() if name != key})


class ExpectKeys(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[expect]]`: what is expected of the results. The outcome is pass, fail, needs-bw or not-run."""

    says: Annotated[str, Meta(description="the expectation in words")]
    left: Annotated[SelectKeys | float, Meta(description="a number, or a table: see below")]
    op: Annotated[Literal["<", "<=", "==", ">=", ">"] | None, Meta(
        description="comparison: of each run of `left` with each of `right` of the same depth and variant, or with all"
        " of `right` if it has no such run")] = None
    right: Annotated[SelectKeys | float | None, Meta(description="as `left`")] = None
    needs: Annotated[Names, Meta(description="`[\"bw\"]`: only on a kernel with the BW class")] = Names()
    increases: Annotated[str, Meta(description="instead of `op`: a key of `[vary]` along which `left` grows")] = ""
    falls_along: Annotated[Names, Meta(description="instead of `op`: configurations in which `left` falls")] = Names()


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


class View(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[view]]`: a table and a plot of one value of each run."""

    title: Annotated[str, Meta(description="its title")]
    metric: Annotated[Metric, Meta(description="see below")]
    groups: Annotated[Names, Meta(description="groups; default: all")] = Names()
    reduce: Annotated[Reduce, Meta(description="one value of the processes; `ratio`: min to max")] = "sum"
    rows: Annotated[str, Meta(description="a key of `[vary]`, `group` or `process`; default: the first key, or"
                              " `group`")] = ""
    unit: Annotated[Literal["", "%", "ms", "s", "reads/s", "MiB/s", "MiB", "KiB/s", "KB/s"], Meta(
        description="what values are divided by; `ms`, `reads/s` and `%` leave them as they are")] = ""
    configs: Annotated[Names, Meta(description="configurations; default: all")] = msgspec.field(
        name="config", default=Names())


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[published]]`: a table of the experiment that a scenario follows."""

    caption: Annotated[str, Meta(description="its caption")]
    columns: Annotated[Names, Meta(description="heads of the columns")]
    rows: Annotated[list[list[str]], Meta(description="an array of strings for each row")]


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
    settings: str  # of the disk's queue: a name or a $variable
    fragmented: bool  # free memory before the run
    swap: int  # bytes of a file to swap to, in the file system; 0: none
    cgroups: dict[str, dict[str, str]]  # of control groups, their files, under every configuration
    duration_s: float
    seed: int
    vary: Vary
    groups: list[Group]
    configs: list[Config]
    expects: list[Expect]
    views: list[View]
    published: list[Published]
    digest: str = field(default="", compare=False)  # of what the file says about runs

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

    def with_settings(self, name: str) -> Scenario:
        """The scenario with one kind of settings of the disk's queue, instead of its own or those that it varies."""
        varied = self.settings.removeprefix("$")
        vary = {key: labels for key, labels in self.vary.items() if key != varied}
        rows = next(iter(vary), "group")
        return replace(
            self, settings=name, vary=vary,
            views=[msgspec.structs.replace(view, rows=rows) if view.rows == varied else view for view in self.views],
            expects=[replace(one, left=one.left.without(varied), right=one.right.without(varied))
                     for one in self.expects if all(name in side.vary.get(varied, [name])
                                                    for side in (one.left, one.right))],
            configs=[replace(one, only={k: v for k, v in one.only.items() if k != varied}) for one in self.configs])

    def _variants(self, config: Config) -> list[dict[str, str]]:
        """A label for each key of [vary], in all ways that the configuration allows."""
        combinations = (dict(zip(self.vary, labels, strict=True)) for labels in itertools.product(*self.vary.values()))
        return [
            labels
            for labels in combinations
            if all(labels[key] in allowed for key, allowed in config.only.items())
        ]
