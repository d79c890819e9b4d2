# SPDX-License-Identifier: GPL-2.0
"""What changed between two results of one scenario."""

from typing import TypedDict

from tools.base.cli import EXIT_USAGE, ToolError

from ..model.results import Result
from ..model.scenario import Scenario
from ..run import expect, figures, metrics

COMPARED = ("bytes_per_s", "misses", "latency_mean_ms", "latency_p99_ms", "latency_max_ms")
REDUCE = {"bytes_per_s": "sum", "misses": "sum", "latency_mean_ms": "mean"}

Figures = dict[tuple[str, str, str], float]  # by run, group and metric


class Change(TypedDict):
    """A figure of a group in a run, or the status of an expectation; None where there is none."""

    cell: str
    group: str
    metric: str
    old: float | str | None
    new: float | str | None
    percent: float | None


def _figures(result: Result) -> Figures:
    found = {}
    for cell in result["cells"]:
        for group in dict.fromkeys(process["group"] for process in cell["processes"]):
            for metric in COMPARED:
                if metric == "misses" and not any("misses" in p for p in cell["processes"] if p["group"] == group):
                    continue
                how = REDUCE.get(metric, "max")
                value = metrics.of_cell(cell, metric, [group], how, result["duration_ns"])
                if value is not None:
                    found[cell["name"], group, metric] = value
    return found


def changes(old: Result, new: Result, percent: float) -> list[Change]:
    """Figures that differ by more than percent, and verdicts that changed."""
    if old["scenario"] != new["scenario"]:
        raise ToolError(f"two scenarios: {old['scenario']} and {new['scenario']}", EXIT_USAGE)
    return _changed_figures(_figures(old), _figures(new), percent) + _changed_verdicts(old, new)


def _changed_figures(before: Figures, after: Figures, percent: float) -> list[Change]:
    found = []
    for key in sorted(before.keys() | after.keys()):
        a, b = before.get(key), after.get(key)
        change = (b - a) / a * 100 if a and b is not None else None
        if a != b and (change is None or abs(change) > percent):
            cell, group, metric = key
            found.append(Change(cell=cell, group=group, metric=metric, old=a, new=b, percent=change))
    return found


def _changed_verdicts(old: Result, new: Result) -> list[Change]:
    before = {verdict["says"]: verdict["status"] for verdict in old["expect"]}
    return [
        Change(cell=says, group="", metric="status", old=before.get(says), new=status, percent=None)
        for says, status in ((verdict["says"], verdict["status"]) for verdict in new["expect"])
        if before.get(says) != status
    ]


def with_record(record: Result, new: Result, scenario: Scenario, percent: float) -> tuple[list[list[str]], int]:
    """Rows of the figures that differ by more than @percent, the largest change first, and how many there are."""
    asked = figures.asked(scenario, new["cells"])
    before = {cell["name"]: cell["figures"] for cell in record["cells"]}
    rows, total = [], 0
    for cell in new["cells"]:
        if cell["status"] != "ok":
            continue
        now = dict(zip((one.key for one in asked), figures.of_run(cell, asked, new["duration_ns"]), strict=True))
        for key, value in now.items():
            old = before.get(cell["name"], {}).get(key)
            total += value is not None
            if value == old:
                continue
            change = (value - old) / abs(old) * 100 if value is not None and old else None
            if change is None or abs(change) > percent:
                shown = ["-" if one is None else metrics.figure(one) for one in (old, value)]
                how = "" if change is None else f"{change:+.1f}%"
                rows.append((-abs(change) if change is not None else float("-inf"), [cell["name"], key, *shown, how]))
    return [row for _, row in sorted(rows)], total


def changed_verdicts(record: Result, new: Result, scenario: Scenario) -> list[str]:
    """A line for each expectation that these runs decide and that has another outcome than in the record."""
    ran = {cell["name"] for cell in new["cells"]}
    mixed: Result = {**record, "cells": [*new["cells"], *(c for c in record["cells"] if c["name"] not in ran)]}
    pairs = zip(expect.evaluate(record, scenario), expect.evaluate(mixed, scenario), strict=True)
    return [f"{before['status']} -> {after['status'].upper()}: {after['says']} ({after['detail']})"
            for before, after in pairs if before["status"] != after["status"]]
