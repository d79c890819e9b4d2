# SPDX-License-Identifier: GPL-2.0
"""Parses BASE.tracefs (tracefs_capture.py): lines of trace_pipe, one event each.

No input makes the parser fail: it leaves out lines that it cannot parse, and counts them.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field

from . import syscall_table
from .blktrace_format import device_number
from .parse import Problem
from .tracefs_capture import END, WALL

# comm-tid (tgid) [cpu] flags seconds.microseconds: name: text; a comm may contain spaces, and an
# unknown tgid is (-------)
LINE = re.compile(r" *(.{0,64}?)-(\d{1,10}) +(?:\( *(\d{1,10}|-+)\) +)?\[(\d{1,6})\] +(?:\S+ +)?"
                  r"(\d{1,10})\.(\d{6}): ([^ :]+): (.*)")
LOST = re.compile(r"CPU:(\d{1,6}) \[LOST (?:(\d{1,18}) )?EVENTS\]")
ENTER = re.compile(r"NR (-?\d{1,9}) \(([0-9a-f]{1,16}(?:, [0-9a-f]{1,16}){5})\)$")
LEAVE = re.compile(r"NR (-?\d{1,9}) = (-?\d{1,19})$")
# dev=8:1 ino=1f ofs=4096-8191, or "dev 8:1 ino 1f pfn=0x1 ofs=4096"; for read-ahead index=1, in pages
PAGES = re.compile(r"dev[ =](\d{1,4}):(\d{1,7}) ino[ =]([0-9a-f]{1,16})\b.*?\b(?:ofs=(\d{1,19})(?:-(\d{1,19}))?|"
                   r"index=(\d{1,16}) (?:req_count=(\d{1,16}))?)")
URING = re.compile(r"ring \S+ req (\S+) user_data (\S+),")
OPCODE = re.compile(r"opcode (\w{1,32}),")
RESULT = re.compile(r"result (-?\d{1,10})\b")
DESCRIPTOR = re.compile(r"\bfd (\d{1,10})$")
MARK = re.compile(re.escape(WALL) + r" (\d{1,19})$")

SUBMITTED = ("io_uring_submit_req", "io_uring_submit_sqe")
CACHED = ("mm_filemap_get_pages", "mm_filemap_add_to_page_cache", "page_cache_sync_ra")
FAULT = "mm_filemap_fault"
# read-ahead events count pages; the page size is not recorded: too small for machines with larger pages
PAGE = 4096


@dataclass(slots=True)
class Event:
    """An event of a thread of the process `group`; `time` in ns of the monotonic clock, exact to a microsecond.

    `what`: enter, leave, cache, ahead, fault, submit, file, complete; lost: events lost on this CPU before the next.
    `name`: name of the system call, or opcode of the io_uring request.
    `values`: arguments; result; device, inode, offset and length (0: unknown); or descriptor.
    `key`: identifies an io_uring request.
    """

    time: int
    pid: int
    group: int
    cpu: int
    comm: str
    what: str
    name: str = ""
    values: tuple[int, ...] = ()
    key: str = ""


@dataclass
class Text:
    """The contents of a file; `walls`: pairs of a time and the wall clock at that time, ns."""

    name: str
    machine: str = ""
    devices: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    walls: list[tuple[int, int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read(name: str, data: bytes) -> Text:
    """Parse a file; the events are sorted by time."""
    found = Text(name)
    # lines end with \n only: names may contain all other line separators
    lines = data.decode("utf-8", "replace").split("\n")
    whole, cut = len(lines) > 1 and lines[-2] == END, lines.pop()
    reader = _Reader(found)
    for number, line in enumerate(lines, 1):
        reader.take(number, line)
    for event in found.events:
        # the kernel learns the process of a thread when the thread is scheduled
        event.group = reader.owners.get(event.pid, event.pid)
    found.events.sort(key=lambda event: event.time)
    found.problems += reader.problems()
    if not whole:
        half = " in the middle of a line" if cut else ""
        found.problems.append(Problem(name, f"the file ends{half} before the recording did: later system calls are "
                                            "missing"))
    return found


class _Reader:
    """Parses the lines."""

    def __init__(self, found: Text) -> None:
        self.found = found
        self.names: dict[int, str] = {}
        self.bad = 0
        self.first_bad = 0
        self.lost = 0
        self.lost_of: set[int] = set()
        self.owners: dict[int, int] = {}

    def take(self, number: int, line: str) -> None:
        if not line:
            return
        if line.startswith("#"):
            known = self.head(line)
        elif lost := LOST.match(line):
            # its time is that of the next event on this CPU
            self.lost_of.add(int(lost[1]))
            self.lost += int(lost[2] or 1)
            known = True
        else:
            known = self.event(line)
        if not known:
            self.bad += 1
            self.first_bad = self.first_bad or number

    def head(self, line: str) -> bool:
        """A line of the header, or the end."""
        words = line.split()
        if words[1:3] == ["blkviz", "tracefs"] and len(words) == 4:
            self.found.machine = words[3]
            numbers = syscall_table.MACHINES.get(words[3], {})
            self.names = {number: name for name, number in numbers.items()}
        elif words[1:2] == ["device"]:
            try:
                self.found.devices = [device_number(word) for word in words[2:]]
            except ValueError:
                return False
        return line == END or words[1:2] == ["device"] or bool(self.names)

    def event(self, line: str) -> bool:
        match = LINE.fullmatch(line)
        if not match:
            return False
        comm, pid, group, cpu, seconds, micros, name, text = match.groups()
        time = int(seconds) * 10**9 + int(micros) * 1000
        if mark := MARK.match(text):
            self.found.walls.append((time, int(mark[1])))
            return True
        what = self.payload(name, text)
        if not what:
            return False
        thread = int(pid)
        if int(cpu) in self.lost_of:
            self.lost_of.remove(int(cpu))
            self.found.events.append(Event(time, -1, -1, int(cpu), "", "lost"))
        if group and group.isdigit():
            self.owners[thread] = int(group)
        self.found.events.append(Event(time, thread, thread, int(cpu), sys.intern(comm), *what))
        return True

    def payload(self, name: str, text: str) -> tuple[str, str, tuple[int, ...], str] | None:
        if name == "sys_enter" and (match := ENTER.match(text)):
            arguments = tuple(int(word, 16) for word in match[2].split(", "))
            return "enter", self.names.get(int(match[1]), ""), arguments, ""
        if name == "sys_exit" and (match := LEAVE.match(text)):
            return "leave", self.names.get(int(match[1]), ""), (int(match[2]),), ""
        if name in CACHED or name == FAULT:
            return self.pages(name, text)
        if name.startswith("io_uring_") and (match := URING.match(text.replace(", ", " ", 2))):
            return self.uring(name, text, f"{match[1]} {match[2]}")
        return None

    def pages(self, name: str, text: str) -> tuple[str, str, tuple[int, ...], str] | None:
        match = PAGES.match(text)
        if not match:
            return None
        major, minor, inode, offset, last, index, count = match.groups()
        if offset is not None:
            place, length = int(offset), int(last) + 1 - int(offset) if last else PAGE * (name == FAULT)
        else:
            place, length = int(index) * PAGE, int(count or 0) * PAGE
        what = {FAULT: "fault", "page_cache_sync_ra": "ahead"}.get(name, "cache")
        return what, name, (int(major) << 20 | int(minor), int(inode, 16), place, length), ""

    def uring(self, name: str, text: str, key: str) -> tuple[str, str, tuple[int, ...], str] | None:
        if name in SUBMITTED and (match := OPCODE.search(text)):
            return "submit", match[1].lower(), (), key
        if name == "io_uring_complete" and (match := RESULT.search(text)):
            return "complete", "", (int(match[1]),), key
        if name == "io_uring_file_get" and (match := DESCRIPTOR.search(text.rstrip())):
            return "file", "", (int(match[1]),), key
        return None

    def problems(self) -> list[Problem]:
        texts = []
        if not self.names:
            texts.append("the machine type is missing or unknown: no system calls")
        if self.bad:
            texts.append(f"{self.bad} damaged line{'s' * (self.bad > 1)} left out, the first is line {self.first_bad}")
        if self.lost:
            texts.append(f"{self.lost} events were lost while recording: system calls are missing")
        return [Problem(self.found.name, text) for text in texts]
