# SPDX-License-Identifier: GPL-2.0
"""Requests, from the events of a device.

A request belongs to the process that queued it: dispatch and completion run in the
context of any process. What is queued (a bio) is found again in the request that is
dispatched by the sectors that this covers, which also follows merges and splits.
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
    """A piece of I/O that was queued and not dispatched yet; `origin`: the events of its queueing."""

    __slots__ = ("end", "events", "origin", "pid", "queued")

    def __init__(self, end: int, pid: int, queued: int, origin: tuple[int, ...]) -> None:
        self.end, self.pid, self.queued, self.origin = end, pid, queued, origin
        self.events = list(origin)


@dataclass
class Announced:
    """What CFQ has said of a request before it is dispatched; `deadline`: ns, or UNKNOWN."""

    events: list[int]
    cls: int
    deadline: int


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
        """An event of a bio that waits: merged, inserted, ..."""
        bio = self.waiting[write].last(sector) or self.waiting[write ^ fmt.WRITE].last(sector)
        if bio:
            bio.events.append(event)

    def announce(self, event: int, sector: int, cls: int, deadline: int) -> None:
        """CFQ says what it dispatches, in which class, and when the data is to be there, or UNKNOWN."""
        self.announced[sector] = Announced([event], cls, deadline)

    def more_said(self, event: int, sector: int, deadline: int) -> None:
        """One more message about a request that is about to be dispatched."""
        if announced := self.announced.get(sector):
            announced.events.append(event)
            announced.deadline = deadline

    def split(self, event: int, sector: int, length: int, write: int) -> None:
        """The first part of a bio becomes one of its own."""
        self.touch(event, sector, write)
        bio, at = self.waiting[write].last(sector), sector + length // fmt.SECTOR_BYTES
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
        """A completion without a dispatch: from before the trace, or a device without requests."""
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
