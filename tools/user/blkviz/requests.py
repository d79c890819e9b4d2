# SPDX-License-Identifier: GPL-2.0
"""Builds requests from the events of a device.

A request belongs to the process that queued it, since dispatch and completion run in
the context of any process. The bios of a request are found by the sectors that the
dispatched request covers, which handles merges and splits too.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from . import blktrace_format as fmt
from .tables import LOST_COMPLETION, NO_COMPLETION, NO_DISPATCH, UNKNOWN, Requests

T = TypeVar("T")


class Bio:
    """A bio that was queued and is not dispatched yet; `origin`: its remap and queue events."""

    __slots__ = ("end", "events", "origin", "pid", "queued")

    def __init__(self, end: int, pid: int, queued: int, origin: tuple[int, ...]) -> None:
        self.end, self.pid, self.queued, self.origin = end, pid, queued, origin
        self.events = list(origin)


@dataclass
class Announced:
    """CFQ's messages about a request before its dispatch event; `deadline`: ns, or UNKNOWN."""

    events: list[int]
    cls: int
    deadline: int


class Queues(Generic[T]):
    """A first-in first-out queue for each sector.

    Nearly all queues hold one element, for which a deque would be too large. Removing the
    first element of a long list would be too slow, so the number of those taken is kept.
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
        """Remove and return the first element."""
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
    """Builds the requests of a device, one event after the other."""

    COLUMNS = ("pid", "queued", "dispatched", "completed", "sector", "length", "category",
               "error", "cls", "flags", "deadline")

    def __init__(self) -> None:
        self.columns = {name: array("q") for name in self.COLUMNS}
        self.events: list[list[int]] = []
        self.waiting: dict[int, Queues[Bio]] = {way: Queues() for way in (0, fmt.WRITE)}
        self.remaps: dict[int, int] = {}
        self.in_flight: dict[int, Queues[int]] = {way: Queues() for way in (0, fmt.WRITE)}
        self.left: dict[int, int] = {}
        self.requeued: dict[int, Queues[int]] = {way: Queues() for way in (0, fmt.WRITE)}
        self.announced: dict[int, Announced] = {}
        self.lost_until = UNKNOWN

    # --- before the dispatch ---

    def remap(self, event: int, sector: int) -> None:
        self.remaps[sector] = event

    def queue(self, event: int, time: int, sector: int, length: int, pid: int, write: int) -> None:
        remap = self.remaps.pop(sector, None)
        origin = (event,) if remap is None else (remap, event)
        self.waiting[write].add(sector, Bio(sector + length // fmt.SECTOR_BYTES, pid, time, origin))

    def touch(self, event: int, sector: int, write: int) -> None:
        """An event of a queued bio: merged, inserted, ..."""
        bio = self.waiting[write].last(sector) or self.waiting[write ^ fmt.WRITE].last(sector)
        if bio:
            bio.events.append(event)

    def announce(self, event: int, sector: int, cls: int, deadline: int) -> None:
        """CFQ's message about a dispatch, with the class and the deadline (or UNKNOWN)."""
        self.announced[sector] = Announced([event], cls, deadline)

    def add_message(self, event: int, sector: int, deadline: int) -> None:
        """Another message about a request that CFQ dispatches."""
        if announced := self.announced.get(sector):
            announced.events.append(event)
            announced.deadline = deadline

    def split(self, event: int, sector: int, length: int, write: int) -> None:
        """Split a bio; the first part becomes a bio of its own."""
        self.touch(event, sector, write)
        bio, at = self.waiting[write].last(sector), sector + length // fmt.SECTOR_BYTES
        if bio and bio.end > at > sector:
            self._divide(bio, at, write).events.append(event)

    def _divide(self, bio: Bio, at: int, write: int) -> Bio:
        """Cut a bio. The rest keeps the origin only: repeated splits would copy all earlier events each time."""
        rest = Bio(bio.end, bio.pid, bio.queued, bio.origin)
        self.waiting[write].add(at, rest)
        bio.end = at
        return rest

    # --- dispatch and after ---

    def dispatch(self, event: int, time: int, sector: int, length: int, pid: int,
                 category: int) -> None:
        write = category & fmt.WRITE
        request = self.requeued[write].take(sector)
        if request is None:
            bios = self._covered(sector, length, write)
            request = self._new(bios, time, sector, length, pid, category)
        else:
            self.columns["dispatched"][request] = time
        self.events[request].append(event)
        if (announced := self.announced.pop(sector, None)) is not None:
            self.columns["cls"][request] = announced.cls
            self.columns["deadline"][request] = announced.deadline
            self.events[request] += announced.events
        # The completion of an earlier request there may be among the lost events.
        for flying in self.in_flight.values():
            while ((older := flying.first(sector)) is not None
                   and self.columns["dispatched"][older] < self.lost_until):
                flying.take(sector)
                self.columns["flags"][older] |= LOST_COMPLETION
        self.in_flight[write].add(sector, request)
        self.left[request] = length

    def _covered(self, sector: int, length: int, write: int) -> list[Bio]:
        """Take the queued bios that a request consists of."""
        end = sector + length // fmt.SECTOR_BYTES
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
        row = (owner, queued, time, UNKNOWN, sector, length, category, 0, 0, 0, UNKNOWN)
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
        flying = self.in_flight[category & fmt.WRITE]
        request = flying.take(sector)
        if request is None:
            self._complete_unseen(event, time, sector, length, pid, category, error)
            return
        self.events[request].append(event)
        left = self.left[request] - length
        if left > 0 and length and not error:
            self.left[request] = left
            flying.add(sector + length // fmt.SECTOR_BYTES, request)
            return
        self.columns["completed"][request] = time
        self.columns["error"][request] = error
        del self.left[request]

    def _complete_unseen(self, event: int, time: int, sector: int, length: int, pid: int,
                         category: int, error: int) -> None:
        """A completion without a dispatch: dispatched before the trace, or on a bio-based device."""
        bios = self._covered(sector, length, category & fmt.WRITE)
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
        """All requests; those in flight at the end of the trace, `last`, are marked as unfinished."""
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
