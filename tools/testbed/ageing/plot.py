# SPDX-License-Identifier: GPL-2.0
"""Plots the distributions of distances: a panel for each kind, a line for each tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.base import plots
from tools.base.files import write_whole

from .layout import KIB, KINDS, PERCENTILES, STEPS, Layout, size

_TICKS = (4 * KIB, *(step for step in STEPS if step >= 128 * KIB))
_LINES = ("-", "--", ":", "-.")


def check(path: Path) -> None:
    """Raises ToolError if the plot cannot be drawn; called before the measurement."""
    plots.check_name(path)
    _pyplot()


def _pyplot() -> Any:
    return plots.load("ageing", {"font.size": 7, "font.sans-serif": ["DejaVu Sans"]})


def write(layouts: Sequence[Layout], path: Path) -> None:
    """Draw the plot into a .svg or .png."""
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(1, len(KINDS), figsize=(3.2 * len(KINDS), 2.6), sharey=True, layout="constrained")
    percents = range(PERCENTILES + 1)
    for axes, (kind, title) in zip(panels, KINDS.items(), strict=True):
        for number, layout in enumerate(layouts):
            if layout.distances[kind]:
                # a distance of 0 is drawn at the left edge
                ways = [max(_TICKS[0], layout.percentile(kind, percent)) for percent in percents]
                axes.step(ways, percents, where="post", linewidth=1.2, label=layout.name,
                          linestyle=_LINES[number % len(_LINES)])
        axes.set_xscale("log", base=2)
        axes.set_xlim(_TICKS[0], _TICKS[-1])
        axes.set_xticks(_TICKS, [size(tick) for tick in _TICKS], rotation=60)
        axes.minorticks_off()
        axes.set_title(title, fontsize=6)
    panels[0].set_ylabel("% of files within")
    panels[0].legend(fontsize=6)
    write_whole(path, plots.drawn(pyplot, figure, path))
