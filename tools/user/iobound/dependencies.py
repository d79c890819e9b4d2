# SPDX-License-Identifier: GPL-2.0
"""Finds dependencies between requests, from the VFS messages of a trace: directory, inode, data.

A request belongs to the innermost operation of its process when it was queued. It depends on:

- in the same operation: requests that were complete when it was queued; in a read or a write only those for
  metadata, since data does not lead to other data
- in an operation on an inode: the lookup that found the inode (the last one that ended in the process before the
  first use of the inode), and the requests of its open and stat()
- for an inode whose lookup read nothing: the lookup of a nearby inode, since a block has several inodes and blocks
  are read ahead
- in a lookup in a directory, or its next listing: earlier listings of the directory, which have the names

All of these operations had ended when the operation began, so there are no cycles. Times are indices of events,
because in virtual time many events have the same time.
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
    """A dependency graph: the first nodes are requests, each of the others stands for several nodes.

    @first: for each node, its direct dependencies
    """

    requests: int
    first: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = [[] for _ in range(self.requests)]

    def all_of(self, numbers: Sequence[int]) -> list[int]:
        """At most one node that stands for all of these."""
        different = list(dict.fromkeys(numbers))
        if len(different) < 2:
            return different
        self.first.append(different)
        return [len(self.first) - 1]


def of_work(work: Work) -> Graph:
    """The dependencies of a trace; none if it has no VFS messages."""
    graph = Graph(len(work.requests))
    begins, ends = _spans(work.model)
    inside, back = _requests_of_calls(work, begins, ends), _back(work)
    known = _Known(graph, work.model)
    calls = operations(work.model)
    steps = [(begins[call], 0, call) for call in calls] + [(ends[call], 1, call) for call in calls]
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
    """The calls that are VFS operations. Others (io_uring) do not nest and contain no requests."""
    names = found.calls.operations
    return [call for call, op in enumerate(found.calls.op.tolist()) if names[op].startswith("vfs_")]


def _spans(found: Model) -> tuple[list[int], list[int]]:
    """The events at which the calls begin and end; if an event was lost, the one at that time."""
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
    """Tracks the dependencies of lookups, listings and inodes while calls begin and end, as nodes of the graph."""

    def __init__(self, graph: Graph, found: Model) -> None:
        self.graph, self.calls = graph, found.calls
        self.going: dict[int, tuple[list[int], list[int]]] = {}  # by call: its dependencies, and its requests
        self.found: dict[int, tuple[list[int], bool]] = {}  # by process: its last lookup, and whether that read
        self.inode: dict[int, list[int]] = {}
        self.read: list[int] = []  # inodes whose lookups did read
        self.listed: dict[int, list[int]] = {}

    def operation(self, call: int) -> str:
        return self.calls.operations[int(self.calls.op[call])]

    def enter(self, call: int, made: list[int]) -> list[int]:
        """The dependencies of a call that begins. @made: its requests"""
        inode, operation = int(self.calls.inode[call]), self.operation(call)
        if inode not in self.inode:
            self.inode[inode] = self._of_lookup(inode, int(self.calls.pid[call]))
        needs = self.inode[inode]
        if operation in NAMING or operation == LISTING:
            needs = self.graph.all_of(needs + self.listed.get(inode, []))
        self.going[call] = needs, made
        return needs

    def _of_lookup(self, inode: int, pid: int) -> list[int]:
        """The dependencies of an inode at its first use."""
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
    """The completion event of each request; infinitely late if it is not in the trace."""
    requests, ended = work.model.requests, work.model.requests.ended()
    last = requests.events[requests.first_event[1:] - 1]
    back: list[float] = np.where(ended, last, np.inf)[work.rows].tolist()
    return back


def _within(graph: Graph, asked: Sequence[int], back: Sequence[float], made: list[int], leading: list[int],
            needs: list[int]) -> None:
    """Dependencies of a call's own requests, which are in the order in which they were queued.

    @leading: those of them that others may depend on
    @needs: dependencies of all of them
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
