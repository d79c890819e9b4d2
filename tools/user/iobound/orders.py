# SPDX-License-Identifier: GPL-2.0
"""Orders in which the requests of a trace can be served, one after the other.

All but `file` are permutations of the requests of the trace. Lunde, Improving Disk I/O Performance on Linux (2009),
section 2.3.11, sorts by sector within barriers; `dependencies` and `file` are additions of this tool.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tools.user.blkviz.errors import NoTraceError

from . import dependencies
from .dependencies import Graph
from .work import BARRIER, Request, Work

Requests = Sequence[Request]


def original(work: Work) -> Requests:
    """The original order of dispatch."""
    return work.requests


def sweep(work: Work) -> Requests:
    """One sweep: sorted by sector."""
    return sorted(work.requests, key=lambda one: one.sector)


def barriers(work: Work) -> Requests:
    """One sweep between each two barriers."""
    return sorted(work.requests, key=lambda one: (one.segment, one.sector))


def depending(work: Work) -> Requests:
    """C-SCAN over the requests that dependencies and barriers allow at the time."""
    return [work.requests[number] for number in scan(work.requests, dependencies.of_work(work))]


def as_file(work: Work) -> Requests:
    """One sweep over a disk without the sectors that were not requested, from the lowest one on."""
    swept = sweep(work)
    gap, reached, moved = 0, swept[0].sector, []
    for request in swept:
        gap += max(0, request.sector - reached)
        reached = max(reached, request.end)
        moved.append(replace(request, sector=request.sector - gap))
    return moved


def scan(requests: Requests, graph: Graph) -> list[int]:
    """The indices of the requests in C-SCAN order.

    The next request is one of the first unfinished segment whose dependencies are served: the lowest one that is
    not below the last one or, if there is none, the lowest.
    """
    free = _Free(graph)
    segments = sorted({request.segment for request in requests})
    left = Counter(request.segment for request in requests)
    released: dict[int, list[int]] = {segment: [] for segment in segments}
    for number in free.first():
        released[requests[number].segment].append(number)
    served: list[int] = []
    for segment in segments:
        head = _Head(requests)
        for number in released[segment]:
            head.add(number)
        for _ in range(left[segment]):
            served.append(head.next())
            for number in free.by(served[-1]):
                if requests[number].segment == segment:
                    head.add(number)
                else:
                    released[requests[number].segment].append(number)
    return served


class _Head:
    """Requests that can be served, and the head position, which starts below the lowest sector."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.at = 0
        self.ahead: list[tuple[int, int]] = []
        self.behind: list[tuple[int, int]] = []

    def add(self, number: int) -> None:
        sector = self.requests[number].sector
        heapq.heappush(self.ahead if sector >= self.at else self.behind, (sector, number))

    def next(self) -> int:
        if not self.ahead:
            self.ahead, self.behind = self.behind, self.ahead
        self.at, number = heapq.heappop(self.ahead)
        return number


class _Free:
    """Finds requests without unserved dependencies."""

    def __init__(self, graph: Graph) -> None:
        self.requests = graph.requests
        self.waits = [len(first) for first in graph.first]
        self.after: list[list[int]] = [[] for _ in graph.first]
        for number, first in enumerate(graph.first):
            for before in first:
                self.after[before].append(number)

    def first(self) -> list[int]:
        return [number for number in range(self.requests) if not self.waits[number]]

    def by(self, served: int) -> list[int]:
        """The requests whose last dependency was this one."""
        freed: list[int] = []
        done = [served]
        while done:
            for number in self.after[done.pop()]:
                self.waits[number] -= 1
                if not self.waits[number]:
                    (freed if number < self.requests else done).append(number)
        return freed


@dataclass(frozen=True)
class Order:
    """An order. @lacks: the data that it requires and the trace lacks, or ""."""

    title: str
    make: Callable[[Work], Requests]
    lacks: Callable[[Work], str]


def _nothing(_: Work) -> str:
    return ""


def _barriers(work: Work) -> str:
    return "" if work.barriers else f"no messages '{BARRIER}'"


def _messages(work: Work) -> str:
    return "" if dependencies.operations(work.model) else "no messages of VFS operations"


ORDERS = {
    "original": Order("original", original, _nothing),
    "sweep": Order("one sweep", sweep, _nothing),
    "barriers": Order("sweep within barriers", barriers, _barriers),
    "dependencies": Order("within dependencies", depending, _messages),
    "file": Order("as one file", as_file, _nothing),
}


def make(work: Work, name: str) -> Requests:
    """The requests in this order; NoTraceError if the trace lacks the data for it."""
    order = ORDERS[name]
    if lacks := order.lacks(work):
        raise NoTraceError(f"--order {name}: the trace has {lacks}: record one that has, or choose another order")
    return order.make(work)


def mean_distance(requests: Requests) -> float:
    """Mean distance from the end of a request to the next one, in sectors; 0 for a single request."""
    distances = [abs(after.sector - before.end) for before, after in pairwise(requests)]
    return sum(distances) / len(distances) if distances else 0.0
