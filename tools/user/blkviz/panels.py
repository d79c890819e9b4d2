# SPDX-License-Identifier: GPL-2.0
"""The panels below the processes' time lines: one table for the page, the picture and Perfetto.

A new panel of values that CFQ says of a process is a row here and no more. Any other one is a row, and something
that draws it: PAINTERS in draw.py, PAINTERS in viewer/panels.js, and TRACKS in perfetto.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .tables import Model


@dataclass(frozen=True)
class Values:
    """Values by process.

    @key: the word before the number in a message; "": no message has them, model.py does
    @label: what the picture's scale says
    @unit: bytes or us
    @line: whether a value holds until the next one; otherwise each is a mark, a cross below zero
    """

    key: str
    label: str
    unit: str
    line: bool


@dataclass(frozen=True)
class Panel:
    """What is drawn of all processes over the time.

    @title, @text: what the page says beside it
    @pixels: its height in the page
    @height: its height in the picture; a process's time line has 1
    @needs: the table of the model without which it is left out
    @without: what it says without CFQ's messages, in place of leaving it out
    @perfetto: whether a trace for Perfetto has a track of it
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
        """Whether the trace has something for it; values: of the processes @pids, by default of any."""
        if self.values:
            mine = found.series[self.name].pid
            return bool(len(mine) if pids is None else np.isin(mine, pids).any())
        if self.without:
            return bool(found.requests.cls.any())
        return not self.needs or len(getattr(found, self.needs)) > 0


# Of each so long piece of the recording, ns, the head's band has the lowest and the highest sector.
BAND_NS = 100_000_000

# From top to bottom.
PANELS = (
    Panel("position", "Head position",
          "From completions, of the processes shown. Many: thin bars from lowest to highest.", 190, 1.6),
    # Perfetto has the head's position
    Panel("headband", "Head's band", "From completions, too: lowest to highest sector of each 100 ms.", 80, 0.9,
          perfetto=False),
    # Perfetto has the class of each request
    Panel("classes", "Class served", "RT, BW, BE, idle, a row each: from dispatch to completion.", 64, 0.6,
          without="no messages of CFQ: classes are not known", perfetto=False),
    Panel("slices", "CFQ slices", "Whose slice, and why it ended. … waits for the next request, ▼ preempted.",
          52, 0.6, needs="slices"),
    Panel("tokens", "BW tokens", "Bytes that may be asked for at once; below zero: to be paid first.", 90, 0.9,
          values=Values("tokens", "tokens", "bytes", line=True)),
    Panel("slack", "BW slack", "What was left to the deadline when the data was there; ✕ below zero: too late.",
          90, 0.9, values=Values("", "slack", "us", line=False)),
    # Perfetto has the bytes of each request
    Panel("throughput", "Throughput", "Grey: all processes shown. Long dashes: reserved.", 170, 1.4, perfetto=False),
)
