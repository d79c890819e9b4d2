# SPDX-License-Identifier: GPL-2.0
"""Builds messages of VFS operations, as a patched kernel writes them, from tracefs events and a block trace.

A system call event has the number of a descriptor, not its file. A call counts as one on a file of
the traced device if its thread, within the call, touched a page of such a file (events of the page
cache) or queued a request (block trace), or if another call on the same open file did. A file is
open from the open() that returned its descriptor, or from the start of the recording, until the
descriptor is closed or opened again. A page fault within a call does not count, since it may
belong to another file: write() to a socket from a mapped file. Calls on files that never touch the
device or the page cache are therefore missing: stat() of a cached inode, and reads of cached data
on kernels without mm_filemap_get_pages (before 6.10).

A call whose beginning or end was lost is left out and counted.
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

# On a busy machine a program may wait between reading the wall clock and writing it: up to 11 ms were observed. A
# different clock (another boot, or one that runs during suspend) is further away.
SAME_CLOCK_NS = 10**9

Message = tuple[int, int, str]  # time, thread, text
HEADER = struct.Struct("<IIQQIIIIIHH")


@dataclass
class File:
    """An open file or asynchronous I/O context; `mine`: it is known to be on the device."""

    mine: bool = False
    inode: int = UNKNOWN


@dataclass
class Call:
    """A system call or io_uring request; `start`: UNKNOWN if it began before the recording."""

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
        """The call accessed the device; `inode`: a file there, or UNKNOWN."""
        if self.faulted:
            return
        self.mine = True
        if self.inode == UNKNOWN:
            self.inode = inode
        if self.file:
            self.file.mine = True
            if self.file.inode == UNKNOWN:
                self.file.inode = inode

    def relevant(self) -> bool:
        """Whether the call is on a file of the device."""
        return bool(self.operation) and (self.mine or (self.file is not None and self.file.mine))

    def messages(self) -> Iterable[Message]:
        """The enter and leave messages, if the event is in the recording."""
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
    """Processes the events in the order of time."""

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
            # lost events may have closed files and completed requests
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
            self.lost += before.relevant()
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
        """The file of a descriptor argument, or of an io_uring request."""
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
        # the first event of a thread may be the end of a call that began before the recording
        before = Call(event.pid, event.comm, "", UNKNOWN, event.cpu)
        call = self.open.get(event.pid, before)
        self.open[event.pid] = None
        known = syscall_table.CALLS.get(event.name)
        if call is None or known is None:
            return
        if call.start == UNKNOWN and not self.losses:
            call.operation, call.name = known.operation, event.name
        if call.name != event.name or self.lossy(call, event):
            self.lost += call.relevant()
            return
        call.end, call.result = event.time, event.values[0]
        if known.subject == syscall_table.OPENS and call.result >= 0:
            # a new file, whatever had this descriptor before
            call.file = self.files[event.group, syscall_table.FILE, call.result] = File()
        self.calls.append(call)

    def lossy(self, call: Call, end: Event) -> bool:
        """Whether events were lost on its CPUs since it began, so that begin and end may be of different calls."""
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
        """The current call of this thread accesses the device."""
        if event.pid not in self.open:
            # unknown: in a call that began before the recording, whose end will name it, or in none
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
        """All messages from `start` on, and the names of their threads."""
        left = [call for call in self.open.values() if call and call.start != UNKNOWN]
        found, names = [message for message in self.at if message[0] >= start], {}
        for call in [*self.calls, *left, *self.requests.values()]:
            if call.relevant() and (call.end == UNKNOWN or call.end >= start):
                found += [message for message in call.messages() if message[0] >= start]
                names[call.pid] = call.comm
        return sorted(found, key=lambda message: message[0]), names


def signed(value: int) -> int:
    """A 64-bit value as a signed number."""
    return value - (1 << 64) if value >> 63 else value


def messages(text: Text, events: Events, shift: int, problems: list[Problem]) -> tuple[list[Message], dict[int, str]]:
    """The messages of calls on the device's files, in times of the block trace (`shift` ns later)."""
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
        problems.append(Problem(text.name, f"{found.lost} system calls whose beginning or end was lost are left out"))
    said, names = found.result(int(events.time[0]) - shift if len(events) else 0)
    return [(time + shift, pid, what) for time, pid, what in said], names


def shift_of(text: Text, events: Events) -> tuple[int, bool]:
    """The offset from tracefs times to block trace times, ns, and whether the clocks differ.

    Both recordings normally use the monotonic clock, and the offset is 0. Both also have the wall clock; if that
    shows that the clocks differ, the offset is computed from it. The wall clock may have been set during the
    recording, so the smallest offset of several marks is used.
    """
    noted = clock(events)
    if not noted or not text.walls:
        return 0, False
    shifts = [(noted[0] - noted[1]) - (time - wall) for time, wall in text.walls]
    best = min(shifts, key=abs)
    return (best, True) if abs(best) > SAME_CLOCK_NS else (0, False)


def merge(trace: Trace, text: Text) -> Trace:
    """Add the messages built from tracefs events to a block trace."""
    problems = list(text.problems)
    events = trace.events
    shift, different = shift_of(text, events)
    if different:
        problems.append(Problem(text.name, "its clock differs from that of the block trace: system calls are placed by "
                                           "the wall clock, to within some milliseconds"))
    if text.events and len(events) and (text.events[-1].time + shift < events.time[0]
                                        or text.events[0].time + shift > events.time[-1]):
        problems.append(Problem(text.name, "recorded at another time than the block trace: left out"))
        return Trace(events, trace.problems + problems, trace.lost, trace.unknown_actions)
    said, names = messages(text, events, shift, problems)
    known = set(events.pid[events.action == fmt.NOTE_PROCESS].tolist())
    device = text.devices[0] if text.devices else next(iter(trace.devices()), 0)
    new = bytearray()
    for pid, comm in names.items():
        # <...>: the kernel no longer has the name of the thread
        if pid not in known and not comm.startswith("<"):
            new += record(int(events.time[0]), fmt.NOTE_PROCESS, pid, device, comm.encode()[:15].ljust(16, b"\0"))
    for time, pid, what in said:
        new += record(time, fmt.NOTE_MESSAGE, pid, device, what.encode())
    merged = add(trace, Source(text.name, bytes(new)))
    merged.problems += problems
    return merged


def record(time: int, action: int, pid: int, device: int, payload: bytes) -> bytes:
    """A blktrace record, version 1."""
    what = (action - fmt.NOTE) | fmt.NOTIFY << fmt.CATEGORY_SHIFT
    return HEADER.pack(fmt.MAGIC | 7, 0, time, 0, 0, what, pid, device, 0, 0, len(payload)) + payload
