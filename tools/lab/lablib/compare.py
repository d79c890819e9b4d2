# SPDX-License-Identifier: GPL-2.0-only
"""What changed between two results of one scenario."""

from typing import Any

from . import metrics
from .errors import EXIT_USAGE, LabError

COMPARED = ("bytes_per_s", "misses", "latency_mean_ms", "latency_p99_ms", "latency_max_ms")
REDUCE = {"bytes_per_s": "sum", "misses": "sum", "latency_mean_ms": "mean"}

Change = dict[str, Any]


def _figures(result: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    figures = {}
    for cell in result["cells"]:
        for group in dict.fromkeys(process["group"] for process in cell["processes"]):
            for metric in COMPARED:
                if metric == "misses" and not any("misses" in p for p in cell["processes"] if p["group"] == group):
                    continue
                how = REDUCE.get(metric, "max")
                figures[cell["name"], group, metric] = metrics.of_cell(
                    cell, metric, [group], how, result["duration_ns"]
                )
    return figures


def changes(old: dict[str, Any], new: dict[str, Any], percent: float) -> list[Change]:
    """Figures that differ by more than percent, and verdicts that changed."""
    if old["scenario"] != new["scenario"]:
        raise LabError(f"two scenarios: {old['scenario']} and {new['scenario']}", EXIT_USAGE)
    found: list[Change] = []
    before, after = _figures(old), _figures(new)
    for key in sorted(before.keys() | after.keys()):
        a, b = before.get(key), after.get(key)
        cell, group, metric = key
        if a is None or b is None:
            found.append({"cell": cell, "group": group, "metric": metric, "old": a, "new": b, "percent": None})
        elif a != b and (not a or abs(b - a) / abs(a) * 100 > percent):
            change = (b - a) / a * 100 if a else None
            found.append({"cell": cell, "group": group, "metric": metric, "old": a, "new": b, "percent": change})
    verdicts = {verdict["says"]: verdict["status"] for verdict in old["expect"]}
    for verdict in new["expect"]:
        was = verdicts.get(verdict["says"])
        if was != verdict["status"]:
            found.append(
                {
                    "cell": verdict["says"],
                    "group": "",
                    "metric": "status",
                    "old": was,
                    "new": verdict["status"],
                    "percent": None,
                }
            )
    return found
