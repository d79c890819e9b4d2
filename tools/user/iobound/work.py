# SPDX-License-Identifier: GPL-2.0
"""What a trace asked of the disk: its data requests, and between which barriers each was queued.

Written to `msg` of a trace's folder in debugfs, `barrier` is a note of the trace: what is queued behind it
depends on what was queued before. Lunde, Improving Disk I/O Performance on Linux (2009), section 2.3.11.
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
PASSTHROUGH = 1 << 9  # BLK_TC_PC: a command of its own, whose sector is none
NO_DATA = fmt.DISCARD | fmt.WRITE_ZEROES | fmt.ZONE_BITS | PASSTHROUGH


@dataclass(frozen=True)
class Request:
    """One request for data, whichever way that went. Sectors are of 512 bytes.

    @segment: how many barriers were there before it was queued
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
    """All of a trace, in the order of dispatch.

    @rows: where each request is in the model's table
    @asked: the number of each request's first event; times may be the same, where a clock stands still
    @barriers: notes in the trace
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
    """Read a recording as blkviz does, of one device; NoTraceError if it is none or has no data request."""
    trace, notes = trace_files.read(arguments)
    return of_model(model.build(trace, notes, device))


def of_model(found: Model) -> Work:
    """The data requests; writes as reads, without flushes, discards and what damage has made of a request."""
    requests = found.requests
    length = requests.length
    whole = (length > 0) & (length % fmt.SECTOR_BYTES == 0) & (requests.sector + length // 512 < SECTOR_LIMIT)
    rows = np.flatnonzero(whole & (requests.sector >= 0) & ((requests.category & NO_DATA) == 0))
    if not len(rows):
        raise NoTraceError(f"no request for data among the trace's {len(requests)}: record one while the program reads")
    asked = requests.events[requests.first_event[rows]]
    notes = barriers(found)
    made = [Request(*row) for row in zip(requests.sector[rows].tolist(), (length[rows] // 512).tolist(),
                                         np.searchsorted(notes, asked).tolist(), strict=True)]
    first, last = np.maximum(requests.dispatched[rows], found.start).min(), requests.completed[rows].max()
    return Work(made, rows.tolist(), asked.tolist(), len(notes), float(last - first) / 1e9, found)


def barriers(found: Model) -> NDArray[np.int64]:
    """The numbers of the notes that say `barrier` and nothing else, in order."""
    notes = np.flatnonzero(found.events.action == fmt.NOTE_MESSAGE).tolist()
    return np.array([note for note in notes if found.events.text(note) == BARRIER], dtype=np.int64)
