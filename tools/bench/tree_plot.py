# SPDX-License-Identifier: GPL-2.0
"""Pictures of what `bench trees` has measured; after figures 4.1 to 4.6 of Lunde (2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tools.base import plots
from tools.base.files import write_whole

ALONG = "ageing"  # whose rows are a time, and are drawn as one

Times = Mapping[str, Mapping[str, Sequence[float]]]


def check() -> None:
    """Raises ToolError where nothing can be drawn: before anything is measured."""
    _pyplot()


def _pyplot() -> Any:
    return plots.load("trees", {"font.size": 7, "font.sans-serif": ["DejaVu Sans"]})


def write(experiment: str, times: Times, fs: str, path: Path) -> None:
    """Seconds by row and column: the mean of each."""
    pyplot = _pyplot()
    columns = list(dict.fromkeys(column for row in times.values() for column in row))
    figure, axes = pyplot.subplots(figsize=(5.2, 1.2 + 0.16 * len(times)), layout="constrained")
    for number, column in enumerate(columns):
        rows = [row for row in times if column in times[row]]
        means = [fmean(times[row][column]) for row in rows]
        if experiment == ALONG:
            axes.plot([int(row) for row in rows], means, marker=".", label=column)
            continue
        height = 0.8 / len(columns)
        places = [list(times).index(row) + (number - (len(columns) - 1) / 2) * height for row in rows]
        axes.barh(places, means, height, label=column)
    if experiment == ALONG:
        axes.set_xlabel("version")
        axes.set_ylabel("seconds")
        axes.set_ylim(bottom=0)
    else:
        axes.set_yticks(range(len(times)), list(times))
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
    axes.set_title(f"{experiment}, {fs}", fontsize=8)
    axes.legend(fontsize=6)
    write_whole(path, plots.drawn(pyplot, figure, path))
