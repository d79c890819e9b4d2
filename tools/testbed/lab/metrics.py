# SPDX-License-Identifier: GPL-2.0
"""Single figures of a cell, as expectations, tables and plots ask for them."""

import statistics
from collections.abc import Sequence
from typing import cast

from .results import CellResult, ProcessResult
from .stats import HISTOGRAM_MS
from .units import NSEC_PER_MSEC, NSEC_PER_SEC


def of_process(process: ProcessResult, metric: str, duration_ns: int) -> float:
    if metric == "reads_per_s":
        return float(process["reads"] * NSEC_PER_SEC / duration_ns)
    if metric.startswith("latency_"):
        return float(process["latency_ns"][metric.removeprefix("latency_").removesuffix("_ms")] / NSEC_PER_MSEC)
    if metric.startswith("below_"):
        bound = float(metric.removeprefix("below_").removesuffix("_ms"))
        bars = process["histogram"]
        total = sum(bars)
        return 100.0 * sum(bars[: HISTOGRAM_MS.index(bound) + 1]) / total if total else 0.0
    return float(cast(float, process.get(metric, 0)))


def reduce(values: Sequence[float], how: str) -> float:
    if not values:
        return 0.0
    if how == "sum":
        return sum(values)
    if how == "mean":
        return sum(values) / len(values)
    if how == "median":
        return statistics.median(values)
    if how == "ratio":  # fairness: the slowest to the fastest
        return min(values) / max(values) if max(values) else 0.0
    return min(values) if how == "min" else max(values)


def of_cell(cell: CellResult, metric: str, groups: Sequence[str], how: str, duration_ns: int) -> float:
    """A figure of a cell's processes in groups (all, if none are named)."""
    values = [
        of_process(process, metric, duration_ns)
        for process in cell["processes"]
        if not groups or process["group"] in groups
    ]
    return reduce(values, how)
