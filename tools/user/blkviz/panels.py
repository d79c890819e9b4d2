# SPDX-License-Identifier: GPL-2.0
"""The table of panels below the time lines of the processes, for the page, the picture and Perfetto.

A new panel of values from CFQ's messages only requires a row here. Any other panel also requires code that draws it:
PAINTERS in draw.py, PAINTERS in viewer/panels.js, and TRACKS in perfetto.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .tables import Model


@dataclass(frozen=True)
class Values:
    """A series of values for each process.

    @key: the word before the number in a message; "": model.py computes the values
    @label: label of the axis in the picture
    @unit: bytes or us
    @line: draw a line, where a value holds until the next one; otherwise marks, with a cross for values below zero
    """

    key: str
    label: str
    unit: str
    line: bool


@dataclass(frozen=True)
class Panel:
    """A panel with the data of all processes over time.

    @title, @text: title and explanation on the page
    @pixels: height on the page
    @height: height in the picture, in units of a process's time line
    @needs: the panel is left out if this table of the model is empty
    @without: note shown if the trace has no messages of CFQ, instead of leaving the panel out
    @perfetto: whether a trace for Perfetto has a track for it
    """

    name: str
    title: str
    text: str
    pixels: int
    height: float
    needs: str = ""
    without: str = ""
    perfetto: bool = True
    values: Values | None = None

    def there(self, found: Model, pids: Sequence[int] | None = None) -> bool:
        """Whether the trace has data for the panel; for values, data of the processes @pids (default: of any)."""
        if self.values:
            mine = found.series[self.name].pid
            return bool(len(mine) if pids is None else np.isin(mine, pids).any())
        if self.without:
            return bool(found.requests.cls.any())
        return not self.needs or len(getattr(found, self.needs)) > 0


# The band of the head has one lowest and one highest sector for each period of this length, ns.
BAND_NS = 100_000_000

# From top to bottom.
PANELS = (
    Panel("position", "Head position",
          "Positions of completed requests of the processes shown; bars from lowest to highest if there are many.",
          190, 1.6),
    # Perfetto has the head's position
    Panel("headband", "Head range", "Lowest to highest sector of the completions in each 100 ms.", 80, 0.9,
          perfetto=False),
    # Perfetto has the class of each request
    Panel("classes", "Class served", "One row each for RT, BW, BE and idle: requests from dispatch to completion.",
          64, 0.6, without="no messages of CFQ: classes are unknown", perfetto=False),
    Panel("slices", "CFQ slices",
          "Process of each time slice, and why the slice ended. … idle wait for the next request, ▼ preempted.",
          52, 0.6, needs="slices"),
    Panel("tokens", "BW tokens", "Bytes that may be requested at once; below zero: bytes to be paid back first.",
          90, 0.9, values=Values("tokens", "tokens", "bytes", line=True)),
    Panel("slack", "BW slack", "Time from completion to deadline; ✕ below zero: deadline missed.",
          90, 0.9, values=Values("", "slack", "us", line=False)),
    # Perfetto has the bytes of each request
    Panel("throughput", "Throughput", "Grey: all processes shown. Long dashes: reservations.", 170, 1.4,
          perfetto=False),
)
