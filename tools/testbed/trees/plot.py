# SPDX-License-Identifier: GPL-2.0
"""Plots of the measurements of `trees run`; after figures 4.1 to 4.6 of Lunde (2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from tools.base import plots
from tools.base.files import write_whole

from .head_band import Band

ALONG = "ageing"  # its rows are points in time: drawn as a line

Times = Mapping[str, Mapping[str, Sequence[float]]]


def check() -> None:
    """Raises ToolError if matplotlib is missing; called before the measurement."""
    _pyplot()


def _pyplot() -> Any:
    return plots.load("trees", {"font.size": 7, "font.sans-serif": ["DejaVu Sans"]})


def write(experiment: str, times: Times, fs: str, path: Path) -> None:
    """Draw the mean seconds of each row and column."""
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


def factors(row: Mapping[str, Sequence[float]]) -> list[float]:
    """The time of tar divided by that of qtar, for each directory."""
    return [tar / qtar for tar, qtar in zip(row["tar"], row["qtar"], strict=True)]


def write_sizes(experiment: str, times: Times, fs: str, path: Path) -> None:
    """Draw box plots over directories, as figures 4.5 (factor between tar and qtar) and 4.6 (seconds)."""
    pyplot = _pyplot()
    figure, (left, right) = pyplot.subplots(1, 2, sharey=True, figsize=(7, 1.2 + 0.26 * len(times)),
                                            layout="constrained")
    width = 0.36
    for number, program in enumerate(("tar", "qtar")):
        left.boxplot([times[row][program] for row in times], orientation="horizontal", widths=width, whis=(0, 100),
                     positions=[place + (number - 0.5) * width for place in range(len(times))], manage_ticks=False,
                     patch_artist=True, boxprops={"facecolor": f"C{number}", "alpha": 0.6},
                     medianprops={"color": "black"}, label=program)
    right.boxplot([factors(row) for row in times.values()], orientation="horizontal", whis=(0, 100),
                  positions=range(len(times)), manage_ticks=False, medianprops={"color": "black"})
    right.axvline(1, color="black", linewidth=0.8)
    left.set_yticks(range(len(times)), list(times))
    left.invert_yaxis()
    left.set_xscale("log")
    left.set_xlabel("seconds")
    right.set_xlabel("tar : qtar")
    right.set_xlim(left=0)
    left.legend(fontsize=6)
    figure.suptitle(f"{experiment}, {fs}: quartiles, least and most over directories", fontsize=8)
    write_whole(path, plots.drawn(pyplot, figure, path))


def write_heads(heads: Mapping[str, Band], fs: str, path: Path) -> None:
    """Draw the lowest and the highest position of the head in each interval, as figure 4.2."""
    pyplot = _pyplot()
    figure, grid = pyplot.subplots(len(heads), 1, sharex=True, sharey=True, squeeze=False,
                                   figsize=(7, 1.7 * len(heads)), layout="constrained")
    for axes, (program, band) in zip(grid[:, 0], heads.items(), strict=True):
        edges = [number * band.piece_s for number in range(len(band.lowest) + 1)]
        lowest, highest = ([float("nan") if place is None else place for place in places]
                           for places in (band.lowest, band.highest))
        axes.stairs(highest, edges, baseline=lowest, fill=True, facecolor="#9ebbda", edgecolor="#2166ac",
                    linewidth=0.5, rasterized=True)
        axes.set_title(f"{program}, an aged tree, {fs}", fontsize=7)
        axes.set_ylabel("head, GiB")
    grid[-1, 0].set_xlabel("seconds")
    write_whole(path, plots.drawn(pyplot, figure, path))
