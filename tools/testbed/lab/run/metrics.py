# SPDX-License-Identifier: GPL-2.0
"""Single figures of a cell, as expectations, tables and plots ask for them."""

import statistics
from collections.abc import Sequence
from typing import cast

from tools.base.cli import ToolError

from ..model.results import CellResult, ProcessResult
from ..model.units import MIB, NSEC_PER_MSEC, NSEC_PER_SEC
from .stats import HISTOGRAM_MS


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


def key(metric: str, groups: Sequence[str], how: str, process: str = "") -> str:
    """The name of a figure in a committed record."""
    return f"{metric} {f'={process}' if process else '+'.join(groups) or '*'} {how}"


def is_of_run(metric: str) -> bool:
    """Whether it is of a whole run, whatever processes are named: sizes of commands, and cfq's counters."""
    return metric.endswith("_kib") or metric.startswith("bw_")


def of_cell(
    cell: CellResult, metric: str, groups: Sequence[str], how: str, duration_ns: int, process: str = ""
) -> float | None:
    """A figure of a run's processes in groups (all, if none are named), or of one process; None without any.

    Command sizes and cfq's counters are of the whole run, whatever is named.
    """
    if "figures" in cell:
        name = key(metric, groups, how, process)
        if name not in cell["figures"]:
            raise ToolError(f"the record of '{cell['name']}' has no '{name}': `lab run` and `lab record` add it")
        return cell["figures"][name]
    if is_of_run(metric):
        return {**cell.get("commands", {}), **cell.get("deadlines", {})}.get(metric)
    values = [
        of_process(one, metric, duration_ns)
        for one in cell["processes"]
        if (not groups or one["group"] in groups) and process in ("", one["name"])
    ]
    return reduce(values, how) if values else None


def figure(value: float) -> str:
    """Four digits are enough for a table; whole numbers stay whole."""
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:.0f}"
    if abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def with_unit(metric: str, value: float) -> str:
    """A figure in the unit of its metric."""
    if metric.endswith("bytes_per_s"):
        return f"{figure(value / MIB)} MiB/s"
    return f"{figure(value)} ms" if metric.startswith("latency_") else figure(value)
