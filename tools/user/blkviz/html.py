# SPDX-License-Identifier: GPL-2.0
"""Writes the HTML page: one file that contains the data and requires no network.

The data are columns of integers. A column is written as differences if that makes it
smaller, with a zigzag encoding (small negative numbers become small), and split into
planes of bytes, the low bytes first, which deflate compresses well. viewer/data.js
decodes it. There are two chunks: the data for the first drawing, and the single events
for the tooltips.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import blktrace_format as fmt
from . import messages, model
from .panels import BAND_NS, PANELS
from .tables import Model

HERE = Path(__file__).resolve().parent / "viewer"
SCRIPTS = ("data.js", "trace.js", "paint.js", "lanes.js", "panels.js", "tooltip.js", "main.js")
NOTE_PIXELS = 24  # height of a panel that only has a note

Column = NDArray[np.int64]


class Chunk:
    """A sequence of columns with their offsets."""

    def __init__(self) -> None:
        self.columns: dict[str, dict[str, Any]] = {}
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, name: str, values: Column, delta: bool = False) -> None:
        """Add a column; `delta` for values that grow slowly."""
        values = np.asarray(values, dtype=np.int64)
        if delta and len(values):
            values = np.diff(values, prepend=np.int64(0))
        folded = (values.astype(np.uint64) << np.uint64(1)) ^ (values >> np.int64(63)).astype(np.uint64)
        top = int(folded.max()) if len(folded) else 0
        width = max(1, (top.bit_length() + 7) // 8)
        planes = folded.view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()
        self._append(name, planes, count=len(values), width=width, delta=int(delta))

    def add_text(self, name: str, texts: list[str]) -> None:
        """Add strings, joined by newlines; newlines in a string become blanks."""
        data = "\n".join(text.replace("\n", " ") for text in texts).encode()
        self._append(name, data, count=len(texts), text=1)

    def _append(self, name: str, data: bytes, **what: int) -> None:
        self.columns[name] = {"at": self.size, "bytes": len(data), **what}
        self.parts.append(data)
        self.size += len(data)

    def packed(self) -> str:
        return base64.b64encode(zlib.compress(b"".join(self.parts), 6)).decode()


def picture_chunk(found: Model, places: dict[int, int]) -> Chunk:
    """The data for the first drawing; `places`: the index of each process."""
    chunk, start = Chunk(), found.start
    requests = found.requests
    chunk.add("r.process", _indices(requests.pid, places))
    chunk.add("r.dispatched", requests.dispatched - start, delta=True)
    chunk.add("r.in_queue", np.where(requests.queued >= 0, requests.dispatched - requests.queued, -1))
    chunk.add("r.in_drive", requests.completed - requests.dispatched)
    chunk.add("r.slack", requests.left())
    chunk.add("r.sector", requests.sector, delta=True)
    for name in ("length", "category", "error", "cls", "flags"):
        chunk.add(f"r.{name}", getattr(requests, name))
    chunk.add("r.events", np.diff(requests.first_event))
    calls = found.calls
    chunk.add("c.process", _indices(calls.pid, places))
    chunk.add("c.start", calls.start - start, delta=True)
    chunk.add("c.lasts", calls.end - calls.start)
    for name in ("op", "inode", "offset", "length", "result", "depth", "flags"):
        chunk.add(f"c.{name}", getattr(calls, name), delta=name in ("inode", "offset"))
    slices = found.slices
    chunk.add("s.start", slices.start - start, delta=True)
    chunk.add("s.lasts", slices.end - slices.start)
    for name in ("pid", "sync", "cls", "level", "length_us", "why", "dispatched"):
        chunk.add(f"s.{name}", getattr(slices, name))
    lines = [panel.name for panel in PANELS if panel.values and panel.values.line]
    for name, series in found.series.items():
        chunk.add(f"{name}.time", series.time - start, delta=True)
        chunk.add(f"{name}.pid", series.pid)
        chunk.add(f"{name}.value", series.value, delta=name in lines)
    return chunk


def events_chunk(found: Model) -> Chunk:
    """The single events, and the events of each request and call."""
    chunk, events = Chunk(), found.events
    chunk.add("e.time", events.time - found.start, delta=True)
    chunk.add("e.sector", events.sector, delta=True)
    for name in ("action", "cpu", "pid", "length", "category", "error"):
        chunk.add(f"e.{name}", getattr(events, name).astype(np.int64))
    chunk.add("r.event", found.requests.events, delta=True)
    chunk.add("c.enter", found.calls.enter_event, delta=True)
    chunk.add("c.leave", found.calls.leave_event, delta=True)
    notes = np.flatnonzero(events.action == fmt.NOTE_MESSAGE)
    chunk.add("m.event", notes, delta=True)
    chunk.add_text("m.text", [events.text(index) for index in notes.tolist()])
    return chunk


def _indices(pids: Column, places: dict[int, int]) -> Column:
    unique, where = np.unique(pids, return_inverse=True)
    table = np.array([places[pid] for pid in unique.tolist()], dtype=np.int64)
    return table[where] if len(pids) else np.zeros(0, dtype=np.int64)


def payload(found: Model, title: str, live: bool = False, version: int = 0) -> dict[str, Any]:
    """The data of the page: `head` and the two chunks, deflated and in base64.

    A live page requests data with a version newer than its own.
    """
    places = {process.pid: place for place, process in enumerate(found.processes)}
    picture, events = picture_chunk(found, places), events_chunk(found)
    return {"head": {
        "title": title,
        "device": fmt.device_name(found.device),
        "clock": found.clock,
        "origin": found.start,
        "version": version,
        "duration": found.end - found.start,
        "begin": found.begin - found.start,
        "events": len(found.events),
        "processes": [asdict(process) for process in found.processes],
        "operations": found.calls.operations,
        "lost": [{"start": one.start - found.start, "end": one.end - found.start,
                  "count": one.count, "cpu": one.cpu} for one in found.lost],
        "problems": model.problems_of(found),
        "hints": found.hints,
        "letters": fmt.LETTERS,
        "words": fmt.WORDS,
        "classes": messages.CLASSES,
        "expired": messages.EXPIRED,
        "panels": _panels(found),
        "band": BAND_NS,
        "cachedBelow": model.CACHED_BELOW_NS,
        "seekAbove": model.SEEK_ABOVE_NS,
        "live": live,
        "columns": {"picture": picture.columns, "events": events.columns},
    }, "picture": picture.packed(), "events": events.packed()}


def _panels(found: Model) -> list[dict[str, Any]]:
    """The panels that the trace has data for, or a note instead."""
    rows = [(panel, panel.there(found)) for panel in PANELS]
    return [{"name": panel.name, "title": panel.title, "values": asdict(panel.values) if panel.values else None,
             "text": panel.text if there else "", "pixels": panel.pixels if there else NOTE_PIXELS,
             "note": "" if there else f"this trace has {panel.without}"}
            for panel, there in rows if there or panel.without]


def render(data: dict[str, Any]) -> str:
    """The complete page."""
    head = json.dumps(data["head"], separators=(",", ":")).replace("<", "\\u003c")
    text = (HERE / "viewer.html").read_text()
    script = "\n".join((HERE / name).read_text() for name in SCRIPTS)
    parts = {"TITLE": _escaped(data["head"]["title"]), "STYLE": (HERE / "viewer.css").read_text(),
             "SCRIPT": script, "HEAD": head, "PICTURE": data["picture"], "EVENTS": data["events"],
             "CONNECT": "'self'" if data["head"]["live"] else "'none'"}
    pieces = text.split("@@")
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
