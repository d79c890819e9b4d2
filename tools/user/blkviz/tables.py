# SPDX-License-Identifier: GPL-2.0
"""The tables of a recording: requests, system calls, slices, series of values, and processes.

All times are ns of the trace's clock; UNKNOWN marks an event that is not in the trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import blktrace_format as fmt
from .parse import Events, Lost

UNKNOWN = -1

# Kinds of requests by the time in the drive: an estimate, for rotating disks only.
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
    """One row per request, sorted by the time of dispatch.

    `events` has the indices of the events of all requests; those of request i are at
    `first_event[i]` to `first_event[i + 1]`. `deadline`: deadline from a reservation, from
    CFQ's message at the dispatch, or UNKNOWN.
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
    deadline: NDArray[np.int64]
    first_event: NDArray[np.int64]
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pid)

    def events_of(self, index: int) -> list[int]:
        first, last = self.first_event[index], self.first_event[index + 1]
        return [int(event) for event in self.events[first:last]]

    def ended(self) -> NDArray[np.bool_]:
        """Requests whose completion is in the trace."""
        there: NDArray[np.bool_] = (self.flags & (NO_COMPLETION | LOST_COMPLETION)) == 0
        return there

    def finished(self) -> NDArray[np.bool_]:
        """Requests whose dispatch and completion are in the trace."""
        whole: NDArray[np.bool_] = self.ended() & ((self.flags & NO_DISPATCH) == 0)
        return whole

    def judged(self) -> NDArray[np.bool_]:
        """Requests that are known to have met or missed a deadline."""
        known: NDArray[np.bool_] = self.finished() & (self.deadline != UNKNOWN)
        return known

    def left(self) -> NDArray[np.int64]:
        """Slack: time from completion to deadline, ns. Negative: deadline missed. 0 if unknown."""
        return np.where(self.judged(), self.deadline - self.completed, 0)

    def slack(self) -> Series:
        """The slack of the requests with a deadline, us, sorted by the time of completion."""
        which = np.flatnonzero(self.judged())
        which = which[np.argsort(self.completed[which], kind="stable")]
        return Series(self.pid[which], self.completed[which], self.left()[which] // 1000)

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
    """One row per system call, sorted by the time of entry; `op` indexes `operations`."""

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
        """Calls that opened a file successfully."""
        those: NDArray[np.bool_] = self.of("vfs_open") & (self.result >= 0) & ((self.flags & NO_LEAVE) == 0)
        return those

    def of(self, operation: str) -> NDArray[np.bool_]:
        if operation not in self.operations:
            return np.zeros(len(self), dtype=np.bool_)
        those: NDArray[np.bool_] = self.op == self.operations.index(operation)
        return those


@dataclass
class Slices:
    """One row per time slice of CFQ; `why` indexes messages.EXPIRED."""

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
    """A series of values with their processes: tokens (bytes), slack (us), idle waits (us)."""

    pid: NDArray[np.int64]
    time: NDArray[np.int64]
    value: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.pid)


@dataclass
class Process:
    """A process, and the statistics of its I/O.

    The process counts as active from its first request or call (`first`) to the end of the last one (`last`, ns of
    the recording), plus one mean pause between these (`pause`): a stream that reads once a second is active for a
    second after its last read. Rates are per second of this time. `met`, `missed`: its requests with a deadline.
    """

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
    first: int = 0
    last: int = 0
    pause: int = 0
    met: int = 0
    missed: int = 0

    def time_in(self, t0: float, t1: float) -> float:
        """How much of [t0, t1] the process was active, ns."""
        there = min(self.last, t1) - max(self.first, t0)
        return min(there + self.pause, t1 - t0) if there >= 0 else 0


@dataclass
class Model:
    """All data of a recording that is shown; `series` by name: idles, preemptions, and those of the panels."""

    events: Events
    start: int
    end: int
    device: int
    clock: float | None
    requests: Requests
    calls: Calls
    slices: Slices
    series: dict[str, Series]
    processes: list[Process]
    lost: list[Lost]
    dropped: int = 0
    problems: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9

    @property
    def begin(self) -> int:
        """Time of the first event of I/O; process names and the wall clock are written when a recording starts."""
        noted = (self.events.action == fmt.NOTE_PROCESS) | (self.events.action == fmt.NOTE_TIMESTAMP)
        happened = np.flatnonzero(~noted)
        return int(self.events.time[happened[0]]) if len(happened) else self.start


def columns(rows: list[list[int]] | list[tuple[int, int, int]],
            names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    """The columns of rows, by name."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(names)}
