# SPDX-License-Identifier: GPL-2.0
"""Results as pictures: one for each view of a scenario, and the latencies."""

from pathlib import Path
from typing import Any

from tools.base import plots
from tools.base.files import write_whole

from ..model.results import Result
from ..model.scenario import Scenario, View
from ..run import metrics
from ..run.stats import HISTOGRAM_MS
from . import result_tables

FORMATS = plots.FORMATS
MARKERS = "osv^D<>pPX*h"


def _pyplot() -> Any:
    return plots.load("lab", {"font.size": 8})


def _save(pyplot: Any, figure: Any, path: Path) -> None:
    write_whole(path, plots.drawn(pyplot, figure, path, bbox_inches="tight"))


def _number(text: str) -> float | None:
    try:
        return float(text.split("..")[-1])
    except ValueError:
        return None


def view_plot(result: Result, scenario: Scenario, view: View, path: Path) -> bool:
    """Draw a view; False when it holds no figures."""
    header, rows = result_tables.view_rows(result, view, scenario)
    columns = [
        (name, [_number(row[index]) for row in rows])
        for index, name in enumerate(header)
        if index and any(_number(row[index]) is not None for row in rows)
    ]
    if not columns:
        return False
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(5.2, 2.6))
    labels = [row[0] for row in rows]
    if view.rows in scenario.vary and len(rows) > 2:
        for marker, (name, values) in zip(MARKERS * 3, columns, strict=False):
            points = [(label, value) for label, value in zip(labels, values, strict=True) if value is not None]
            axes.plot(
                [p[0] for p in points],
                [p[1] for p in points],
                marker=marker,
                markersize=3.5,
                linewidth=1,
                label=name,
            )
        axes.set_xlabel(view.rows)
    else:
        width = 0.8 / len(columns)
        for number, (name, values) in enumerate(columns):
            places = [index + (number - (len(columns) - 1) / 2) * width for index in range(len(rows))]
            axes.bar(places, [value or 0 for value in values], width, label=name)
        axes.set_xticks(range(len(rows)), labels, rotation=0 if len(rows) < 7 else 45)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(view.unit or view.metric.replace("_", " "))
    axes.set_title(view.title, fontsize=8)
    axes.legend(fontsize=6, ncols=2)
    _save(pyplot, figure, path)
    return True


def latency_plot(result: Result, path: Path) -> bool:
    """For each group, how many of its reads came back within a time."""
    cells = [cell for cell in result["cells"] if cell["status"] == "ok"]
    groups = list(dict.fromkeys(process["group"] for cell in cells for process in cell["processes"]))
    if not groups:
        return False
    pyplot = _pyplot()
    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    figure, grid = pyplot.subplots(lines, columns, figsize=(2.6 * columns, 2.2 * lines), squeeze=False, sharey=True)
    last = {(cell["config"], cell["depth"]): cell for cell in cells}
    for place, group in enumerate(groups):
        axes = grid[place // columns][place % columns]
        for cell in last.values():
            bars = [
                metrics.reduce(
                    [process["histogram"][bar] for process in cell["processes"] if process["group"] == group],
                    "sum",
                )
                for bar in range(len(HISTOGRAM_MS))
            ]
            total = sum(sum(p["histogram"]) for p in cell["processes"] if p["group"] == group)
            if not total:
                continue
            share = [100 * sum(bars[: bar + 1]) / total for bar in range(len(bars))]
            axes.step(HISTOGRAM_MS, share, where="post", linewidth=1, label=f"{cell['config']} @{cell['depth']}")
        axes.set_xscale("log")
        axes.set_title(group, fontsize=8)
        axes.set_xlabel("ms")
    grid[0][0].set_ylabel("% of reads within")
    grid[0][0].legend(fontsize=5)
    for place in range(len(groups), lines * columns):
        grid[place // columns][place % columns].axis("off")
    figure.tight_layout()
    _save(pyplot, figure, path)
    return True


def with_one_kind(result: Result, scenario: Scenario) -> tuple[Result, Scenario]:
    """Where settings of the disk's queue vary, the runs with the recommended ones.

    Those of `lab run --settings` are all of one kind, which they do not name.
    """
    key = result_tables.SETTINGS
    if key not in scenario.vary:
        return result, scenario
    cells = [cell for cell in result["cells"] if cell["vary"].get(key, "recommended") == "recommended"]
    return {**result, "cells": cells}, scenario.with_settings("recommended")


def plot_result(result: Result, scenario: Scenario, folder: Path, form: str, brief: bool = False) -> list[Path]:
    """Draw all views and the latencies, or, in brief, the first view."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    shown, of_views = with_one_kind(result, scenario)
    for number, view in enumerate(of_views.views[:1] if brief else of_views.views, 1):
        path = folder / f"{scenario.name}-{number}.{form}"
        if view_plot(shown, of_views, view, path):
            made.append(path)
    if not brief:
        path = folder / f"{scenario.name}-latency.{form}"
        if latency_plot(result, path):
            made.append(path)
    return made
