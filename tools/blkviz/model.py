# SPDX-License-Identifier: GPL-2.0
"""From events to what happened: requests, system calls, slices, processes.

A request belongs to the process that queued it: dispatch and completion run in the
context of whoever is there. What is queued (a bio) is found again in the request
that is dispatched by the sectors that this covers, which also follows merges and
splits. All times are ns of the trace's clock; UNKNOWN stands for one not seen.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import messages, records
from .errors import NoTraceError
from .parse import Events, Lost, Trace
from .recording import Notes

UNKNOWN = -1

T = TypeVar("T")

# Kinds of requests by the time in the drive: a hint, and for rotating disks only.
CACHED, SEQUENTIAL, SEEK, UNFINISHED = range(4)
CACHED_BELOW_NS = 1_000_000
SEEK_ABOVE_NS = 5_000_000
KINDS = ("cached", "sequential", "seek", "unfinished")

# Flags of a request.
NO_DISPATCH, NO_COMPLETION, LOST_COMPLETION = 1, 2, 4

# Flags of a call.
NO_ENTER, NO_LEAVE = 1, 2


@dataclass
class Requests:
    """One row a request, by the time of dispatch.

    `events` has the numbers of the events of all requests, those of request i from
    `first_event[i]` to `first_event[i + 1]`.
    """

    pid: NDArray[np.int64]
    queued: NDArray[np.int64]
    dispatched: NDArray[np.int64]
    completed: NDArray[np.int64]
    sector: NDArray[np.int64]
    length: NDArray[np.int64]
    category: NDArray[np.int64]
    error: NDArray[np.int64]
    cls: NDArray[np.int64]
    flags: NDArray[np.int64]
    first_event: NDArray[np.int64]
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pid)

    def events_of(self, index: int) -> list[int]:
        first, last = self.first_event[index], self.first_event[index + 1]
        return [int(event) for event in self.events[first:last]]

    def ended(self) -> NDArray[np.bool_]:
        """Those of which the completion was seen."""
        there: NDArray[np.bool_] = (self.flags & (NO_COMPLETION | LOST_COMPLETION)) == 0
        return there

    def finished(self) -> NDArray[np.bool_]:
        """Those of which both ends were seen."""
        return self.ended() & ((self.flags & NO_DISPATCH) == 0)

    def d2c(self) -> NDArray[np.int64]:
        """Time in the drive, ns; UNKNOWN where an end is missing."""
        return np.where(self.finished(), self.completed - self.dispatched, UNKNOWN)

    def kind(self) -> NDArray[np.int64]:
        d2c = self.d2c()
        kind = np.full(len(d2c), SEQUENTIAL, dtype=np.int64)
        kind[d2c < CACHED_BELOW_NS] = CACHED
        kind[d2c > SEEK_ABOVE_NS] = SEEK
        kind[~self.finished()] = UNFINISHED
        return kind


@dataclass
class Calls:
    """One row a system call, by the time of entering; `op` indexes `operations`."""

    pid: NDArray[np.int64]
    op: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    inode: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    result: NDArray[np.int64]
    depth: NDArray[np.int64]
    flags: NDArray[np.int64]
    enter_event: NDArray[np.int64]
    leave_event: NDArray[np.int64]
    operations: list[str]

    def __len__(self) -> int:
        return len(self.pid)

    def opened(self) -> NDArray[np.bool_]:
        """Those that have opened a file."""
        return self.of("vfs_open") & (self.result >= 0) & ((self.flags & NO_LEAVE) == 0)

    def of(self, operation: str) -> NDArray[np.bool_]:
        if operation not in self.operations:
            return np.zeros(len(self), dtype=np.bool_)
        those: NDArray[np.bool_] = self.op == self.operations.index(operation)
        return those


@dataclass
class Slices:
    """One row a slice of CFQ; `why` is its end, one of messages.EXPIRED."""

    pid: NDArray[np.int64]
    sync: NDArray[np.int64]
    cls: NDArray[np.int64]
    level: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    length_us: NDArray[np.int64]
    why: NDArray[np.int64]
    dispatched: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pid)


@dataclass
class Series:
    """Values that CFQ tells of a process: tokens (bytes), deadlines (us), idle waits (us)."""

    pid: NDArray[np.int64]
    time: NDArray[np.int64]
    value: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pid)


@dataclass
class Process:
    """Who did I/O. Bandwidth in bytes a second, over the whole recording."""

    pid: int
    name: str
    requests: int = 0
    bytes: int = 0
    calls: int = 0
    files: int = 0
    reserved: int = 0
    bandwidth: float = 0.0
    request_bytes: float = 0.0
    files_per_second: float = 0.0
    cls: str = ""


@dataclass
class Model:
    """All that is shown of a recording."""

    events: Events
    start: int
    end: int
    device: int
    clock: float | None
    requests: Requests
    calls: Calls
    slices: Slices
    idles: Series
    preemptions: Series
    tokens: Series
    deadlines: Series
    processes: list[Process]
    lost: list[Lost]
    dropped: int = 0
    problems: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9

    def has_cfq(self) -> bool:
        return bool(len(self.slices) or len(self.requests) and self.requests.cls.any())


class Bio:
    """A piece of I/O that was queued and not dispatched yet; `origin`: the events of its queueing."""

    __slots__ = ("end", "events", "origin", "pid", "queued")

    def __init__(self, end: int, pid: int, queued: int, origin: tuple[int, ...]) -> None:
        self.end, self.pid, self.queued, self.origin = end, pid, queued, origin
        self.events = list(origin)


class Queues(Generic[T]):
    """A queue for each sector.

    Nearly all hold one thing: a deque for each is too large, and where many things
    are in one, taking the first out of a list takes too long.
    """

    def __init__(self) -> None:
        self.things: dict[int, list[T]] = {}
        self.taken: dict[int, int] = {}

    def add(self, sector: int, thing: T) -> None:
        self.things.setdefault(sector, []).append(thing)

    def first(self, sector: int) -> T | None:
        things = self.things.get(sector)
        return things[self.taken.get(sector, 0)] if things else None

    def last(self, sector: int) -> T | None:
        things = self.things.get(sector)
        return things[-1] if things else None

    def take(self, sector: int) -> T | None:
        """The first, which leaves."""
        things = self.things.get(sector)
        if not things:
            return None
        place = self.taken.get(sector, 0)
        if place + 1 < len(things):
            self.taken[sector] = place + 1
        else:
            del self.things[sector]
            self.taken.pop(sector, None)
        return things[place]


class Matcher:
    """Puts the events of a device together to requests, one event after the other."""

    COLUMNS = ("pid", "queued", "dispatched", "completed", "sector", "length", "category",
               "error", "cls", "flags")

    def __init__(self) -> None:
        self.columns = {name: array("q") for name in self.COLUMNS}
        self.events: list[list[int]] = []
        self.waiting: dict[int, Queues[Bio]] = {way: Queues() for way in (0, records.WRITE)}
        self.remaps: dict[int, int] = {}
        self.in_flight: dict[int, Queues[int]] = {way: Queues() for way in (0, records.WRITE)}
        self.left: dict[int, int] = {}
        self.requeued: dict[int, Queues[int]] = {way: Queues() for way in (0, records.WRITE)}
        self.told: dict[int, tuple[list[int], int]] = {}
        self.lost_until = UNKNOWN

    # --- before the dispatch ---

    def remap(self, event: int, sector: int) -> None:
        self.remaps[sector] = event

    def queue(self, event: int, time: int, sector: int, length: int, pid: int, write: int) -> None:
        remap = self.remaps.pop(sector, None)
        origin = (event,) if remap is None else (remap, event)
        self.waiting[write].add(sector, Bio(sector + length // records.SECTOR_BYTES, pid, time, origin))

    def touch(self, event: int, sector: int, write: int) -> None:
        """An event of a bio that waits: merged, inserted, ..."""
        bio = self.waiting[write].last(sector) or self.waiting[write ^ records.WRITE].last(sector)
        if bio:
            bio.events.append(event)

    def tell(self, event: int, sector: int) -> None:
        """One more message about a request that is about to be dispatched."""
        if told := self.told.get(sector):
            told[0].append(event)

    def split(self, event: int, sector: int, length: int, write: int) -> None:
        """The first part of a bio becomes one of its own."""
        self.touch(event, sector, write)
        bio, at = self.waiting[write].last(sector), sector + length // records.SECTOR_BYTES
        if bio and bio.end > at > sector:
            self._divide(bio, at, write).events.append(event)

    def _divide(self, bio: Bio, at: int, write: int) -> Bio:
        """Cut a bio; the rest has its origin only: every earlier split in every later part would be too many."""
        rest = Bio(bio.end, bio.pid, bio.queued, bio.origin)
        self.waiting[write].add(at, rest)
        bio.end = at
        return rest

    # --- dispatch and after ---

    def dispatch(self, event: int, time: int, sector: int, length: int, pid: int,
                 category: int) -> None:
        write = category & records.WRITE
        request = self.requeued[write].take(sector)
        if request is None:
            bios = self._covered(sector, length, write)
            request = self._new(bios, time, sector, length, pid, category)
        else:
            self.columns["dispatched"][request] = time
        self.events[request].append(event)
        if (told := self.told.pop(sector, None)) is not None:
            self.columns["cls"][request] = told[1]
            self.events[request] += told[0]
        # What was lost may have been the completion of the one before.
        for flying in self.in_flight.values():
            while ((older := flying.first(sector)) is not None
                   and self.columns["dispatched"][older] < self.lost_until):
                flying.take(sector)
                self.columns["flags"][older] |= LOST_COMPLETION
        self.in_flight[write].add(sector, request)
        self.left[request] = length

    def _covered(self, sector: int, length: int, write: int) -> list[Bio]:
        """Take the bios that a request consists of from those that wait."""
        end = sector + length // records.SECTOR_BYTES
        taken: list[Bio] = []
        position = sector
        while bio := self.waiting[write].take(position):
            if bio.end > end > position:
                self._divide(bio, end, write)
            taken.append(bio)
            if bio.end <= position or bio.end >= end:
                break
            position = bio.end
        return taken

    def _new(self, bios: list[Bio], time: int, sector: int, length: int, pid: int,
             category: int) -> int:
        owner = bios[0].pid if bios else pid
        queued = min((bio.queued for bio in bios), default=UNKNOWN)
        row = (owner, queued, time, UNKNOWN, sector, length, category, 0, 0, 0)
        for name, value in zip(self.COLUMNS, row, strict=True):
            self.columns[name].append(value)
        self.events.append([event for bio in bios for event in bio.events])
        return len(self.events) - 1

    def requeue(self, event: int, sector: int, write: int) -> None:
        request = self.in_flight[write].take(sector)
        if request is None:
            return
        self.events[request].append(event)
        self.requeued[write].add(sector, request)

    def complete(self, event: int, time: int, sector: int, length: int, pid: int, category: int,
                 error: int) -> None:
        flying = self.in_flight[category & records.WRITE]
        request = flying.take(sector)
        if request is None:
            self._complete_unseen(event, time, sector, length, pid, category, error)
            return
        self.events[request].append(event)
        left = self.left[request] - length
        if left > 0 and length and not error:
            self.left[request] = left
            flying.add(sector + length // records.SECTOR_BYTES, request)
            return
        self.columns["completed"][request] = time
        self.columns["error"][request] = error
        del self.left[request]

    def _complete_unseen(self, event: int, time: int, sector: int, length: int, pid: int,
                         category: int, error: int) -> None:
        """A completion without a dispatch: from before the trace, or a device without requests."""
        bios = self._covered(sector, length, category & records.WRITE)
        request = self._new(bios, time, sector, length, pid, category)
        if (queued := self.columns["queued"][request]) != UNKNOWN:
            self.columns["dispatched"][request] = queued
        self.columns["completed"][request] = time
        self.columns["error"][request] = error
        self.columns["flags"][request] = NO_DISPATCH
        self.events[request].append(event)

    def lose(self, end: int) -> None:
        self.lost_until = end

    def result(self, last: int) -> Requests:
        """All requests; what is in flight at the end, at time `last`, stays open."""
        columns = {name: np.array(column, dtype=np.int64) for name, column in self.columns.items()}
        open_end = columns["completed"] == UNKNOWN
        columns["flags"][open_end] |= NO_COMPLETION
        columns["completed"][open_end] = last
        order = np.argsort(columns["dispatched"], kind="stable")
        lists = [sorted(self.events[i]) for i in order.tolist()]
        first = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in lists], out=first[1:])
        flat = np.fromiter((event for one in lists for event in one), dtype=np.int64)
        return Requests(**{name: column[order] for name, column in columns.items()},
                        first_event=first, events=flat)


class Teller:
    """Puts the messages together: calls, slices, and what CFQ tells of its queues."""

    CALL = ("pid", "op", "start", "end", "inode", "offset", "length", "result", "depth", "flags",
            "enter_event", "leave_event")
    SLICE = ("pid", "sync", "cls", "level", "start", "end", "length_us", "why", "dispatched")

    def __init__(self, start: int) -> None:
        self.start = start
        self.operations: dict[str, int] = {}
        self.calls: list[list[int]] = []
        self.stacks: dict[int, list[list[int]]] = defaultdict(list)
        self.entered: Counter[tuple[int, int]] = Counter()
        self.slices: list[list[int]] = []
        self.slice: list[int] | None = None
        self.series: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self.sent: dict[tuple[int, bool], int] = {}
        self.rates: dict[int, int] = {}
        self.classes: dict[int, str] = {}

    def vfs(self, event: int, time: int, pid: int, said: messages.Vfs) -> None:
        op = self.operations.setdefault(said.operation, len(self.operations))
        stack = self.stacks[pid]
        if said.entering:
            values = said.values
            call = [pid, op, time, UNKNOWN, values.get("ino", UNKNOWN), values.get("off", UNKNOWN),
                    values.get("len", UNKNOWN), 0, len(stack), 0, event, UNKNOWN]
            stack.append(call)
            self.entered[pid, op] += 1
            self.calls.append(call)
            return
        depth = None
        # Without the count, each that was not entered would look through all of a deep stack.
        if self.entered[pid, op]:
            depth = next(i for i in range(len(stack) - 1, -1, -1) if stack[i][1] == op)
        if depth is None:
            call = [pid, op, self.start, time, UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, NO_ENTER, UNKNOWN,
                    event]
            self.calls.append(call)
        else:
            # What is above it on the stack was left in an event that is lost.
            for lost in stack[depth + 1:]:
                lost[3], lost[9] = time, NO_LEAVE
                self.entered[pid, lost[1]] -= 1
            self.entered[pid, op] -= 1
            call = stack[depth]
            del stack[depth:]
            call[3], call[11] = time, event
        call[7] = said.values.get("ret", 0)

    def cfq(self, event: int, time: int, said: messages.Cfq, matcher: Matcher) -> None:
        self.classes[said.pid] = f"{messages.CLASSES[said.cls]}{said.level}"
        for key in ("tokens", "deadline_us"):
            if key in said.values:
                self.series[key].append((said.pid, time, said.values[key]))
        if "rate" in said.values:
            self.rates[said.pid] = said.values["rate"]
        before = self.sent.pop((said.pid, said.sync), None)
        if said.verb == "dispatch" and said.sector >= 0:
            matcher.told[said.sector] = ([event], said.cls)
            self.sent[said.pid, said.sync] = said.sector
        elif said.verb == "tokens" and before is not None:
            matcher.tell(event, before)
        elif said.verb == "idle":
            self.series["idle"].append((said.pid, time, said.values.get("window_us", 0)))
        elif said.verb == "preempted":
            self.series["preempted"].append((said.pid, time, said.values.get("by", UNKNOWN)))
        elif said.verb == "slice start":
            self._close(time, 0, 0)
            self.slice = [said.pid, int(said.sync), said.cls, said.level, time, UNKNOWN,
                          said.values.get("length_us", 0), 0, 0]
        elif said.verb == "slice end":
            why = messages.EXPIRED.index(said.why) if said.why in messages.EXPIRED else 0
            if self.slice is None or self.slice[0] != said.pid:
                self._close(time, 0, 0)
                self.slice = [said.pid, int(said.sync), said.cls, said.level,
                              self.slices[-1][5] if self.slices else self.start, UNKNOWN, 0, 0, 0]
            self._close(time, why, said.values.get("dispatched", 0))

    def _close(self, time: int, why: int, dispatched: int) -> None:
        if self.slice is not None:
            self.slice[5], self.slice[7], self.slice[8] = time, why, dispatched
            self.slices.append(self.slice)
            self.slice = None

    def finish(self, end: int) -> None:
        """What is still open ends with the trace."""
        for call in self.calls:
            if call[3] == UNKNOWN:
                call[3], call[9] = end, call[9] | NO_LEAVE
        self._close(end, 0, 0)

    def result_calls(self) -> Calls:
        rows = _columns(sorted(self.calls, key=lambda call: (call[2], call[8])), self.CALL)
        return Calls(**rows, operations=list(self.operations))

    def result_slices(self) -> Slices:
        return Slices(**_columns(self.slices, self.SLICE))

    def result_series(self, key: str) -> Series:
        return Series(**_columns(self.series.get(key, []), ("pid", "time", "value")))


def _columns(rows: list[list[int]] | list[tuple[int, int, int]],
             names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(names)}


def build(trace: Trace, notes: Notes | None = None, device: int | None = None,
          reserved: dict[str, int] | None = None) -> Model:
    """Everything that is shown, of one device (by default the one with most events).

    `reserved`: bytes a second by name or number of a process; NoTraceError if
    the device is not in the trace.
    """
    notes = notes or Notes()
    hints: list[str] = []
    trace, device = _of_one_device(trace, device, hints)
    events = trace.events
    start = int(events.time[0]) if len(events) else 0
    end = int(events.time[-1]) if len(events) else 0
    lost, noted = sorted(trace.lost, key=lambda one: one.start), clock(events) or notes.clock
    matcher, teller = Matcher(), Teller(start)
    _walk(events, matcher, teller, lost)
    teller.finish(end)
    model = Model(events, start, end, device, (noted[1] + start - noted[0]) / 1e9 if noted else None,
                  matcher.result(end), teller.result_calls(), teller.result_slices(), teller.result_series("idle"),
                  teller.result_series("preempted"), teller.result_series("tokens"),
                  teller.result_series("deadline_us"), [], lost, notes.dropped,
                  [str(problem) for problem in trace.problems], hints)
    if trace.unknown_actions:
        model.problems.append(f"{trace.unknown_actions} events of kinds that this viewer does "
                              "not know")
    model.processes = _processes(model, teller, notes, reserved or {})
    return model


def _of_one_device(trace: Trace, device: int | None, hints: list[str]) -> tuple[Trace, int]:
    devices = trace.devices()
    if not devices:
        return trace, device or 0
    if device is None:
        device = next(iter(devices))
    elif device not in devices:
        names = ", ".join(records.device_name(one) for one in devices)
        raise NoTraceError(f"no device {records.device_name(device)} in the recording; "
                           f"there is {names}")
    others = [f"{records.device_name(one)} ({count} events)" for one, count in devices.items()
              if one != device]
    if not others:
        return trace, device
    # Names of processes are told once, on whatever device comes first.
    keep = (trace.events.device == device) | (trace.events.action == records.NOTE_PROCESS)
    hints.append(f"also recorded: {', '.join(others[:5])}; choose with --device")
    lost = [one for one in trace.lost if one.device == device]
    return Trace(trace.events.take(keep), trace.problems, lost, trace.unknown_actions), device


def clock(events: Events) -> tuple[int, int] | None:
    """A time of the trace, and what the wall clock (ns since 1970) said then, if it was noted."""
    for index in np.flatnonzero(events.action == records.NOTE_TIMESTAMP)[:1].tolist():
        payload = events.payload(index)
        if len(payload) < 8:
            continue
        order = ">" if events.big_endian[index] else "<"
        seconds, nanoseconds = struct.unpack(order + "II", payload[:8])
        return int(events.time[index]), seconds * 10**9 + nanoseconds
    return None


def _walk(events: Events, matcher: Matcher, teller: Teller, lost: list[Lost]) -> None:
    """Give each event to whom it concerns."""
    times, sectors, lengths = events.time.tolist(), events.sector.tolist(), events.length.tolist()
    actions, categories = events.action.tolist(), events.category.tolist()
    pids, errors = events.pid.tolist(), events.error.tolist()
    gaps = iter(sorted(one.end for one in lost))
    next_gap = next(gaps, None)
    touching = {records.BACKMERGE, records.FRONTMERGE, records.GETRQ, records.SLEEPRQ,
                records.INSERT, records.BOUNCE}
    for event, action in enumerate(actions):
        time, sector, category = times[event], sectors[event], categories[event]
        while next_gap is not None and time >= next_gap:
            matcher.lose(next_gap)
            next_gap = next(gaps, None)
        write = category & records.WRITE
        if action == records.QUEUE:
            matcher.queue(event, time, sector, lengths[event], pids[event], write)
        elif action in touching:
            matcher.touch(event, sector, write)
        elif action == records.ISSUE:
            matcher.dispatch(event, time, sector, lengths[event], pids[event], category)
        elif action == records.COMPLETE:
            matcher.complete(event, time, sector, lengths[event], pids[event], category,
                             errors[event])
        elif action == records.NOTE_MESSAGE:
            _message(event, time, pids[event], events.text(event), matcher, teller)
        elif action == records.REMAP:
            matcher.remap(event, sector)
        elif action == records.REQUEUE:
            matcher.requeue(event, sector, write)
        elif action == records.SPLIT:
            matcher.split(event, sector, lengths[event], write)


def _message(event: int, time: int, pid: int, text: str, matcher: Matcher, teller: Teller) -> None:
    if text.startswith("cfq "):
        if said := messages.cfq(text):
            teller.cfq(event, time, said, matcher)
    elif text.startswith(("enter ", "leave ")) and (call := messages.vfs(text)):
        teller.vfs(event, time, pid, call)


def names(events: Events) -> dict[int, str]:
    """The last name of each process."""
    found: dict[int, str] = {0: "(kernel)"}
    for index in np.flatnonzero(events.action == records.NOTE_PROCESS).tolist():
        found[int(events.pid[index])] = events.text(index)
    return found


def _processes(model: Model, teller: Teller, notes: Notes, asked: dict[str, int]) -> list[Process]:
    """Everybody with requests or calls, who moved most first."""
    called = notes.names | names(model.events)
    requests, calls = model.requests, model.calls
    found: dict[int, Process] = {}
    for pid in np.unique(np.concatenate([requests.pid, calls.pid])).tolist():
        name = called.get(pid, "?")
        reserved = notes.reserved.get(pid, 0) or teller.rates.get(pid, 0)
        reserved = asked.get(str(pid), asked.get(name, reserved))
        found[pid] = Process(pid, name, reserved=reserved, cls=teller.classes.get(pid, ""))
    done = requests.ended()
    _count(found, requests.pid[done], requests.length[done], "requests", "bytes")
    _count(found, calls.pid, None, "calls")
    _count(found, calls.pid[calls.opened()], None, "files")
    for process in found.values():
        if process.requests:
            process.request_bytes = process.bytes / process.requests
        if model.seconds:
            process.bandwidth = process.bytes / model.seconds
            process.files_per_second = process.files / model.seconds
    return sorted(found.values(), key=lambda one: (-one.bytes, -one.calls, one.pid))


def _count(found: dict[int, Process], pids: NDArray[np.int64], weights: NDArray[np.int64] | None,
           count: str, total: str = "") -> None:
    unique, where = np.unique(pids, return_inverse=True)
    counts = np.bincount(where, minlength=len(unique))
    sums = np.bincount(where, weights=weights, minlength=len(unique)) if total else counts
    for pid, number, amount in zip(unique.tolist(), counts.tolist(), sums.tolist(), strict=True):
        setattr(found[pid], count, int(number))
        if total:
            setattr(found[pid], total, int(amount))


def problems_of(model: Model) -> list[str]:
    """Everything that the banner says."""
    said = list(model.problems)
    count = sum(one.count for one in model.lost)
    where = f"at {len(model.lost)} place{'s' * (len(model.lost) > 1)} (hatched in the picture)"
    more = "larger buffers help (blktrace -b, -n)"
    if model.dropped > count:
        # messages have no numbers, so their loss leaves no gap; nor does what came last on a CPU
        shown = f"{count} of them {where}" if count else "where is not known"
        said.append(f"{model.dropped} events were dropped while recording, {shown}; {more}")
    elif count:
        said.append(f"{count} events were lost while recording, {where}; {more}")
    if not len(model.events):
        said.append("no complete event could be read")
    return said
