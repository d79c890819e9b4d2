# SPDX-License-Identifier: GPL-2.0
"""Statistics of each process: bandwidth, requests, system calls, deadlines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import blktrace_format as fmt
from .panels import BAND_NS
from .tables import LOST_COMPLETION, Model, Process


def processes(model: Model, names: dict[int, str]) -> list[Process]:
    """All processes with requests or calls, those with the most bytes first."""
    requests, calls = model.requests, model.calls
    found = {pid: Process(pid, names.get(pid, "?"))
             for pid in np.unique(np.concatenate([requests.pid, calls.pid])).tolist()}
    done = requests.ended()
    _count(found, requests.pid[done], requests.length[done], "requests", "bytes")
    judged, late = requests.judged(), requests.left() < 0
    _count(found, requests.pid[judged & ~late], None, "met")
    _count(found, requests.pid[late], None, "missed")
    _count(found, calls.pid, None, "calls")
    _count(found, calls.pid[calls.opened()], None, "files")
    _set_activity(model, found)
    for process in found.values():
        if process.requests:
            process.request_bytes = process.bytes / process.requests
        process.bandwidth = per_second(process.bytes, process, 0, model.end - model.start)
        process.files_per_second = per_second(process.files, process, 0, model.end - model.start)
    return sorted(found.values(), key=lambda one: (-one.bytes, -one.calls, one.pid))


def per_second(amount: float, process: Process, t0: float, t1: float) -> float:
    """A rate in [t0, t1], ns of the recording, per second that the process was active."""
    time = process.time_in(t0, t1)
    return amount / time * 1e9 if time > 0 else 0.0


def of_range(model: Model, process: Process, t0: float, t1: float) -> tuple[float, float, float]:
    """In [t0, t1] seconds of the recording: bytes per second, mean request size, files per second."""
    requests, calls = model.requests, model.calls
    done, left = (requests.completed - model.start) / 1e9, (calls.end - model.start) / 1e9
    mine = (requests.pid == process.pid) & requests.ended()
    lengths = requests.length[mine & (done >= t0) & (done <= t1)]
    opened = calls.opened() & (calls.pid == process.pid)
    files = int((opened & (left >= t0) & (left <= t1)).sum())
    return (per_second(float(lengths.sum()), process, t0 * 1e9, t1 * 1e9),
            float(lengths.mean()) if len(lengths) else 0.0, per_second(files, process, t0 * 1e9, t1 * 1e9))


def head_band(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lowest and highest sector of the completions in each BAND_NS of the recording; NaN without any."""
    requests = model.requests
    moved = np.flatnonzero(requests.finished() & (requests.length > 0))
    piece = (requests.completed[moved] - model.start) // BAND_NS
    count = int(piece.max()) + 1 if len(piece) else 0
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, piece, requests.sector[moved])
    np.maximum.at(highest, piece, requests.sector[moved] + requests.length[moved] // fmt.SECTOR_BYTES)
    none = highest < lowest
    lowest[none] = highest[none] = np.nan
    return lowest, highest


def _set_activity(model: Model, found: dict[int, Process]) -> None:
    """Set the time in which each process was active, and the mean of its pauses."""
    requests, calls, events = model.requests, model.calls, model.events
    # queue events count too, in case the request was never dispatched
    queued = (events.action == fmt.QUEUE) & np.isin(events.pid, list(found))
    begun = np.where(requests.queued >= 0, requests.queued, requests.dispatched)
    ended = np.where(requests.flags & LOST_COMPLETION, requests.dispatched, requests.completed)
    pids = np.concatenate([requests.pid, calls.pid, events.pid[queued]]).astype(np.int64)
    starts = np.concatenate([begun, calls.start, events.time[queued]]) - model.start
    ends = np.concatenate([ended, calls.end, events.time[queued]]) - model.start
    order = np.lexsort((starts, pids))
    borders = np.flatnonzero(np.diff(pids[order])) + 1
    for mine in np.split(order, borders) if len(order) else []:
        process, latest = found[int(pids[mine[0]])], np.maximum.accumulate(ends[mine])
        pauses = starts[mine][1:] - latest[:-1]
        pauses = pauses[pauses > 0]
        process.first, process.last = int(starts[mine[0]]), int(latest[-1])
        process.pause = int(pauses.mean()) if len(pauses) else 0


def _count(found: dict[int, Process], pids: NDArray[np.int64], weights: NDArray[np.int64] | None,
           count: str, total: str = "") -> None:
    unique, where = np.unique(pids, return_inverse=True)
    counts = np.bincount(where, minlength=len(unique))
    sums = np.bincount(where, weights=weights, minlength=len(unique)) if total else counts
    for pid, number, amount in zip(unique.tolist(), counts.tolist(), sums.tolist(), strict=True):
        setattr(found[pid], count, int(number))
        if total:
            setattr(found[pid], total, int(amount))
