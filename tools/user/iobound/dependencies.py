# SPDX-License-Identifier: GPL-2.0
"""Which request had to be there before which other, by the VFS messages of a trace: directory, inode, data.

A request belongs to the innermost operation that its process was in when it was queued. These come before it:

- in the same operation, what had come back when it was queued; of a read or a write only metadata,
  since data do not lead to data
- of an operation on an inode, the lookup that found the inode: the one that its process left last before
  anybody used the inode; and what opening it and stat() of it read
- of an inode whose lookup read nothing, the lookup of a near one: several are in a block, and blocks are read ahead
- of a lookup in a directory and of its next listing, the listings of it that had ended: the names

All of these operations had ended when the operation began, so that there are no circles. Times are numbers of
events: where a clock stands still, as in virtual time, many have the same time.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz.tables import UNKNOWN, Model

from .work import Work

DATA = frozenset({"vfs_read", "vfs_write"})
NAMING = frozenset({"vfs_lookup", "vfs_create"})  # their inode is the directory's
LISTING = "vfs_readdir"
ATTRIBUTES = frozenset({"vfs_open", "vfs_stat"})
NEAR_INODES = 512  # ext4: 16 in a block of 4 KiB, 32 blocks are read ahead


@dataclass
class Graph:
    """What must be there before what: the first numbers are requests, the others stand for several of them.

    @first: for each number, those that come directly before it
    """

    requests: int
    first: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = [[] for _ in range(self.requests)]

    def all_of(self, numbers: Sequence[int]) -> list[int]:
        """The same as one number at most."""
        different = list(dict.fromkeys(numbers))
        if len(different) < 2:
            return different
        self.first.append(different)
        return [len(self.first) - 1]


def of_work(work: Work) -> Graph:
    """The dependencies that the messages tell; without messages there are none."""
    graph = Graph(len(work.requests))
    begins, ends = _spans(work.model)
    inside, back = _requests_of_calls(work, begins, ends), _back(work)
    known = _Known(graph, work.model)
    told = operations(work.model)
    steps = [(begins[call], 0, call) for call in told] + [(ends[call], 1, call) for call in told]
    for _, ending, call in sorted(steps):
        if ending:
            known.leave(call)
        else:
            leading = inside[call]
            if known.operation(call) in DATA:
                leading = [number for number in leading
                           if work.model.requests.category[work.rows[number]] & fmt.META]
            _within(graph, work.asked, back, inside[call], leading, known.enter(call, inside[call]))
    return graph


def operations(found: Model) -> list[int]:
    """The calls that are operations of the VFS. Others, as io_uring's, do not nest: nothing is within one."""
    names = found.calls.operations
    return [call for call, op in enumerate(found.calls.op.tolist()) if names[op].startswith("vfs_")]


def _spans(found: Model) -> tuple[list[int], list[int]]:
    """The events in which the calls begin and end; of one that is lost, what was there at that time."""
    calls, events = found.calls, found.events
    ends = np.maximum(np.searchsorted(events.time, calls.end), calls.enter_event)
    return calls.enter_event.tolist(), np.where(calls.leave_event != UNKNOWN, calls.leave_event, ends).tolist()


def _requests_of_calls(work: Work, begins: Sequence[int], ends: Sequence[int]) -> dict[int, list[int]]:
    """The requests that were queued in each call, in that order."""
    requests = work.model.requests
    steps: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # of each process
    for call in operations(work.model):
        steps[int(work.model.calls.pid[call])].append((begins[call], 0, call))
    for number, row in enumerate(work.rows):
        if requests.queued[row] != UNKNOWN:
            steps[int(requests.pid[row])].append((work.asked[number], 1, number))
    inside: dict[int, list[int]] = defaultdict(list)
    for mine in steps.values():
        stack: list[int] = []
        for at, is_request, number in sorted(mine):
            while stack and ends[stack[-1]] < at:
                stack.pop()
            if not is_request:
                stack.append(number)
            elif stack:
                inside[stack[-1]].append(number)
    return inside


class _Known:
    """What has to be there for what is known, while calls begin and end, as numbers of the graph."""

    def __init__(self, graph: Graph, found: Model) -> None:
        self.graph, self.calls = graph, found.calls
        self.going: dict[int, tuple[list[int], list[int]]] = {}  # by call: what comes before it, and its requests
        self.found: dict[int, tuple[list[int], bool]] = {}  # by a process's last lookup; whether that read
        self.inode: dict[int, list[int]] = {}
        self.read: list[int] = []  # inodes whose lookups did read
        self.listed: dict[int, list[int]] = {}

    def operation(self, call: int) -> str:
        return self.calls.operations[int(self.calls.op[call])]

    def enter(self, call: int, made: list[int]) -> list[int]:
        """What comes before a call that begins. @made: its requests"""
        inode, operation = int(self.calls.inode[call]), self.operation(call)
        if inode not in self.inode:
            self.inode[inode] = self._of_lookup(inode, int(self.calls.pid[call]))
        needs = self.inode[inode]
        if operation in NAMING or operation == LISTING:
            needs = self.graph.all_of(needs + self.listed.get(inode, []))
        self.going[call] = needs, made
        return needs

    def _of_lookup(self, inode: int, pid: int) -> list[int]:
        """What comes before an inode that is used the first time."""
        if pid not in self.found:
            return []
        numbers, has_read = self.found.pop(pid)
        if has_read:
            insort(self.read, inode)
            return numbers
        place = bisect_left(self.read, inode)
        near = [other for other in self.read[max(0, place - 1):place + 1] if abs(other - inode) < NEAR_INODES]
        neighbour = min(near, key=lambda other: abs(other - inode), default=None)
        return self.graph.all_of(numbers + ([] if neighbour is None else self.inode[neighbour]))

    def leave(self, call: int) -> None:
        inode, operation = int(self.calls.inode[call]), self.operation(call)
        needs, made = self.going.pop(call)
        if operation in NAMING:
            self.found[int(self.calls.pid[call])] = self.graph.all_of(made) or needs, bool(made)
        elif made and operation == LISTING:
            self.listed[inode] = self.graph.all_of(made)
        elif made and operation in ATTRIBUTES:
            self.inode[inode] = self.graph.all_of(self.inode[inode] + made)


def _back(work: Work) -> list[float]:
    """The event with which each request was back; of one that was not seen to be, never."""
    requests, ended = work.model.requests, work.model.requests.ended()
    last = requests.events[requests.first_event[1:] - 1]
    back: list[float] = np.where(ended, last, np.inf)[work.rows].tolist()
    return back


def _within(graph: Graph, asked: Sequence[int], back: Sequence[float], made: list[int], leading: list[int],
            needs: list[int]) -> None:
    """Dependencies of a call's own requests, which are in the order in which they were queued.

    @leading: those of them that lead to others
    @needs: what comes before all of them
    """
    arrivals = deque(sorted((back[number], number) for number in leading))
    there = needs
    for number in made:
        new = []
        while arrivals and arrivals[0][0] < asked[number]:
            new.append(arrivals.popleft()[1])
        if new:
            there = graph.all_of(there + new)
        graph.first[number] = [*there]
