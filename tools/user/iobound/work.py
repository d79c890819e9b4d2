# SPDX-License-Identifier: GPL-2.0
"""Extracts the data requests of a trace, and the barriers between which each was queued.

A barrier is a message with the text `barrier`, written to `msg` in the debugfs folder of a trace: requests queued
after it depend on those queued before. Lunde, Improving Disk I/O Performance on Linux (2009), section 2.3.11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import model, trace_files
from tools.user.blkviz.errors import NoTraceError
from tools.user.blkviz.parse import SECTOR_LIMIT
from tools.user.blkviz.tables import Model

BARRIER = "barrier"
PASSTHROUGH = 1 << 9  # BLK_TC_PC: a passthrough command, without a sector
NO_DATA = fmt.DISCARD | fmt.WRITE_ZEROES | fmt.ZONE_BITS | PASSTHROUGH


@dataclass(frozen=True)
class Request:
    """One data request, read or write. Sectors have 512 bytes.

    @segment: number of barriers before it was queued
    """

    sector: int
    sectors: int
    segment: int = 0

    @property
    def end(self) -> int:
        return self.sector + self.sectors

    @property
    def bytes(self) -> int:
        return self.sectors * fmt.SECTOR_BYTES


@dataclass(frozen=True)
class Work:
    """All data requests of a trace, in the order of dispatch.

    @rows: index of each request in the model's table
    @asked: index of each request's first event: in virtual time, many events have the same time
    @barriers: number of barriers in the trace
    @seconds: from the first dispatch to the last completion
    """

    requests: Sequence[Request]
    rows: Sequence[int]
    asked: Sequence[int]
    barriers: int
    seconds: float
    model: Model = field(repr=False)

    @property
    def bytes(self) -> int:
        return sum(request.bytes for request in self.requests)


def read(arguments: Sequence[str], device: int | None = None) -> Work:
    """Read one device of a recording; NoTraceError if it is not one, or has no data requests."""
    trace, notes = trace_files.read(arguments)
    return of_model(model.build(trace, notes, device))


def of_model(found: Model) -> Work:
    """The data requests; writes count as reads. Flushes, discards and damaged requests are left out."""
    requests = found.requests
    length = requests.length
    whole = (length > 0) & (length % fmt.SECTOR_BYTES == 0) & (requests.sector + length // 512 < SECTOR_LIMIT)
    rows = np.flatnonzero(whole & (requests.sector >= 0) & ((requests.category & NO_DATA) == 0))
    if not len(rows):
        raise NoTraceError(f"none of the {len(requests)} requests of the trace is for data: "
                           "record one while the program reads")
    asked = requests.events[requests.first_event[rows]]
    notes = barriers(found)
    made = [Request(*row) for row in zip(requests.sector[rows].tolist(), (length[rows] // 512).tolist(),
                                         np.searchsorted(notes, asked).tolist(), strict=True)]
    first, last = np.maximum(requests.dispatched[rows], found.start).min(), requests.completed[rows].max()
    return Work(made, rows.tolist(), asked.tolist(), len(notes), float(last - first) / 1e9, found)


def barriers(found: Model) -> NDArray[np.int64]:
    """The indices of the messages with the text `barrier`, in order."""
    notes = np.flatnonzero(found.events.action == fmt.NOTE_MESSAGE).tolist()
    return np.array([note for note in notes if found.events.text(note) == BARRIER], dtype=np.int64)
