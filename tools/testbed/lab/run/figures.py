# SPDX-License-Identifier: GPL-2.0
"""The figures of results that are committed: those that views, expectations and texts ask for.

A result has some hundred figures for each process; a committed record has, for each run, one line with the figures that
the scenario's own file asks for, and some for each group that comparisons use. Ten digits are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_whole

from ..model import references
from ..model.results import SCHEMA, CellResult, Result
from ..model.scenario import Cell, Scenario
from . import metrics, oldsched

DIGITS = 10
# Of each group, for comparisons; a group without deadlines or buffer has none of the first two.
OF_GROUPS = {"misses": "sum", "lost": "sum", "bytes_per_s": "sum", "latency_mean_ms": "mean", "latency_p99_ms": "max",
             "latency_max_ms": "max"}
OPTIONAL = ("misses", "lost")
OF_RUNS = [f"{op}_command_{which}_kib" for op in ("read", "write") for which in ("mean", "max")]


class Figure(NamedTuple):
    """A number of one run."""

    metric: str
    groups: tuple[str, ...]
    how: str
    process: str = ""

    @property
    def key(self) -> str:
        return metrics.key(self.metric, self.groups, self.how, self.process)


def asked(scenario: Scenario, cells: Iterable[CellResult]) -> list[Figure]:
    """The figures that a scenario's file asks for, in an order that does not change."""
    found = {}
    for view in scenario.views:
        if view.rows in scenario.vary:
            found[Figure(view.metric, tuple(view.groups), view.reduce)] = 1
        elif view.rows == "process":
            for cell in cells:
                for process in processes_of(cell):
                    found[Figure(view.metric, (), view.reduce, process)] = 1
        else:
            found |= {Figure(view.metric, (group.name,), view.reduce): 1 for group in scenario.groups}
    selects = [side for expect in scenario.expects for side in (expect.left, expect.right) if side.constant is None]
    selects += [select for one in references.of_scenario(scenario) for select in one.selects]
    found |= {Figure(side.metric, tuple(side.groups), side.reduce): 1 for side in selects}
    found |= {Figure(side.fewest, (), "sum"): 1 for side in selects if side.fewest}
    found |= {Figure(metric, (group.name,), how): 1 for group in scenario.groups for metric, how in OF_GROUPS.items()}
    return sorted(found | {Figure(metric, (), "max"): 1 for metric in OF_RUNS})


def rounded(value: float | None) -> float | int | None:
    """To the digits that are kept; whole numbers without a point."""
    if value is None:
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short == int(short) else short


def of_run(cell: CellResult, figures: Sequence[Figure], duration_ns: int) -> list[float | int | None]:
    """The values of a run; None where no process has such a figure."""
    if "figures" in cell:
        return [cell["figures"].get(one.key) for one in figures]
    return [rounded(metrics.of_cell(cell, one.metric, one.groups, one.how, duration_ns, one.process))
            if one.metric not in OPTIONAL or any(one.metric in process for process in _chosen(cell, one)) else None
            for one in figures]


def _chosen(cell: CellResult, figure: Figure) -> list[Any]:
    return [process for process in cell["processes"] if not figure.groups or process["group"] in figure.groups]


def compact(result: Result, scenario: Scenario) -> str:
    """The record of a result, as it is committed: JSON with a line for each run."""
    figures = asked(scenario, result["cells"])
    duration = result["duration_ns"]
    # The groups that run differ from run to run: those with values are named once.
    has: dict[tuple[int, ...], int] = {}
    runs = [json.dumps([cell["name"], cell["status"] + (" fallback" if cell["fallback"] else ""),
                        *(_sparse(of_run(cell, figures, duration), has) if cell["status"] == "ok" else [])])
            for cell in result["cells"]]
    head = {"schema": SCHEMA, "scenario": result["scenario"], "kernel": result["kernel"],
            "disk": result["disk"]["preset"], "seed": result["seed"], "duration_ns": duration,
            "digest": result["digest"], "figures": [one.key for one in figures], "has": list(has)}
    lines = [f" {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in head.items()]
    return "{\n" + ",\n".join(lines) + ',\n "runs": [\n  ' + ",\n  ".join(runs) + "\n ]\n}\n"


def _sparse(values: list[float | int | None], has: dict[tuple[int, ...], int]) -> list[float | int | None]:
    """Which figures a run has, as the number of its entry in @has, and their values."""
    there = tuple(place for place, value in enumerate(values) if value is not None)
    return [has.setdefault(there, len(has)), *(values[place] for place in there)]


def _dense(record: Any, which: int | None = None, *values: float) -> dict[str, float | None]:
    """What a run of a record has, by the names of the figures; None where it has no value."""
    places = [] if which is None else record["has"][which]
    if len(places) != len(values):
        raise ValueError(f"{len(values)} values for {len(places)} figures")
    return {**dict.fromkeys([] if which is None else record["figures"]),
            **{record["figures"][place]: value for place, value in zip(places, values, strict=True)}}


def write(result: Result, scenario: Scenario, path: Path) -> None:
    write_whole(path, compact(result, scenario))


def with_kept(result: Result, kept: Result, scenario: Scenario) -> Result:
    """@result, and the runs that a record has kept of schedulers that it has none of; in the order of the scenario.

    Raises ToolError if a run is in neither: of a scheduler that was run again all runs are.
    """
    place = {name: number for number, name in enumerate(_cells(scenario, kept["kernel"]["schedulers"]))}
    again = {cell["scheduler"] for cell in result["cells"]}
    others = [cell for cell in kept["cells"] if cell["scheduler"] not in again]
    cells = {cell["name"]: cell for cell in [*others, *result["cells"]]}
    if lacks := next((name for name in place if name not in cells), ""):
        raise ToolError(f"neither the results of {scenario.name} nor its record have '{lacks}'; `lab run` makes it",
                        EXIT_USAGE)
    kernel = {**kept["kernel"], **result["kernel"], "schedulers": kept["kernel"]["schedulers"]}
    in_order = sorted(cells.values(), key=lambda cell: place[cell["name"]])
    return {**result, "kernel": cast(Any, kernel), "cells": in_order}


def load(path: Path, scenario: Scenario) -> Result:
    """The result of a record: its runs have figures and no processes."""
    try:
        record = json.loads(path.read_text())
        by_name = _cells(scenario, record["kernel"]["schedulers"])
        cells = [_cell(by_name[name], status, _dense(record, *values)) for name, status, *values in record["runs"]]
        digest = record["digest"]
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}; `lab record` writes it", EXIT_USAGE) from None
    except (ValueError, TypeError, IndexError) as error:
        raise ToolError(f"{path}: not a record of `lab record`: {error}", EXIT_USAGE) from None
    except KeyError as error:
        raise ToolError(f"{path}: of another version of {scenario.name}, which has no {error}; `lab run` and "
                        "`lab record` make it again", EXIT_USAGE) from None
    if digest != scenario.digest:
        raise ToolError(f"{path}: of another version of {scenario.name}, with another load; `lab run` and "
                        "`lab record` make it again", EXIT_USAGE)
    return {"schema": SCHEMA, "scenario": record["scenario"], "title": scenario.title, "kernel": record["kernel"],
            "disk": {"preset": record["disk"], "attributes": {}}, "seed": record["seed"],
            "duration_ns": record["duration_ns"], "digest": digest, "cells": cells, "expect": []}


def _cells(scenario: Scenario, schedulers: list[str]) -> dict[str, Cell]:
    """The runs of a scenario by their names, those of old schedulers with them."""
    whole = oldsched.with_all(scenario, schedulers)
    return {cell.name: cell for cell in whole.cells()}


def _cell(cell: Cell, status: str, figures: dict[str, float | None]) -> CellResult:
    name, _, fallback = status.partition(" ")
    return cast(CellResult, {
        "name": cell.name, "config": cell.config.name, "scheduler": cell.config.scheduler, "depth": cell.depth,
        "vary": cell.labels, "policy": cell.config.policy, "fallback": bool(fallback), "status": name,
        "processes": [], "figures": figures})


def groups_of(cell: CellResult) -> list[str]:
    """The groups that have processes in a run."""
    if "figures" not in cell:
        return list(dict.fromkeys(process["group"] for process in cell["processes"]))
    suffix = f" {OF_GROUPS['bytes_per_s']}"
    return [key.removeprefix("bytes_per_s ").removesuffix(suffix) for key, value in cell["figures"].items()
            if value is not None and re.fullmatch(rf"bytes_per_s [^=+*]+{suffix}", key)]


def processes_of(cell: CellResult) -> list[str]:
    """The processes of a run; of a record those that have a figure of their own."""
    if "figures" not in cell:
        return [process["name"] for process in cell["processes"]]
    return list(dict.fromkeys(found[1] for key in cell["figures"] if (found := re.fullmatch(r"\S+ =(.+) \w+", key))))
