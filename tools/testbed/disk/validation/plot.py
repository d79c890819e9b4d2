# SPDX-License-Identifier: GPL-2.0
"""Plots the distributions of response times of model and DiskSim, for each drive and list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tools.base import plots
from tools.base.files import write_whole

from .replay import Times

_LONG = re.compile(rb"(\d+\.\d)\d{3,}")  # coordinates: a tenth of a point is enough


def _steps(times: Sequence[int], points: int = 40) -> tuple[list[float], list[float]]:
    """Milliseconds, and the share of requests that take no longer."""
    ordered = sorted(times)
    ranks = sorted({round(point * (len(ordered) - 1) / points) for point in range(points + 1)})
    return [ordered[rank] / 1e6 for rank in ranks], [(rank + 1) / len(ordered) for rank in ranks]


def write(found: Sequence[Times], path: Path) -> None:
    """A row for each drive, a column for each list."""
    plots.check_name(path)
    drives, lists = (list(dict.fromkeys(names)) for names in (
        [one.drive for one in found], [one.requests for one in found]))
    pyplot = plots.load("validation", {"font.size": 7, "font.sans-serif": ["DejaVu Sans"]})
    figure, axes = pyplot.subplots(len(drives), len(lists), squeeze=False, sharey=True, layout="constrained",
                                   figsize=(2.5 * len(lists), 1.6 * len(drives)))
    for one in found:
        place = axes[drives.index(one.drive)][lists.index(one.requests)]
        for label, times, style in (("DiskSim", one.disksim, "-"), ("model", one.model, "--")):
            place.plot(*_steps(times), style, linewidth=1, label=label)
        place.set_title(f"{one.drive}, {one.requests}", fontsize=7)
        place.set_xlim(left=0)
        place.set_ylim(0, 1)
        place.set_yticks([0, 0.5, 1])
    for place in axes[-1]:
        place.set_xlabel("response time, ms")
    axes[0][0].legend(fontsize=6)
    data = plots.drawn(pyplot, figure, path)
    if path.suffix == ".svg":
        data = _LONG.sub(rb"\1", data)
    write_whole(path, data)
