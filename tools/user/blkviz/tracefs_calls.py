# SPDX-License-Identifier: GPL-2.0
"""From tracefs events and a block trace to the messages of VFS operations that another kernel would have written.

The kernel tells of a system call the number of a descriptor, not whose file it is. A call is one
of the traced device's files if within it its thread had a page of one of them in hand (events of
the page cache) or queued a request (the block trace), or if another call on the same open file
had. A file is open from an open() that returned its descriptor, or from the beginning, until that
is closed or opened again. What a page fault within a call needs is not the call's file's: a write()
to a socket out of a mapped file. So what has never touched the device or the page cache is not
told: a stat() of what is cached, a process that reads what is cached on a kernel without
mm_filemap_get_pages (before 6.10).

A call whose beginning or end is lost is left out, and counted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from . import blktrace_format as fmt
from . import syscall_table
from .parse import Events, Problem, Source, Trace, add, clock
from .tables import UNKNOWN
from .tracefs_parse import Event, Text

# A busy machine lets a program wait between reading the wall clock and noting it: 11 ms were seen. Other clocks
# are further away: of another boot, or one that goes on while a machine sleeps.
SAME_CLOCK_NS = 10**9

Message = tuple[int, int, str]  # time, thread, text
HEADER = struct.Struct("<IIQQIIIIIHH")


@dataclass
class File:
    """An open file, or a context of asynchronous I/O; on the device or not, as far as is known."""

    mine: bool = False
    inode: int = UNKNOWN


@dataclass
class Call:
    """A system call or a request of io_uring; `start`: UNKNOWN if it was there before the recording."""

    pid: int
    comm: str
    operation: str
    start: int
    cpu: int
    file: File | None = None
    offset: int = UNKNOWN
    length: int = UNKNOWN
    number: int = 0
    name: str = ""
    mine: bool = False
    inode: int = UNKNOWN
    end: int = UNKNOWN
    result: int = 0
    faulted: bool = False

    def touches(self, inode: int) -> None:
        """It had to do with the device; `inode`: of a file there, or UNKNOWN."""
        if self.faulted:
            return
        self.mine = True
        if self.inode == UNKNOWN:
            self.inode = inode
        if self.file:
            self.file.mine = True
            if self.file.inode == UNKNOWN:
                self.file.inode = inode

    def told(self) -> bool:
        return bool(self.operation) and (self.mine or (self.file is not None and self.file.mine))

    def messages(self) -> Iterable[Message]:
        """On entering and on leaving, as far as they were seen."""
        inode = self.inode if self.inode != UNKNOWN or not self.file else self.file.inode
        whose = (f" req {self.number}" if self.number else "") + (f" ino {inode}" if inode != UNKNOWN else "")
        if self.start != UNKNOWN:
            where = "".join(f" {key} {value}" for key, value in (("off", self.offset), ("len", self.length))
                            if value != UNKNOWN)
            yield self.start, self.pid, f"enter {self.operation}{whose}{where}"
        if self.end != UNKNOWN:
            yield self.end, self.pid, f"leave {self.operation}{whose} ret {self.result}"


@dataclass
class Walk:
    """Goes through the events in the order of time."""

    devices: frozenset[int]
    calls: list[Call] = field(default_factory=list)
    at: list[Message] = field(default_factory=list)
    lost: int = 0
    open: dict[int, Call | None] = field(default_factory=dict)  # by thread; None: in none
    requests: dict[str, Call] = field(default_factory=dict)
    issuing: dict[int, Call] = field(default_factory=dict)
    files: dict[tuple[int, int, int], File] = field(default_factory=dict)
    losses: dict[int, int] = field(default_factory=dict)
    numbers: int = 0

    def take(self, event: Event) -> None:
        if event.what == "lost":
            self.losses[event.cpu] = event.time
            # what was open may have been closed, and what was asked for done
            self.requests.clear()
            self.issuing.clear()
            self.files.clear()
        elif event.what == "enter":
            self.enter(event)
        elif event.what == "leave":
            self.leave(event)
        elif event.what in ("cache", "ahead", "fault"):
            self.pages(event)
        else:
            self.uring(event)

    def enter(self, event: Event) -> None:
        before = self.open.get(event.pid)
        if before and before.start != UNKNOWN:
            self.lost += before.told()
        self.issuing.pop(event.pid, None)
        known = syscall_table.CALLS.get(event.name)
        if known is None:
            self.open[event.pid] = None
            return
        call = Call(event.pid, event.comm, known.operation, event.time, event.cpu, name=event.name)
        if known.subject == syscall_table.CLOSES:
            self.close(event)
        elif known.subject == syscall_table.COPIES:
            self.files[event.group, syscall_table.FILE, event.values[1]] = self.file(event, syscall_table.FILE, 0)
        elif known.subject in (syscall_table.FILE, syscall_table.CONTEXT):
            call.file = self.file(event, known.subject, known.which)
        if known.offset >= 0:
            call.offset = signed(event.values[known.offset])
        if known.length >= 0:
            call.length = signed(event.values[known.length])
        self.open[event.pid] = call

    def file(self, event: Event, kind: int, which: int) -> File:
        """What an argument names, or the descriptor of a request of io_uring."""
        value = event.values[which] & (0xffffffff if kind == syscall_table.FILE else -1)
        return self.files.setdefault((event.group, kind, value), File())

    def close(self, event: Event) -> None:
        first = event.values[0]
        last = event.values[1] & 0xffffffff if event.name == "close_range" else first
        if last == first:
            self.files.pop((event.group, syscall_table.FILE, first), None)
            return
        table = (event.group, syscall_table.FILE)
        for key in [key for key in self.files if key[:2] == table and first <= key[2] <= last]:
            del self.files[key]

    def leave(self, event: Event) -> None:
        self.issuing.pop(event.pid, None)
        # the first that is seen of a thread may be the end of a call from before the recording
        before = Call(event.pid, event.comm, "", UNKNOWN, event.cpu)
        call = self.open.get(event.pid, before)
        self.open[event.pid] = None
        known = syscall_table.CALLS.get(event.name)
        if call is None or known is None:
            return
        if call.start == UNKNOWN and not self.losses:
            call.operation, call.name = known.operation, event.name
        if call.name != event.name or self.lossy(call, event):
            self.lost += call.told()
            return
        call.end, call.result = event.time, event.values[0]
        if known.subject == syscall_table.OPENS and call.result >= 0:
            # a new one, whatever had this number
            call.file = self.files[event.group, syscall_table.FILE, call.result] = File()
        self.calls.append(call)

    def lossy(self, call: Call, end: Event) -> bool:
        """Whether events were lost since it began where it began or ended: it may be two calls."""
        return max(self.losses.get(call.cpu, UNKNOWN), self.losses.get(end.cpu, UNKNOWN)) >= max(call.start, 0)

    def pages(self, event: Event) -> None:
        device, inode, offset, length = event.values
        # a block device's own pages are those of an inode with its number: metadata, or the device read as a file
        if device not in self.devices:
            if inode in self.devices:
                self.touch(event, UNKNOWN)
            return
        if event.what == "fault":
            if call := self.open.get(event.pid):
                call.faulted = True
            self.at.append((event.time, event.pid, f"at vfs_fault ino {inode} off {offset} len {length}"))
            return
        if event.what == "ahead":
            self.at.append((event.time, event.pid, f"at vfs_readahead ino {inode} off {offset} len {length}"))
        self.touch(event, inode)

    def touch(self, event: Event, inode: int) -> None:
        """What this thread is doing has to do with the device."""
        if event.pid not in self.open:
            # in a call from before the recording, or in none: which, its end will tell
            self.open[event.pid] = Call(event.pid, event.comm, "", UNKNOWN, event.cpu)
        for call in (self.open[event.pid], self.issuing.get(event.pid)):
            if call:
                call.touches(inode)

    def uring(self, event: Event) -> None:
        if event.what == "submit":
            self.numbers += 1
            call = Call(event.pid, event.comm, f"uring_{event.name}", event.time, event.cpu, number=self.numbers)
            self.requests[event.key] = self.issuing[event.pid] = call
        elif event.what == "file" and event.key in self.requests:
            self.requests[event.key].file = self.file(event, syscall_table.FILE, 0)
        elif event.what == "complete" and event.key in self.requests:
            call = self.requests.pop(event.key)
            call.end, call.result = event.time, event.values[0]
            self.calls.append(call)

    def result(self, start: int) -> tuple[list[Message], dict[int, str]]:
        """All messages from `start` on, and the names of who speaks."""
        left = [call for call in self.open.values() if call and call.start != UNKNOWN]
        said, names = [message for message in self.at if message[0] >= start], {}
        for call in [*self.calls, *left, *self.requests.values()]:
            if call.told() and (call.end == UNKNOWN or call.end >= start):
                said += [message for message in call.messages() if message[0] >= start]
                names[call.pid] = call.comm
        return sorted(said, key=lambda message: message[0]), names


def signed(value: int) -> int:
    """As a number of 64 bits; lengths and offsets beyond are not real."""
    return value - (1 << 64) if value >> 63 else value


def messages(text: Text, events: Events, shift: int, problems: list[Problem]) -> tuple[list[Message], dict[int, str]]:
    """What the calls on the device's files would say; times of the block trace, which are `shift` ns on."""
    found = Walk(frozenset(text.devices))
    queued = np.flatnonzero(events.action == fmt.QUEUE)
    marks = [Event(time - shift, pid, pid, -1, "", "queue")
             for time, pid in zip(events.time[queued].tolist(), events.pid[queued].tolist(), strict=True)]
    for event in sorted([*text.events, *marks], key=lambda one: one.time):
        if event.what == "queue":
            found.touch(event, UNKNOWN)
        else:
            found.take(event)
    if found.lost:
        problems.append(Problem(text.name, f"{found.lost} system calls with an end that was lost are left out"))
    said, names = found.result(int(events.time[0]) - shift if len(events) else 0)
    return [(time + shift, pid, what) for time, pid, what in said], names


def shift_of(text: Text, events: Events) -> tuple[int, bool]:
    """What to add to times of tracefs, ns, and whether the clocks are different ones.

    Both are the monotonic clock, and then nothing is to add. The wall clock, which both noted, shows whether it is
    so; if not, what it says is taken. It may have been set meanwhile: of several notes the best one counts.
    """
    noted = clock(events)
    if not noted or not text.walls:
        return 0, False
    shifts = [(noted[0] - noted[1]) - (time - wall) for time, wall in text.walls]
    best = min(shifts, key=abs)
    return (best, True) if abs(best) > SAME_CLOCK_NS else (0, False)


def merge(trace: Trace, text: Text) -> Trace:
    """A block trace with the messages that the events of tracefs amount to."""
    problems = list(text.problems)
    events = trace.events
    shift, different = shift_of(text, events)
    if different:
        problems.append(Problem(text.name, "its clock is not that of the block trace: system calls are placed by the "
                                           "wall clock, exact to some milliseconds"))
    if text.events and len(events) and (text.events[-1].time + shift < events.time[0]
                                        or text.events[0].time + shift > events.time[-1]):
        problems.append(Problem(text.name, "of another time than the block trace: left out"))
        return Trace(events, trace.problems + problems, trace.lost, trace.unknown_actions)
    said, names = messages(text, events, shift, problems)
    known = set(events.pid[events.action == fmt.NOTE_PROCESS].tolist())
    device = text.devices[0] if text.devices else next(iter(trace.devices()), 0)
    new = bytearray()
    for pid, comm in names.items():
        # of a thread whose name the kernel had forgotten: <...>
        if pid not in known and not comm.startswith("<"):
            new += record(int(events.time[0]), fmt.NOTE_PROCESS, pid, device, comm.encode()[:15].ljust(16, b"\0"))
    for time, pid, what in said:
        new += record(time, fmt.NOTE_MESSAGE, pid, device, what.encode())
    merged = add(trace, Source(text.name, bytes(new)))
    merged.problems += problems
    return merged


def record(time: int, action: int, pid: int, device: int, payload: bytes) -> bytes:
    """A record of blktrace, of version 1."""
    what = (action - fmt.NOTE) | fmt.NOTIFY << fmt.CATEGORY_SHIFT
    return HEADER.pack(fmt.MAGIC | 7, 0, time, 0, 0, what, pid, device, 0, 0, len(payload)) + payload
