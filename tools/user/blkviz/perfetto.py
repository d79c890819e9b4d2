# SPDX-License-Identifier: GPL-2.0
"""Writes a trace for ui.perfetto.dev, in the JSON Trace Event Format.

Times are microseconds from the start of the trace. System calls are slices of the
process's thread; requests are asynchronous slices, since they overlap. The disk is a
process: CFQ's time slices are its thread, and head position, tokens and slack are its
counters. Perfetto drops negative process IDs and treats 0 specially, so the disk and
unknown processes get IDs that no process can have.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import blktrace_format as fmt
from . import messages
from .panels import PANELS
from .tables import KINDS, NO_ENTER, NO_LEAVE, Model

# PID_MAX_LIMIT of the kernel and above.
DISK, NOBODY = 1 << 22, (1 << 22) + 1


def document(found: Model) -> str:
    events = _names(found) + _calls(found) + _requests(found)
    for panel in PANELS:
        if panel.values:
            events += _values(found, panel.name, panel.values.key or f"{panel.name}_{panel.values.unit}")
        elif panel.perfetto:
            events += TRACKS[panel.name](found)
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}, separators=(",", ":"))


def _us(found: Model, time: int) -> float:
    return round((time - found.start) / 1000, 3)


def _owner(pid: int) -> dict[str, int]:
    pid = pid if pid > 0 else NOBODY
    return {"pid": pid, "tid": pid}


def _names(found: Model) -> list[dict[str, Any]]:
    names = [(DISK, f"disk {fmt.device_name(found.device)}", "CFQ")]
    names += [(process.pid, process.name, process.name) for process in found.processes]
    return [{"ph": "M", "name": kind, "args": {"name": name}} | _owner(pid)
            for pid, of_process, of_thread in names
            for kind, name in (("process_name", of_process), ("thread_name", of_thread))]


def _calls(found: Model) -> list[dict[str, Any]]:
    calls, events = found.calls, []
    for i in np.flatnonzero((calls.flags & (NO_ENTER | NO_LEAVE)) == 0).tolist():
        args = {name: int(values[i]) for name, values in
                (("ino", calls.inode), ("off", calls.offset), ("len", calls.length)) if values[i] >= 0}
        events.append({"ph": "X", "cat": "vfs", "name": calls.operations[calls.op[i]],
                       "ts": _us(found, int(calls.start[i])),
                       "dur": (int(calls.end[i]) - int(calls.start[i])) / 1000,
                       "args": args | {"ret": int(calls.result[i])}} | _owner(int(calls.pid[i])))
    return events


def _requests(found: Model) -> list[dict[str, Any]]:
    requests, kinds, events = found.requests, found.requests.kind(), []
    judged, left = requests.judged(), requests.left()
    for i in np.flatnonzero(requests.finished()).tolist():
        io = fmt.kind_of_io(int(requests.category[i]))
        common = {"cat": "request", "id": i, "name": f"{io} {KINDS[kinds[i]]}"} | _owner(int(requests.pid[i]))
        args = {"sector": int(requests.sector[i]), "bytes": int(requests.length[i]),
                "class": messages.CLASSES[requests.cls[i]]}
        if judged[i]:
            args["slack_us"] = int(left[i]) / 1000
        if requests.queued[i] >= 0:
            args["queue_us"] = (int(requests.dispatched[i]) - int(requests.queued[i])) / 1000
        events.append(common | {"ph": "b", "ts": _us(found, int(requests.dispatched[i])), "args": args})
        events.append(common | {"ph": "e", "ts": _us(found, int(requests.completed[i]))})
    return events


def _slices(found: Model) -> list[dict[str, Any]]:
    slices, names = found.slices, {process.pid: process.name for process in found.processes}
    return [{"ph": "X", "cat": "cfq", "ts": _us(found, int(slices.start[i])),
             "name": f"{names.get(int(slices.pid[i]), '?')} {messages.CLASSES[slices.cls[i]]}{slices.level[i]}",
             "dur": (int(slices.end[i]) - int(slices.start[i])) / 1000,
             "args": {"pid": int(slices.pid[i]), "ended": messages.EXPIRED[slices.why[i]],
                      "requests": int(slices.dispatched[i])}} | _owner(DISK)
            for i in range(len(slices))]


def _head(found: Model) -> list[dict[str, Any]]:
    requests = found.requests
    whole = np.flatnonzero(requests.finished() & (requests.length > 0))
    whole = whole[np.argsort(requests.completed[whole], kind="stable")]
    return [{"ph": "C", "name": "head", "pid": DISK, "ts": _us(found, int(requests.completed[i])),
             "args": {"sector": int(requests.sector[i])}} for i in whole.tolist()]


def _values(found: Model, name: str, key: str) -> list[dict[str, Any]]:
    """A counter for each process."""
    series = found.series[name]
    return [{"ph": "C", "name": f"{key} {int(pid)}", "pid": DISK, "ts": _us(found, int(time)),
             "args": {key: int(value)}}
            for pid, time, value in zip(series.pid, series.time, series.value, strict=True)]


# The tracks of the panels other than those of values.
TRACKS = {"position": _head, "slices": _slices}
