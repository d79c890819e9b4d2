# SPDX-License-Identifier: GPL-2.0
"""Loads drawn at random, to find those under which cfq breaks a promise or a baseline is much better.

A load is drawn from a seed and a number, and is the same on every machine. It runs under cfq, with reservations, and
under each baseline of baselines.toml, with the reservation holders in class RT. Scores compare cfq with each baseline;
more is worse. See Kind for what is compared, and BOUNDS for what is a finding.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tools.testbed.disk import capacity, characteristics

from ..model import baselines, schema, units
from ..model.disks import Disk
from ..model.results import CellResult, ProcessResult, Result
from ..model.scenario import ConfigKeys, Scenario
from ..model.units import KIB, MIB, NSEC_PER_MSEC
from . import matrix, scores
from .matrix import DISKS, SETTINGS, TAGS

DURATION_S = 20
OURS = "cfq"
PROCESSES = 60
DELAYS_MS = (100, 200, 500, 800, 1000)
CAMERA_DELAY_MS = 500
# Of a sequential reader that reads as much as it can: bytes a second, and the delay in ms.
GREEDY_RESERVATION = 2 * MIB, 1000
BUCKET_MS = 3000  # what a reservation may save up
PLACED = 128 * MIB  # of a reader's file at the outer edge, where all of them lie in the first zone
OTHERS = "others"  # the control group of all without a reservation, where control groups have reservations
FILES_MIB = 3072  # of the files of a group together: more than the guest's page cache
SIZES = tuple(512 << power for power in range(16))  # 512 B to 16 MiB
LEAST_BUFFERED = 32 * KIB  # of sequential operations through the page cache: smaller ones make the same requests


class Kind(enum.StrEnum):
    """What is compared; the value is the name in results."""

    PROMISE = "promise"  # reads with a reservation that miss its delay, against none
    REQUEST = "requests"  # with a reservation, reads and writes, that miss its delay by cfq's own counter, against none
    WAIT = "longest wait"  # of any process that is not in class idle
    BEST_EFFORT = "best effort"  # its bytes, and those of readers that read more than is reserved for them
    IDLE = "class idle"  # its bytes
    LOST = "frames lost"
    FSYNC = "fsync p99"  # of processes whose 99th percentile has an fsync
    UNFAIRNESS = "unfairness"  # fastest to slowest of equal closed-loop processes


BOUNDS = {Kind.WAIT: 2.0, Kind.BEST_EFFORT: 1.4, Kind.IDLE: 1.4, Kind.LOST: 1.4, Kind.FSYNC: 1.4,
          Kind.UNFAIRNESS: 1.4}
MORE_IS_BETTER = {Kind.BEST_EFFORT, Kind.IDLE}
SHORTEST_MS = 25.0  # waits and fsyncs below it, of about two requests, are equally good


@dataclass(frozen=True)
class Load:
    """A load: the keys of a scenario file, and of its groups."""

    top: dict[str, Any]
    tags: int
    groups: tuple[dict[str, Any], ...]
    disk_set: dict[str, str] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        return sum(group.get("count", 1) for group in self.groups)

    def queue_of(self, scheduler: str, queue: Mapping[str, str]) -> dict[str, str]:
        """The files of queue/ under a scheduler, with the load's tags."""
        return baselines.with_tags(scheduler, queue, self.tags, self.top["settings"])


# --- drawing ----------------------------------------------------------------------------------


def class_of(group: Mapping[str, Any]) -> str:
    """Under cfq: bw for all that have a reservation, of class BW or of their control group."""
    found: str = group["priority"]["bw"]["class"]
    return "bw" if group.get("cgroup", OTHERS) != OTHERS else found


def share(groups: Iterable[Mapping[str, Any]], disk: Disk) -> float:
    """The share of a disk's time that the reservations of groups need, where their files are, with best effort's.

    As the kernel's io.bw.model has it: each stream takes its rate, and a positioning within each delay.
    """
    known = characteristics.compute(disk.attributes)
    each_ms = capacity.positioning_ms(known)
    needs: list[float] = []
    for group in groups:
        if class_of(group) == "bw":
            rate, delay_ms = _reservation(group)
            placed = group.get("file", "").startswith("block:")
            slowest = known.outer_mbps * 1e6 / MIB if placed else capacity.inner_mib(known)
            needs.append(group["count"] * (rate / MIB / slowest + each_ms / delay_ms))
    return sum(needs) + 1 - capacity.SHARE_PERCENT / 100


def _reservation(group: Mapping[str, Any]) -> tuple[int, int]:
    """What each process of a group has reserved: bytes a second, and the delay in milliseconds."""
    if group["kind"] == "greedy":
        return GREEDY_RESERVATION
    if "buffer_ms" in group:
        return units.parse_size(group["size"]) * 1000 // group["period_ms"], CAMERA_DELAY_MS
    keys = group["priority"]["bw"]
    return units.parse_size(group["rate"].removesuffix("/s")), keys.get("delay_ms", group["deadline_ms"])


def admitted(load: Load, disk: Disk) -> bool:
    """Whether the disk can serve what is reserved."""
    return share(load.groups, disk) <= 1 - capacity.MARGIN


def _reader(draw: Random, rate: int, period_ms: int) -> dict[str, Any]:
    """A group of processes that read in each period what they have reserved for that time."""
    return {"kind": "paced", "count": draw.choice((1, 1, 2, 4, 8)), "rate": f"{rate}MiB/s",
            "size": f"{rate * period_ms * MIB // 1000 // (4 * KIB) * 4 * KIB}B", "direct": draw.random() < 0.5,
            "deadline_ms": period_ms, "spread_ms": draw.choice((0, 1000)), "start_ms": draw.choice((0, 0, 3000))}


def _own(count: int) -> str:
    """The files of a group: of that many processes, none of which reads its file twice."""
    return f"own:{max(FILES_MIB // count, 256)}MiB"


def _camera(draw: Random) -> dict[str, Any]:
    """The keys of a process that writes 4 Mbit/s and syncs."""
    return {"kind": "paced", "op": "write", "size": "20000B", "period_ms": 40, "spread_ms": 2000, "buffer_ms": 4000,
            "fsync_every": draw.choice((25, 50, 250)), "file": "new"}


def _reserved(draw: Random, disk: Disk, filesystem: str) -> list[dict[str, Any]]:
    """Processes whose reservations are half to all of what the disk can serve.

    On a file system a control group has the reservation, on the raw device a control group or class BW.
    """
    most = draw.uniform(0.5, 1.0) * (1 - capacity.MARGIN)
    by_group = bool(filesystem) or draw.random() < 0.3
    placed = not filesystem and draw.random() < 0.3
    groups: list[dict[str, Any]] = []
    for number in range(40):
        name, rate, delay_ms = f"reserved{number}", draw.choice((1, 2, 3, 5)), draw.choice(DELAYS_MS)
        # in class BW also less often, and more at once: what is asked for beyond the delay is due when it is needed
        period_ms = delay_ms if by_group else max(delay_ms, min(BUCKET_MS, delay_ms * draw.choice((1, 1, 2, 4))))
        if by_group and draw.random() < 0.15:
            group = {"name": name, "count": 1, "kind": "greedy", "size": "1MiB"}
            group |= {"file": _own(1)} if filesystem else {}
        elif filesystem and draw.random() < 0.5:
            group = {"name": name, "count": draw.choice((4, 8, 16)), **_camera(draw)}
        else:
            group = {"name": name, **_reader(draw, rate, period_ms)}
            if filesystem:
                group["file"] = _own(FILES_MIB // 256)
            elif placed:
                before = sum(one["count"] for one in groups)
                group["file"] = f"block:{before * PLACED // MIB + 1}MiB+{PLACED // MIB}MiB"
        if by_group:
            group |= {"cgroup": name,
                      "priority": {"bw": {"class": "be", "level": 4}, "rt": {"class": "rt", "level": 4}}}
        else:
            group["priority"] = {"bw": {"class": "bw", "rate": group["rate"], "delay_ms": delay_ms},
                                 "rt": {"class": "rt", "level": 4}}
        if sum(one["count"] for one in [*groups, group]) > PROCESSES * 2 // 3:
            break
        if share([*groups, group], disk) <= most:
            groups.append(group)
    return groups


def reserved_by_group(groups: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The control groups that have a reservation, with their line of io.bw."""
    lines = {}
    for group in groups:
        if group.get("cgroup", OTHERS) != OTHERS:
            rate, delay_ms = _reservation(group)
            lines[group["cgroup"]] = {"io.bw": f"DEV bps={group['count'] * rate} delay={delay_ms * 1000}"}
    return lines


def _priority(draw: Random, reserved: bool) -> dict[str, Any]:
    """Of a process without a reservation: mostly that of most processes.

    @reserved: others have one, whose admission does not count class RT
    """
    keys: dict[str, Any] = {"class": draw.choices(("be", "idle", "rt"), (80, 15, 0 if reserved else 10))[0]}
    if keys["class"] != "idle":
        keys["level"] = draw.randint(0, 7) if draw.random() < 0.3 else 4
    return {"priority": {"bw": keys, "rt": keys}}


def _on_device(draw: Random) -> dict[str, Any]:
    """A group of processes that use the raw device."""
    kind = draw.choice(("greedy", "greedy", "random", "random", "paced", "tree"))
    if kind == "tree":
        return {"kind": "tree", "file": "tree"}
    op = draw.choice(("read", "read", "read", "write", "rewrite"))
    group: dict[str, Any] = {"kind": kind, "op": op, "direct": draw.random() < 0.5}
    size = draw.choice(SIZES)
    if op != "read" and draw.random() < 0.3:
        group["fsync_every"] = draw.choice((1, 10, 100))
    if kind == "greedy" and not group["direct"]:
        size = max(size, LEAST_BUFFERED)
    if kind == "paced":
        size = max(size, 4 * KIB)
        group["period_ms"] = draw.choice((20, 100, 500, 1000))
    if kind == "random":
        group["file"] = draw.choice(("db", "disk"))
        if draw.random() < 0.5:
            group["per_s"] = draw.choice((1, 5, 20, 60))
    return group | {"size": f"{size}B"} | _pauses(draw, kind)


def _pauses(draw: Random, kind: str) -> dict[str, Any]:
    """Of three processes in ten that do not have a pace: a pause after each operation, or now and then a long one."""
    if kind == "paced" or draw.random() >= 0.3:
        return {}
    if draw.random() < 0.5:
        return {"think_ms": draw.choice((1, 5, 20))}
    return {"burst": draw.choice((10, 100)), "pause_ms": draw.choice((100, 1000))}


def _on_filesystem(draw: Random, count: int) -> dict[str, Any]:
    """A group of so many processes that use files of a file system."""
    kind = draw.choice(("camera", "syncer", "copy", "reader", "player", "random", "writer", "database"))
    direct, least = draw.random() < 0.3, draw.choice(SIZES[3:])
    size = f"{least}B"
    if kind == "camera":
        return _camera(draw)
    if kind == "syncer":
        return {"kind": "paced", "op": "write", "size": draw.choice(("4KiB", "64KiB", "1MiB")),
                "period_ms": draw.choice((100, 1000)), "fsync_every": 1, "file": "new"}
    if kind == "copy":
        return {"kind": "copy", "size": "128KiB", "file": _own(count)}
    if kind == "database":
        return {"kind": "random", "op": "rewrite", "size": draw.choice(("4KiB", "16KiB")), "fsync_every": 1,
                "direct": direct, "file": _own(count)}
    if kind == "player":
        return {"kind": "paced", "size": size, "period_ms": draw.choice((200, 1000)), "direct": direct,
                "file": _own(count)}
    if kind == "random":
        return {"kind": "random", "size": size, "direct": direct, "file": _own(count), **_pauses(draw, kind)}
    if not direct or kind == "writer":
        size = f"{max(least, LEAST_BUFFERED)}B"
    if kind == "writer":
        return {"kind": "greedy", "op": "write", "size": size, "file": "new", **_pauses(draw, kind)}
    return {"kind": "greedy", "size": size, "direct": direct, "file": _own(count), **_pauses(draw, kind)}


def writes_shared(group: Mapping[str, Any]) -> bool:
    """Whether a group writes to a part of the raw device that other groups use."""
    return group.get("file") in ("db", "disk") and group["op"] != "read"


def draw_load(seed: int, number: int, load_disk: Callable[[str], Disk]) -> Load:
    """The load of a seed with a number."""
    draw = Random(f"{seed}.{number}")  # a string is hashed by SHA-512, the same everywhere
    disk = load_disk(draw.choice(DISKS))
    name = draw.choice(tuple(SETTINGS))
    settings, attributes = SETTINGS[name]
    filesystem = draw.choice(("", "", "", "ext4", "xfs", "btrfs"))
    groups = _reserved(draw, disk, filesystem) if draw.random() < 0.7 else []
    where, reserved = {"cgroup": OTHERS} if reserved_by_group(groups) else {}, bool(groups)
    room = PROCESSES - sum(group["count"] for group in groups)
    for index in range(draw.randint(1, 5)):
        if room <= 0:
            break
        count = min(room, draw.choice((1, 1, 1, 2, 4, 8, 16)))
        room -= count
        made = _on_filesystem(draw, count) if filesystem else _on_device(draw)
        groups.append({"name": f"group{index}", "count": count, "start_ms": draw.choice((0, 0, 0, 2000)), **made,
                       **_priority(draw, reserved), **where})
    # A direct write beside dirty pages of the same blocks is an I/O error of the next fsync, under each scheduler.
    of_shared = [group for group in groups if writes_shared(group)]
    for group in of_shared:
        group["direct"] = of_shared[0]["direct"]
    tags = draw.choice(TAGS)
    top: dict[str, Any] = {"disk": disk.name, "settings": settings, "depth": draw.choice(matrix.depths(tags)),
                           "duration_s": DURATION_S, "seed": draw.randint(1, 1000)}
    if filesystem:
        top["filesystem"] = filesystem
    return Load(top, tags, tuple(groups), dict(attributes))


# --- as a scenario ------------------------------------------------------------------------------


def _filled(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables that have something in them."""
    return {key: table for key, table in tables.items() if table}


def _config(keys: ConfigKeys, load: Load) -> dict[str, Any]:
    """A baseline as the file has it."""
    holders = reserved_by_group(load.groups)
    others = {group["cgroup"] for group in load.groups if "cgroup" in group} - holders.keys()
    tables = {"set": dict(keys.tunables), "queue": load.queue_of(keys.scheduler, keys.queue),
              "cgroup": baselines.control_groups(keys, holders, others)}
    return {"name": keys.called, "scheduler": keys.scheduler, **_filled(tables)}


def text_of(load: Load, title: str, about: str = "", expects: Sequence[Mapping[str, Any]] = (),
            only: Collection[str] | None = None) -> str:
    """A scenario file. @only: names of the baselines in it; None: all that suit the load"""
    top = {"title": title, "source": "not published", **({"about": about} if about else {}), **load.top,
           "policy": "rt"}
    lines_of = reserved_by_group(load.groups)
    ours = {"name": OURS, "scheduler": OURS, "policy": "bw",
            **_filled({"queue": load.queue_of(OURS, {}), "cgroup": lines_of})}
    configs = [ours, *(_config(keys, load) for keys in suited(load)
                       if only is None or keys.called in only)]
    lines = [f"{key} = {_value(value)}" for key, value in top.items()]
    if load.disk_set:
        lines += ["", "[disk_set]", *(f"{key} = {_value(value)}" for key, value in load.disk_set.items())]
    for kind, tables in (("config", configs), ("group", load.groups), ("expect", expects)):
        for table in tables:
            lines += ["", f"[[{kind}]]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def suited(load: Load) -> list[ConfigKeys]:
    """The baselines that can differ under a load."""
    writes = any(group.get("op", "read") != "read" or group["kind"] == "copy" for group in load.groups)
    classes = {group["priority"]["rt"]["class"] for group in load.groups}
    return baselines.suited(writes, len(classes), bool(reserved_by_group(load.groups)))


def _value(value: Any) -> str:
    """A value of TOML, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key if key.isidentifier() else json.dumps(key)} = {_value(item)}"
                                for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def scenario_of(load: Load, name: str, only: Collection[str] | None = None) -> Scenario:
    return schema.parse(Path(f"{name}.toml"), text_of(load, name, only=only))


# --- scores -----------------------------------------------------------------------------------


def _wait_ms(process: ProcessResult, duration_ns: int) -> float:
    """The longest wait; of a process that has got nothing, all its time."""
    longest = process["latency_ns"]["max"] if process["reads"] else duration_ns - process["start_ns"]
    return float(max(longest, 0) / NSEC_PER_MSEC)


def _closed(group: Mapping[str, Any]) -> bool:
    """Whether the group's processes go on when an operation is complete, so that they take what they get."""
    paced = group["kind"] == "paced" or (group["kind"] == "random" and "per_s" in group)
    return not paced and not group.get("think_ms") and not group.get("pause_ms")


def _syncs(group: Mapping[str, Any]) -> bool:
    """Whether the 99th percentile of a group's operations is one that ends with an fsync."""
    every: int = group.get("fsync_every", 0)
    return 0 < every <= 50


def unfairness(processes: Sequence[ProcessResult]) -> float:
    """The bytes of the fastest process to those of the slowest."""
    sizes = [process["bytes"] for process in processes]
    return max(sizes) / max(min(sizes), 1) if max(sizes) else 1.0


def values(load: Load, cell: CellResult, duration_ns: int) -> dict[Kind, float]:
    """What a run has of each kind; a kind that the load does not have is left out."""
    by_group: dict[str, list[ProcessResult]] = {}
    for process in cell["processes"]:
        by_group.setdefault(process["group"], []).append(process)
    listed: dict[Kind, list[float]] = {}
    busy = any(_closed(group) and class_of(group) != "idle" for group in load.groups)
    for group in load.groups:
        processes, cls = by_group.get(group["name"], []), class_of(group)

        def note(kind: Kind, found: Iterable[float]) -> None:
            listed.setdefault(kind, []).extend(found)

        if cls == "bw" and "deadline_ms" in group:
            note(Kind.PROMISE, (float(one["misses"]) for one in processes))
        if cls == "be" or (cls == "bw" and group["kind"] == "greedy"):
            note(Kind.BEST_EFFORT, (float(one["bytes"]) for one in processes))
        elif cls == "idle" and not busy:  # otherwise the disk may have no time that others do not want
            note(Kind.IDLE, (float(one["bytes"]) for one in processes))
        if "buffer_ms" in group:
            note(Kind.LOST, (float(one["lost"]) for one in processes))
        if cls != "idle":
            note(Kind.WAIT, (max(_wait_ms(one, duration_ns), SHORTEST_MS) for one in processes))
            if _syncs(group):
                note(Kind.FSYNC, (max(one["latency_ns"]["p99"] / NSEC_PER_MSEC, SHORTEST_MS) for one in processes))
            if _closed(group) and len(processes) > 1:
                note(Kind.UNFAIRNESS, [unfairness(processes)])
    if any(class_of(group) == "bw" for group in load.groups) and "deadlines" in cell:
        listed[Kind.REQUEST] = [cell["deadlines"]["bw_missed"]]
    largest = (Kind.WAIT, Kind.FSYNC, Kind.UNFAIRNESS)
    return {kind: max(found) if kind in largest else sum(found) for kind, found in listed.items() if found}


@dataclass(frozen=True)
class Finding:
    """A kind in which cfq breaks its promise, or one baseline is better beyond the bound and not worse elsewhere."""

    kind: Kind
    score: float
    ours: float
    baseline: str  # empty: what is promised
    theirs: float

    def says(self) -> str:
        if not self.baseline:
            what, by = ("reads", "") if self.kind == Kind.PROMISE else ("requests", ", by cfq's own counter")
            return f"{self.ours:g} {what} with an admitted reservation miss their deadline under cfq{by}"
        return f"{self.kind}: {self.ours:g} under cfq, {self.theirs:g} under {self.baseline}"


def findings(load: Load, result: Result) -> list[Finding]:
    """Of a load's runs, the worst of each kind."""
    by_config = {cell["config"]: values(load, cell, result["duration_ns"]) for cell in result["cells"]
                 if cell["status"] == "ok"}
    ours = by_config.pop(OURS, {})
    found = [Finding(kind, ours[kind], ours[kind], "", 0.0) for kind in (Kind.PROMISE, Kind.REQUEST) if ours.get(kind)]
    ours.pop(Kind.REQUEST, None)  # no baseline counts them
    for kind in (kind for kind in ours if kind != Kind.PROMISE):
        worst: Finding | None = None
        for name, theirs in by_config.items():
            # class RT has no promise to keep, so misses count for a baseline, too
            compared = {one: scores.ratio(ours[one], theirs[one], one in MORE_IS_BETTER) for one in ours}
            others = [score for one, score in compared.items() if one != kind]
            if compared[kind] > BOUNDS[kind] and min(others, default=1.0) >= scores.NO_WORSE and (
                    worst is None or compared[kind] > worst.score):
                worst = Finding(kind, compared[kind], ours[kind], name, theirs[kind])
        if worst:
            found.append(worst)
    return found


# --- shrinking --------------------------------------------------------------------------------


def smaller(load: Load) -> Iterator[Load]:
    """Loads that are simpler in one respect, the largest steps first."""
    for index in range(len(load.groups)):
        if len(load.groups) > 1:
            yield dataclasses.replace(load, groups=(*load.groups[:index], *load.groups[index + 1:]))
    for index, group in enumerate(load.groups):
        for changed in _simpler(group):
            yield dataclasses.replace(load, groups=(*load.groups[:index], changed, *load.groups[index + 1:]))
    if load.top["duration_s"] > 5:
        yield dataclasses.replace(load, top=load.top | {"duration_s": load.top["duration_s"] / 2})
    for key, plain in (("depth", 1), ("disk", matrix.PUBLISHED_ON), ("seed", 1), ("settings", "linux")):
        if load.top[key] != plain:
            yield dataclasses.replace(load, top=load.top | {key: plain})
    if load.tags != 64:
        yield dataclasses.replace(load, tags=64)
    if load.disk_set:
        yield dataclasses.replace(load, disk_set={})


def _simpler(group: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if group.get("count", 1) > 1:
        yield group | {"count": 1}
        yield group | {"count": group["count"] // 2}
    for key in ("start_ms", "think_ms", "spread_ms", "pause_ms", "direct"):
        if group.get(key) and not (key == "direct" and writes_shared(group)):
            yield group | {key: type(group[key])(0)}
    for key, plain in (("period_ms", 1000), ("per_s", 20), ("fsync_every", 1)):
        if group.get(key, plain) != plain and class_of(group) != "bw" and "buffer_ms" not in group:
            yield group | {key: plain}
    if class_of(group) != "bw" and group.get("size", "").endswith("B") and group["size"][:-1].isdigit():
        size = units.parse_size(group["size"])
        for plain in (4 * KIB, MIB):
            if size != plain:
                yield group | {"size": f"{plain}B"}
    plain_class = {"class": "be", "level": 4}
    if class_of(group) == "be" and group["priority"]["bw"] != plain_class:
        yield group | {"priority": {"bw": plain_class, "rt": plain_class}}


def expect_of(finding: Finding, load: Load, cell: CellResult) -> dict[str, Any]:
    """What a scenario file expects and does not get. @cell: the run under cfq"""
    def named(*classes: str) -> list[str]:
        return [group["name"] for group in load.groups if class_of(group) in classes]

    def unfair(group: Mapping[str, Any]) -> float:
        return unfairness([one for one in cell["processes"] if one["group"] == group["name"]])

    several = [one for one in load.groups if _closed(one) and one.get("count", 1) > 1 and class_of(one) != "idle"]
    chosen: dict[Kind, dict[str, Any]] = {
        Kind.PROMISE: {"metric": "misses", "groups": [one["name"] for one in load.groups
                                                      if class_of(one) == "bw" and "deadline_ms" in one]},
        Kind.REQUEST: {"metric": "bw_missed"},
        Kind.WAIT: {"metric": "latency_max_ms", "groups": named("bw", "be", "rt"), "reduce": "max"},
        Kind.BEST_EFFORT: {"metric": "bytes", "groups": [
            *named("be"), *(one["name"] for one in load.groups if class_of(one) == "bw" and one["kind"] == "greedy")]},
        Kind.IDLE: {"metric": "bytes", "groups": named("idle")},
        Kind.LOST: {"metric": "lost", "groups": [one["name"] for one in load.groups if "buffer_ms" in one]},
        Kind.FSYNC: {"metric": "latency_p99_ms", "reduce": "max", "groups": [
            one["name"] for one in load.groups if _syncs(one) and class_of(one) != "idle"]},
        Kind.UNFAIRNESS: {"metric": "bytes", "reduce": "ratio",
                          "groups": [max(several, key=unfair)["name"]] if several else []},
    }
    left = chosen[finding.kind]
    if finding.kind == Kind.WAIT and not all(
            one["reads"] for one in cell["processes"] if one["group"] in left["groups"]):
        return {"says": "each process gets something", "op": ">", "right": 0,
                "left": {"metric": "reads", "groups": left["groups"], "reduce": "min", "config": OURS}}
    if not finding.baseline:
        return {"says": "no promise is broken", "left": left | {"config": OURS}, "op": "==", "right": 0}
    # the ratio of a scenario is that of the slowest to the fastest
    more, bound = finding.kind in MORE_IS_BETTER or finding.kind == Kind.UNFAIRNESS, BOUNDS[finding.kind]
    right = left | {"config": finding.baseline, "factor": round(1 / bound if more else bound, 3)}
    says = f"{finding.kind}: at most {bound:g} times as bad as under {finding.baseline}"
    return {"says": says, "left": left | {"config": OURS}, "op": ">=" if more else "<=", "right": right}
