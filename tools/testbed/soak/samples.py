# SPDX-License-Identifier: GPL-2.0
"""Reads the guest's samples: the scheduler's files in debugfs at one moment."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


class BadSample(Exception):
    """Output of the guest with an unknown format: the kernel's files have changed, or the guest."""


@dataclass(frozen=True)
class Event:
    """An action of the director."""

    time_ns: int
    disk: str
    words: list[str]


@dataclass(frozen=True)
class Queue:
    """A line of `queues`, `service_tree` or `state`."""

    pid: int
    sync: bool
    cls: str
    level: int
    queued: int
    in_drive: int
    refs: int
    active: bool
    service_in_us: int | None

    @property
    def key(self) -> tuple[int, bool, str, int]:
        """The identity of a queue; the level is part of it for asynchronous queues only."""
        return self.pid, self.sync, self.cls, -1 if self.sync else self.level


@dataclass(frozen=True)
class SortEntry:
    sector: int
    pid: int
    deadline_us: int


@dataclass(frozen=True)
class Reservation:
    """A reservation, in bytes; `cgroup`: the ID of the control group, 0 if it is the process's own."""

    pid: int
    cgroup: int
    rate: int
    delay_ms: int
    bucket: int
    tokens: int
    met: int
    # Deadlines met, by the part of the delay that was left.
    slack: tuple[int, ...]


@dataclass(frozen=True)
class Operation:
    """The operation of a worker, and its age."""

    pid: int
    kind: str
    category: str
    requests: int
    age_ns: int


@dataclass(frozen=True)
class Worst:
    """The longest latency per request of a category since the last sample."""

    category: str
    pid: int
    by_request_ns: int


@dataclass
class Sample:
    """One disk at one moment; `whole`: no request changed while the sample was taken."""

    time_ns: int
    disk: str
    phase: str
    whole: bool
    completed: int
    flushes_begun: int
    flushes_ended: int
    tag_waiters: int
    text: str
    counters: dict[str, int] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    active: Queue | None = None
    busy: dict[str, int] = field(default_factory=dict)
    queues: list[Queue] = field(default_factory=list)
    service_tree: list[Queue] = field(default_factory=list)
    sort_tree: list[SortEntry] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    worst: list[Worst] = field(default_factory=list)


QUEUE = re.compile(
    r"pid (\d+) (sync|async) class (\S+) level (\d+) queued (\d+) in_drive (\d+) refs (\d+)"
    r"(?:( active) slice_left_us \d+ dispatched \d+| busy service_in_us (-?\d+))?"
    r" residual_us \d+ think_us \d+ seek_sectors \d+(?: seeky)?"
)
STATE = re.compile(r"queued (\d+) in_drive (\d+) drive_depth (\d+) head \d+")
SORT = re.compile(r"sector (\d+) pid (\d+) tokens -?\d+ deadline_us (-?\d+)")
RESERVATION = re.compile(r"pid (\d+) (?:cgroup (\d+) )?rate (\d+) delay_ms (\d+) bucket (\d+) tokens (-?\d+)"
                         r" bytes_in \d+ bytes_over \d+ met (\d+) missed \d+((?: slack\d \d+)+)")
OPERATION = re.compile(r"pid (\d+) (\S+) class (\S+) requests (\d+) age_ns (\d+)")
WORST = re.compile(r"worst (\S+) pid (\d+) by_request_ns (\d+)")
HEAD = re.compile(
    r"@sample (\d+) (\S+) (\S+) whole (\d) completed (\d+) flushes (\d+) (\d+) "
    r"tag_waiters (\d+) schedulers .*"
)


def _match(pattern: "re.Pattern[str]", line: str) -> "re.Match[str]":
    found = pattern.fullmatch(line)
    if not found:
        raise BadSample(f"unknown format: '{line}'")
    return found


def parse_reservation(line: str) -> Reservation:
    *numbers, slack = _match(RESERVATION, line).groups()
    pid, cgroup, rate, delay_ms, bucket, tokens, met = (int(number or 0) for number in numbers)
    return Reservation(pid, cgroup, rate, delay_ms, bucket, tokens, met, tuple(map(int, slack.split()[1::2])))


def parse_queue(line: str) -> Queue:
    pid, sync, cls, level, queued, in_drive, refs, active, service = _match(QUEUE, line).groups()
    return Queue(
        pid=int(pid),
        sync=sync == "sync",
        cls=cls,
        level=int(level),
        queued=int(queued),
        in_drive=int(in_drive),
        refs=int(refs),
        active=bool(active),
        service_in_us=int(service) if service else None,
    )


def _state_line(sample: Sample, line: str) -> None:
    if line.startswith("pid "):
        sample.active = parse_queue(line)
    elif line.startswith("queued "):
        names = ("queued", "in_drive", "drive_depth")
        sample.state = dict(zip(names, map(int, _match(STATE, line).groups()), strict=True))
    elif line.startswith("busy "):
        _, cls, number = line.split()
        sample.busy[cls] = int(number)


def _operation_line(sample: Sample, line: str) -> None:
    if line.startswith("worst "):
        category, pid, worst = _match(WORST, line).groups()
        sample.worst.append(Worst(category, int(pid), int(worst)))
        return
    pid, kind, category, requests, age = _match(OPERATION, line).groups()
    sample.operations.append(Operation(int(pid), kind, category, int(requests), int(age)))


def _line(sample: Sample, section: str, line: str) -> None:
    if section == "counters":
        name, value = line.split()
        sample.counters[name] = int(value)
    elif section == "state":
        _state_line(sample, line)
    elif section == "queues":
        sample.queues.append(parse_queue(line))
    elif section == "service_tree":
        sample.service_tree.append(parse_queue(line))
    elif section == "sort_tree":
        sample.sort_tree.append(SortEntry(*map(int, _match(SORT, line).groups())))
    elif section == "reservations":
        sample.reservations.append(parse_reservation(line))
    elif section == "operations":
        _operation_line(sample, line)
    else:
        raise BadSample(f"unknown section '{section}'")


def parse_sample(lines: list[str]) -> Sample:
    """Parse the lines from @sample to the one before @end."""
    time_ns, disk, phase, whole, completed, begun, ended, waiters = _match(HEAD, lines[0]).groups()
    sample = Sample(
        time_ns=int(time_ns),
        disk=disk,
        phase=phase,
        whole=whole == "1",
        completed=int(completed),
        flushes_begun=int(begun),
        flushes_ended=int(ended),
        tag_waiters=int(waiters),
        text="\n".join(lines),
    )
    section = ""
    for line in lines[1:]:
        if line.startswith("@"):
            section = line[1:]
        else:
            try:
                _line(sample, section, line)
            except ValueError as error:
                raise BadSample(f"{section}: '{line}': {error}") from None
    return sample


def parse_event(line: str) -> Event:
    _, time_ns, disk, *words = line.split()
    return Event(int(time_ns), disk, words)


class Reader:
    """Parses events and samples from text that arrives in pieces."""

    def __init__(self) -> None:
        self.rest = ""
        self.lines: list[str] = []

    def feed(self, text: str) -> Iterator[Event | Sample]:
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            if self.lines:
                if line == "@end":
                    yield parse_sample(self.lines)
                    self.lines = []
                else:
                    self.lines.append(line)
            elif line.startswith("@event "):
                yield parse_event(line)
            elif line.startswith("@sample "):
                self.lines = [line]
            else:
                raise BadSample(f"neither event nor sample: '{line}'")
