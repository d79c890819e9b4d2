# SPDX-License-Identifier: GPL-2.0
"""Writes the evaluation page from results: published figures beside ours."""

import json
from pathlib import Path

from tools.base import text
from tools.base.files import write_whole
from tools.base.patched import LAB, of_patches

from . import expect, pictures, plots, result_tables
from .results import CrosscheckResult, Result
from .scenario import Scenario

PICTURES = Path(__file__).resolve().parent / "pictures.toml"

INTRODUCTION = """\
# Evaluation

This page is written by `tools/lab/lab report` from the results of `lab run --all`; do not edit it.
Every figure is of a run in virtual time on a modelled disk ([how](../../tools/lab/README.md)): the
same kernel gives the same figures every time. "Published" are the figures of the experiment that a
scenario follows, measured on a real disk and Linux 2.6.29 (Lunde, *Improving Disk I/O Performance
on Linux*, 2009) or before (Axboe's slides on the I/O stack and CFQ). Absolute figures
differ from that disk's; the shape must not, and each section says where and why it does.

Two things hold in all of them. `none` has no queue of its own: with one command in the drive (depth 1) there is one
tag, and on the one CPU of the guest the process that has just been served takes it again before those that wait are
woken. Its figures at depth 1 show this and nothing about a disk; noop of 2.6.29 had a queue of 128 requests. And
`depth` is the number of commands that the drive holds: 1 is the published "NCQ off".
"""


def write(
    results: list[tuple[Result, Scenario]],
    crosschecks: list[CrosscheckResult],
    page: Path,
    figures: Path,
) -> None:
    parts = [INTRODUCTION, _kernel(results), _summary(results)]
    for result, scenario in results:
        parts.append(_section(result, scenario, page, figures))
    parts.append(_crosscheck(crosschecks))
    write_whole(page, "\n".join(part.strip() + "\n" for part in parts if part))


def write_lab(results: list[tuple[Result, Scenario]], head: str, page: Path) -> None:
    """A page of scenarios that want a kernel with patches/lab: tables only, behind a text of its own."""
    codes = {result["kernel"].get("lab", "unknown") for result, _ in results}
    of_lab = of_patches(", ".join(sorted(codes)), LAB)
    parts = [head, f"{_kernel(results)}\n{of_lab}", _summary(results)]
    parts += [_section(result, scenario, page) for result, scenario in results]
    write_whole(page, "\n".join(part.strip() + "\n" for part in parts if part))


def _kernel(results: list[tuple[Result, Scenario]]) -> str:
    lines = []
    for release, bw in sorted({(r["kernel"]["release"], r["kernel"]["bw"]) for r, _ in results}):
        lines.append(f"Kernel {release}, {'with' if bw else 'without'} the BW class.")
    codes = {result["kernel"].get("patches", "unknown") for result, _ in results}
    lines.append(of_patches(", ".join(sorted(codes))))
    if any(cell["fallback"] for result, _ in results for cell in result["cells"]):
        lines.append("A configuration marked *fallback* ran with ordinary priorities in place of reservations.")
    return "\n".join(lines)


def _summary(results: list[tuple[Result, Scenario]]) -> str:
    rows = []
    for result, scenario in results:
        for verdict in expect.evaluate(result, scenario):
            link = f"[{scenario.name}](#{scenario.name})"
            rows.append([link, verdict["says"], verdict["status"], verdict["detail"]])
    table = text.markdown(["scenario", "must show", "status", "seen"], rows, "llll")
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[2]] = counts.get(row[2], 0) + 1
    total = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"## What must show\n\n{total}.\n\n{table}"


def _section(result: Result, scenario: Scenario, page: Path, figures: Path | None = None) -> str:
    parts = [f"## {scenario.name}", f"**{scenario.title}** ({scenario.source})", scenario.about]
    attributes = ", ".join(f"{key} {value}" for key, value in scenario.disk_set.items())
    parts.append(
        f"Disk {result['disk']['preset']}{f' ({attributes})' if attributes else ''},"
        f" {result['duration_ns'] / 1e9:g} s, seed {result['seed']}."
    )
    if scenario.must_show:
        parts.append(f"Must show: {scenario.must_show}.")
    failed = [cell["error"] for cell in result["cells"] if cell["status"] == "failed"]
    for error in failed:
        parts.append(f"**A run failed:** {error}")
    for view in scenario.views:
        unit = f", {view.unit}" if view.unit else ""
        parts.append(f"Here: {view.title}{unit}\n\n" + text.markdown(*result_tables.view_rows(result, view, scenario)))
    if not scenario.views:
        parts.append(text.markdown(*result_tables.group_rows(result)))
    for table in scenario.published:
        parts.append(
            f"Published: {table.caption}\n\n" + text.markdown(table.columns, table.rows)
        )
    if scenario.differences:
        parts.append(f"Differences: {scenario.differences}")
    for path in plots.plot_result(result, scenario, figures, "svg", brief=True) if figures else []:
        parts.append(f"![{scenario.title}]({path.relative_to(page.parent)})")
    for title, path in pictures.of_scenario(scenario.name, PICTURES, page.parent / "figures"):
        parts.append(f"A trace: [{title}]({path.relative_to(page.parent)}).")
    return "\n\n".join(part for part in parts if part)


CLOCKS = {
    "real": "The guest's clock is the host's, two CPUs: what the host does besides shows in the figures.",
    "icount": "The guest's clock counts its instructions (QEMU's icount, one CPU): the host's work does not show.",
}


def _crosscheck(crosschecks: list[CrosscheckResult]) -> str:
    head = (
        "## Cross-check\n\nThe virtual clock and the load generator are the laboratory's own. So a scenario is repeated"
        " without either: fio, in emulated x86-64 under QEMU, on the same modelled disk."
    )
    if not crosschecks:
        return head + "\n\nNot run: `tools/lab/lab crosscheck` writes this section's figures."
    parts = [head, crosschecks[0]["about"]]
    for crosscheck in crosschecks:
        rows = result_tables.crosscheck_rows(crosscheck)
        parts.append(CLOCKS[crosscheck["clock"]])
        parts.append(text.markdown(["", "virtual time", "QEMU and fio", "difference"], rows))
        parts.append(f"Within {crosscheck['limit_percent']:g}%: **{crosscheck['status']}**.")
    return "\n\n".join(parts)


def load_crosschecks(folder: Path) -> list[CrosscheckResult]:
    paths = [folder / f"crosscheck-{clock}.json" for clock in CLOCKS]
    return [json.loads(path.read_text()) for path in paths if path.exists()]
