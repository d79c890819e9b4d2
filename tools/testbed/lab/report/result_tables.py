# SPDX-License-Identifier: GPL-2.0
"""Results as tables: for the terminal and, with pipes, for Markdown."""

import itertools

from tools.base import text

from ..model.results import CellResult, CrosscheckResult, ProcessResult, Result
from ..model.scenario import Scenario, View
from ..model.units import MIB, SCALES
from ..run import figures, metrics
from ..run.metrics import figure

Row = list[str]

SETTINGS = "settings"  # the key of [vary]
GROUP_COLUMNS = ["group", "n", "MiB/s", "reads/s", "misses", "mean ms", "p99 ms", "max ms"]


def scaled(value: float, unit: str) -> float:
    return value / SCALES[unit]


def config_label(cell: CellResult) -> str:
    return cell["config"] + (" (fallback)" if cell["fallback"] else "")


def group_rows(result: Result) -> tuple[Row, list[Row]]:
    """One row for each group of each cell."""
    keys = list(result["cells"][0]["vary"]) if result["cells"] else []
    depths = {cell["depth"] for cell in result["cells"]}
    header = ["config"] + (["depth"] if len(depths) > 1 else []) + keys + GROUP_COLUMNS
    rows = []
    for cell in result["cells"]:
        lead = [config_label(cell)] + ([str(cell["depth"])] if len(depths) > 1 else [])
        lead += [cell["vary"][key] for key in keys]
        if cell["status"] != "ok":
            rows.append(lead + [cell["status"]] + [""] * (len(GROUP_COLUMNS) - 1))
            continue
        for name in dict.fromkeys(process["group"] for process in cell["processes"]):
            members = [process for process in cell["processes"] if process["group"] == name]
            rows.append(lead + [name, str(len(members))] + _group_figures(members, result["duration_ns"]))
    return header, rows


def command_rows(result: Result) -> tuple[Row, list[Row]]:
    """One row for each run: the sizes of the drive's commands."""
    header = ["run", "read KiB, mean", "largest", "write KiB, mean", "largest"]
    rows = [[cell["name"], *(figure(cell["commands"][metric]) for metric in figures.OF_RUNS)]
            for cell in result["cells"] if cell.get("commands")]
    return header, rows


def _group_figures(members: list[ProcessResult], duration_ns: int) -> Row:
    def value(metric: str, how: str) -> float:
        return metrics.reduce([metrics.of_process(member, metric, duration_ns) for member in members], how)

    deadlines = any("misses" in member for member in members)
    return [
        figure(value("bytes_per_s", "sum") / MIB),
        figure(value("reads_per_s", "sum")),
        figure(value("misses", "sum")) if deadlines else "",
        figure(value("latency_mean_ms", "mean")),
        figure(value("latency_p99_ms", "max")),
        figure(value("latency_max_ms", "max")),
    ]


def view_rows(result: Result, view: View, scenario: Scenario) -> tuple[Row, list[Row]]:
    """A view: one row for each value of its key, one column for each configuration.

    If a scenario runs with several settings of the disk's queue, there is one row for each of them.
    """
    cells = [cell for cell in result["cells"] if not view.configs or cell["config"] in view.configs]
    depths = sorted({cell["depth"] for cell in cells})
    columns = list(dict.fromkeys((cell["config"], cell["depth"]) for cell in cells))
    fallbacks = {cell["config"] for cell in cells if cell["fallback"]}

    def head(config: str, depth: int) -> str:
        name = config + (" (fallback)" if config in fallbacks else "")
        return f"{name} @{depth}" if len(depths) > 1 else name

    if view.rows in scenario.vary:
        labels = [label for label in scenario.vary[view.rows] if any(c["vary"][view.rows] == label for c in cells)]
    else:
        of_cell = figures.processes_of if view.rows == "process" else figures.groups_of
        labels = list(dict.fromkeys(label for cell in cells for label in of_cell(cell)))

    rows = []
    for label, setting in itertools.product(labels, _settings(cells, view)):
        row = [f"{label}, {setting}" if setting else label]
        for config, depth in columns:
            mine = [cell for cell in cells if (cell["config"], cell["depth"]) == (config, depth)
                    and setting in ("", cell["vary"].get(SETTINGS))]
            row.append(_entry(mine, view, scenario, label, result["duration_ns"]))
        rows.append(row)
    header = [view.rows] + [head(*column) for column in columns]
    return header, rows


def _settings(cells: list[CellResult], view: View) -> list[str]:
    """Settings of the disk's queue that a view tells apart; '' if there is nothing to tell."""
    found = list(dict.fromkeys(cell["vary"].get(SETTINGS, "") for cell in cells))
    return [""] if view.rows == SETTINGS or len(found) < 2 else found


def _entry(cells: list[CellResult], view: View, scenario: Scenario, label: str, duration_ns: int) -> str:
    """One figure; over several variants, their range."""
    values = []
    for cell in cells:
        groups: tuple[str, ...] = view.groups
        process = ""
        if view.rows in scenario.vary:
            if cell["vary"][view.rows] != label:
                continue
        elif view.rows == "process":
            groups, process = (), label
        else:
            groups = (label,)
        if cell["status"] != "ok":
            return cell["status"]
        value = metrics.of_cell(cell, view.metric, groups, view.reduce, duration_ns, process)
        if value is not None:
            values.append(scaled(value, view.unit))
    if not values:
        return "-"
    low, high = figure(min(values)), figure(max(values))
    return low if low == high else f"{low}..{high}"


def crosscheck_rows(crosscheck: CrosscheckResult) -> list[Row]:
    """What was compared, in virtual and in real time, and the difference."""
    return [
        [row["what"], figure(row["virtual"]), figure(row["real"]), f"{row['percent']:+.1f}%"]
        for row in crosscheck["rows"]
    ]


def terminal(result: Result, scenario: Scenario, details: bool) -> str:
    """All that `lab run` prints of one scenario."""
    parts = [f"{scenario.name}: {scenario.title}"]
    for view in scenario.views:
        unit = f" [{view.unit}]" if view.unit else ""
        parts.append(f"{view.title}{unit}\n" + text.table(*view_rows(result, view, scenario)))
    if details or not scenario.views:
        parts.append(text.table(*group_rows(result)))
        parts.append(text.table(*command_rows(result)))
    for verdict in result["expect"]:
        detail = f" ({verdict['detail']})" if verdict["detail"] else ""
        parts.append(f"{verdict['status'].upper():8} {verdict['says']}{detail}")
    return "\n\n".join(parts[:1]) + "\n" + "\n\n".join(parts[1:]) if len(parts) > 1 else parts[0]
