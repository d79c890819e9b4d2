# SPDX-License-Identifier: GPL-2.0
"""What a scenario must show, checked against its results."""

import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..model.results import CellResult, Result, Verdict
from ..model.scenario import Cell, Expect, Scenario, Select
from . import metrics
from .metrics import figure

COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq, ">=": operator.ge, ">": operator.gt}


def _chosen(cells: Iterable[CellResult], select: Select) -> list[CellResult]:
    chosen = [
        cell
        for cell in cells
        if (not select.config or cell["config"] in select.config)
        and (not select.depth or cell["depth"] in select.depth)
        and all(cell["vary"][key] in labels for key, labels in select.vary.items())
    ]
    return chosen if select.fewest is None else _with_fewest(chosen, select.fewest)


def _with_fewest(cells: Sequence[CellResult], metric: str) -> list[CellResult]:
    """Of the cells of each depth and variant those with the smallest sum of a count."""
    counts = [metrics.of_cell(cell, metric, (), "sum", 0) or 0.0 for cell in cells]
    places = [(cell["depth"], cell["vary"]) for cell in cells]
    return [cell for cell, count, place in zip(cells, counts, places, strict=True)
            if count == min(other for other, there in zip(counts, places, strict=True) if there == place)]


def values_of(result: Result, select: Select) -> list[tuple[str, float]] | None:
    """Named values of a side; None if one of its cells did not run."""
    if select.constant is not None:
        return [("", select.constant)]
    cells = _chosen(result["cells"], select)
    if not cells or any(cell["status"] != "ok" for cell in cells):
        return None
    found = [metrics.of_cell(cell, select.metric, select.groups, select.reduce, result["duration_ns"])
             for cell in cells]
    if metrics.is_of_run(select.metric) and None in found:
        return None
    values = [(cell["name"], select.factor * (value or 0.0)) for cell, value in zip(cells, found, strict=True)]
    if select.over == "each":
        return values
    # of the variants that have the groups
    values = [named for named, value in zip(values, found, strict=True) if value is not None] or values
    return [(f"{select.over} of {len(values)}", metrics.reduce([value for _, value in values], select.over))]


def _shown(value: float, side: Select) -> str:
    """A value in the unit of its metric; a ratio has none."""
    return figure(value) if side.reduce == "ratio" else metrics.with_unit(side.metric, value)


def _sides(expect: Expect, scenario: Scenario) -> list[tuple[str, Select]]:
    """The left side at each step along a [vary] key, or along the configurations named."""
    left = replace(expect.left, over="mean")
    if expect.order:
        return [(name, replace(left, config=(name,))) for name in expect.order]
    key = expect.sequence
    wanted = left.vary.get(key, tuple(scenario.vary[key]))
    return [(f"{key}={label}", replace(left, vary=left.vary | {key: (label,)})) for label in wanted]


def _judge_along(result: Result, expect: Expect, scenario: Scenario) -> Verdict:
    """Whether the left side falls along configurations, or grows along a [vary] key."""
    points = []
    for name, side in _sides(expect, scenario):
        values = values_of(result, side)
        if values is None:
            return {"says": expect.says, "status": "not-run", "detail": ""}
        points.append((name, values[0][1]))
    detail = ", ".join(f"{name} {_shown(value, expect.left)}" for name, value in points)
    growing = [value for _, value in points]
    if expect.order:
        growing.reverse()
    holds = all(a < b for a, b in itertools.pairwise(growing))
    return {"says": expect.says, "status": "pass" if holds else "fail", "detail": detail}


def _limits(result: Result, expect: Expect, left: int, right: list[float]) -> list[list[float]]:
    """For each of the values of the left side those of the right side that it is compared with."""
    constants = (expect.left.constant, expect.right.constant)
    if constants != (None, None) or (expect.left.over, expect.right.over) != ("each", "each"):
        return [right] * left
    like = [(cell["depth"], cell["vary"]) for cell in _chosen(result["cells"], expect.right)]
    own = [(cell["depth"], cell["vary"]) for cell in _chosen(result["cells"], expect.left)]
    if not any(one in like for one in own):
        return [right] * left
    return [[value for value, of in zip(right, like, strict=True) if of == one] for one in own]


def _judge_sides(result: Result, expect: Expect) -> Verdict:
    """Whether each value of the left side compares so with the right side."""
    left = values_of(result, expect.left)
    right = values_of(result, expect.right)
    if left is None or right is None:
        return {"says": expect.says, "status": "not-run", "detail": ""}
    limits = _limits(result, expect, len(left), [value for _, value in right])
    compared = [(name, value, limit) for (name, value), against in zip(left, limits, strict=True) for limit in against]
    bad = [one for one in compared if not COMPARE[expect.op](*one[1:])]
    if bad:
        name, value, limit = bad[0]
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        seen = f"{_shown(value, expect.left)} {expect.op} {_shown(limit, expect.left)}"
        detail = f"{name}: {seen} does not hold{more}" if name else f"{seen} does not hold{more}"
        return {"says": expect.says, "status": "fail", "detail": detail}
    _, value, limit = min(compared, key=lambda one: (one[1] - one[2]) * (1 if expect.op in (">", ">=") else -1))
    return {"says": expect.says, "status": "pass",
            "detail": f"{_shown(value, expect.left)} {expect.op} {_shown(limit, expect.left)}"}


def _verdict(result: Result, expect: Expect, scenario: Scenario) -> Verdict:
    if "bw" in expect.needs and not result["kernel"]["bw"]:
        return {"says": expect.says, "status": "needs-bw", "detail": "the kernel has no BW class"}
    if expect.sequence or expect.order:
        return _judge_along(result, expect, scenario)
    return _judge_sides(result, expect)


def undecided(scenario: Scenario, cells: Sequence[Cell]) -> list[str]:
    """What the scenario's expectations say that these runs cannot decide: others are needed for it."""
    among = [
        CellResult(
            name=cell.name,
            config=cell.config.name,
            scheduler=cell.config.scheduler,
            depth=cell.depth,
            vary=cell.labels,
            policy=cell.config.policy,
            fallback=False,
            status="ok",
            processes=[],
        )
        for cell in cells
    ]
    said = []
    for expect in scenario.expects:
        along = expect.sequence or expect.order
        sides = [side for _, side in _sides(expect, scenario)] if along else [expect.left, expect.right]
        if not all(side.constant is not None or _chosen(among, side) for side in sides):
            said.append(expect.says)
    return said


def evaluate(result: Result, scenario: Scenario) -> list[Verdict]:
    """A verdict on each expectation of the scenario."""
    return [_verdict(result, expect, scenario) for expect in scenario.expects]
