# SPDX-License-Identifier: GPL-2.0-only
"""What a scenario must show, checked against its results."""

import itertools
import operator
from typing import Any

from . import metrics
from .scenario import Expect, Scenario, Select

COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}

PASS, FAIL, NEEDS_BW, NOT_RUN = "pass", "fail", "needs-bw", "not-run"


def _cells(result: dict[str, Any], select: Select) -> list[dict[str, Any]]:
    return [
        cell
        for cell in result["cells"]
        if (not select.config or cell["config"] in select.config)
        and (not select.depth or cell["depth"] in select.depth)
        and all(cell["vary"][key] in labels for key, labels in select.vary.items())
    ]


def _values(result: dict[str, Any], select: Select) -> list[tuple[str, float]] | None:
    """Named values of a side; None if one of its cells did not run."""
    if select.constant is not None:
        return [("", select.constant)]
    cells = _cells(result, select)
    if not cells or any(cell["status"] != "ok" for cell in cells):
        return None
    values = [
        (
            cell["name"],
            select.factor * metrics.of_cell(cell, select.metric, select.groups, select.reduce, result["duration_ns"]),
        )
        for cell in cells
    ]
    if select.over == "each":
        return values
    return [(f"{select.over} of {len(values)}", metrics.reduce([value for _, value in values], select.over))]


def _along(result: dict[str, Any], expect: Expect, scenario: Scenario) -> list[tuple[str, float]] | None:
    """The values along a [vary] key, or along the configurations named."""
    points = []
    steps: list[tuple[str, dict[str, Any]]]
    if expect.order:
        steps = [(name, {"config": (name,)}) for name in expect.order]
    else:
        key = expect.sequence
        wanted = expect.left.vary.get(key, tuple(scenario.vary[key]))
        steps = [(f"{key}={label}", {"vary": {**expect.left.vary, key: (label,)}}) for label in wanted]
    for name, change in steps:
        side = Select(**{**expect.left.__dict__, **change, "over": "mean"})
        values = _values(result, side)
        if values is None:
            return None
        points.append((name, values[0][1]))
    return points


def _judge(result: dict[str, Any], expect: Expect, scenario: Scenario) -> tuple[str, str]:
    if expect.sequence or expect.order:
        points = _along(result, expect, scenario)
        if points is None:
            return NOT_RUN, ""
        detail = ", ".join(f"{name} {value:.6g}" for name, value in points)
        values = [value for _, value in points]
        if expect.order:
            values.reverse()
        holds = all(a < b for a, b in itertools.pairwise(values))
        return (PASS if holds else FAIL), detail
    left = _values(result, expect.left)
    right = _values(result, expect.right)
    if left is None or right is None:
        return NOT_RUN, ""
    if len(right) != 1:
        right = [("smallest of the right side", min(value for _, value in right))]
    limit = right[0][1]
    bad = [(name, value) for name, value in left if not COMPARE[expect.op](value, limit)]
    if bad:
        name, value = bad[0]
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        return FAIL, f"{name}: {value:.6g} {expect.op} {limit:.6g} does not hold{more}"
    worst = min if expect.op in (">", ">=") else max
    return PASS, f"{worst(value for _, value in left):.6g} {expect.op} {limit:.6g}"


def evaluate(result: dict[str, Any], scenario: Scenario) -> list[dict[str, str]]:
    verdicts = []
    for expect in scenario.expects:
        if "bw" in expect.needs and not result["kernel"]["bw"]:
            status, detail = NEEDS_BW, "the kernel has no BW class"
        else:
            status, detail = _judge(result, expect, scenario)
        verdicts.append({"says": expect.says, "status": status, "detail": detail})
    return verdicts
