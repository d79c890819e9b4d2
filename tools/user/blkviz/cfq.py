# SPDX-License-Identifier: GPL-2.0
"""CFQ's messages: time slices, classes, and values such as tokens."""

from __future__ import annotations

from . import messages
from .panels import PANELS
from .requests import Matcher
from .tables import UNKNOWN, Series, Slices, columns

# For each panel of values, the word before the number in a message.
KEYS = {panel.name: panel.values.key for panel in PANELS if panel.values and panel.values.key}


class Scheduler:
    """Collects CFQ's messages into slices and series of values.

    @start: start of the trace: a slice that began earlier begins there
    """

    COLUMNS = ("pid", "sync", "cls", "level", "start", "end", "length_us", "why", "dispatched")

    def __init__(self, start: int) -> None:
        self.start = start
        self.slices: list[list[int]] = []
        self.slice: list[int] | None = None
        self.values: dict[str, list[tuple[int, int, int]]] = {name: [] for name in ("idles", "preemptions", *KEYS)}
        self.sent: dict[tuple[int, bool], int] = {}
        self.rates: dict[int, int] = {}
        self.classes: dict[int, str] = {}

    def take(self, event: int, time: int, said: messages.Cfq, requests: Matcher) -> None:
        self.classes[said.pid] = f"{messages.CLASSES[said.cls]}{said.level}"
        for name, key in KEYS.items():
            if key in said.values:
                self.values[name].append((said.pid, time, said.values[key]))
        if "rate" in said.values:
            self.rates[said.pid] = said.values["rate"]
        before = self.sent.pop((said.pid, said.sync), None)
        left = said.values.get("deadline_us")
        deadline = UNKNOWN if left is None else time + left * 1000
        if said.verb == "dispatch" and said.sector >= 0:
            requests.announce(event, said.sector, said.cls, deadline)
            self.sent[said.pid, said.sync] = said.sector
        elif said.verb == "tokens" and before is not None:
            requests.add_message(event, before, deadline)
        elif said.verb == "idle":
            self.values["idles"].append((said.pid, time, said.values.get("window_us", 0)))
        elif said.verb == "preempted":
            self.values["preemptions"].append((said.pid, time, said.values.get("by", UNKNOWN)))
        elif said.verb == "slice start":
            self._close(time, 0, 0)
            self.slice = [said.pid, int(said.sync), said.cls, said.level, time, UNKNOWN,
                          said.values.get("length_us", 0), 0, 0]
        elif said.verb == "slice end":
            why = messages.EXPIRED.index(said.why) if said.why in messages.EXPIRED else 0
            if self.slice is None or self.slice[0] != said.pid:
                self._close(time, 0, 0)
                self.slice = [said.pid, int(said.sync), said.cls, said.level,
                              self.slices[-1][5] if self.slices else self.start, UNKNOWN, 0, 0, 0]
            self._close(time, why, said.values.get("dispatched", 0))

    def _close(self, time: int, why: int, dispatched: int) -> None:
        if self.slice is not None:
            self.slice[5], self.slice[7], self.slice[8] = time, why, dispatched
            self.slices.append(self.slice)
            self.slice = None

    def result(self, end: int) -> Slices:
        """All slices; the last one ends with the trace."""
        self._close(end, 0, 0)
        return Slices(**columns(self.slices, self.COLUMNS))

    def series(self) -> dict[str, Series]:
        return {name: Series(**columns(rows, ("pid", "time", "value"))) for name, rows in self.values.items()}
