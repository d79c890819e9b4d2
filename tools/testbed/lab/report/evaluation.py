# SPDX-License-Identifier: GPL-2.0
"""Writes the evaluation from results: one page, and one of each scenario, published figures beside ours."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.base import text
from tools.base.code_id import OLDSCHED, SCHEDULING, of_patches
from tools.base.files import write_whole

from ..model.results import CrosscheckResult, Result, Verdict
from ..model.scenario import Scenario
from ..run import expect
from . import documents, pictures, plots, result_tables

# Scenarios whose pages are committed, for README and the guides link them; all others are in build/pages.
COMMITTED = ("players", "recorder", "recorder-reserved", "streams-limit")
# Those whose first plot is committed, too, and shown by the page of the evaluation.
SHOWN = ("players", "recorder-reserved", "streams-limit")
FIGURES = "figures"  # below the folder of the page

INTRODUCTION = """\
# Evaluation

Expectations of CFQ and of reservations, and the results of the tests. The results are from runs in virtual time
on a modelled disk ([how](../../tools/testbed/lab/README.md)); crosscheck also runs in real time. In virtual time the
same kernel gives the same results every time.

From the files in [results](results), `make pages` writes this page and the pages that it links; do not edit them. It
writes a page and a plot of every scenario to `build/pages`. The results for administrators are in
[administrators.md](administrators.md).
"""

READING = """\
"Published" are the results of the experiment that a scenario repeats. They were measured on a real disk with Linux
2.6.29 (Lunde, *Improving Disk I/O Performance on Linux*, 2009) or before (Axboe's slides on the I/O stack and CFQ).
Absolute numbers differ from that disk's. The order of the schedulers and the shape of the curves must be the same.
Each page says where and why they are not.

`depth`, or the number after `@`, is the number of commands that the drive holds. A depth of 1 is the published
"NCQ off".

`none` has no queue of its own. At depth 1 it has one tag. The guest has one CPU, so the process that was served last
takes the tag again before a waiting process is woken. The results of `none` at depth 1 show this effect, not the disk.
The scheduler noop of 2.6.29 had a queue of 128 requests.
"""

# Tables, figures and sections of the thesis that are on other pages than those of scenarios, or on none.
ELSEWHERE = [
    ("figure 2.2", "a rotating disk", "a drawing, without data"),
    ("table 2.1", "drive specification",
     "[barracuda-7200.11.conf](../../configs/disks/barracuda-7200.11.conf), where each value has its source"),
    ("table 2.2", "length and offset of slices by level",
     "lengths: [cfq-iosched.rst](../block/cfq-iosched.rst); queues have no offsets any more"),
    ("section 2.3.11", "what reordering could gain", "[reading-trees.md](reading-trees.md#what-it-gains)"),
    ("figure 2.17", "two readers of trees at once", "[reading-trees.md](reading-trees.md#two-at-once)"),
    ("figure 2.29", "from a trace to its replay",
     "a drawing, without data; [iobound](../../tools/user/iobound/README.md) does it"),
    ("figure 2.30", "what reordering could gain, 250 files",
     "[reading-trees.md](reading-trees.md#what-reordering-could-gain)"),
    ("table 2.4", "defaults of `mkfs.ext4` 1.41.3",
     "a list, without data; file systems here have the defaults of today's mkfs.ext4"),
    ("figure 4.1", "tar and other programs on an aged file system",
     "[reading-trees.md](reading-trees.md#what-it-gains)"),
    ("table 4.1", "programs that could gain, and that could not",
     "a list, without data; [sweep](../../tools/user/sweep/README.md) has tar, cp, du and find"),
    ("figure 4.2", "lowest and highest sector each 100 ms", "[reading-trees.md](reading-trees.md#where-the-head-is)"),
    ("table 4.2", "system calls and what they read", "a list, without data"),
    ("figure 4.3", "the five orders", "[reading-trees.md](reading-trees.md#the-orders)"),
    ("table 4.3", "mean size of a file by files of a directory",
     "[reading-trees.md](reading-trees.md#directories-of-all-sizes)"),
    ("figure 4.4", "as the file system ages", "[reading-trees.md](reading-trees.md#as-the-file-system-ages)"),
    ("figure 4.5", "directories of all sizes", "[reading-trees.md](reading-trees.md#directories-of-all-sizes)"),
    ("figure 4.6", "the same in seconds", "[reading-trees.md](reading-trees.md#directories-of-all-sizes)"),
    ("figure A.1", "an aged file system", "[ageing](../../tools/testbed/ageing/README.md)"),
    ("figure A.2", "distances between the files of a directory",
     "[ageing](../../tools/testbed/ageing/README.md#layout)"),
]

Judged = list[tuple[Scenario, list[Verdict]]]


def write(
    results: list[tuple[Result, Scenario]],
    crosschecks: list[CrosscheckResult],
    page: Path,
    out: Path,
    gone: Mapping[str, Result] | None = None,
    missing: Sequence[Scenario] = (),
) -> None:
    """The page, the committed pages of scenarios beside it, and below @out one of each scenario.

    @gone: by scenario, results of the schedulers that only patches/oldsched has
    @missing: scenarios without committed results
    """
    gone = gone or {}
    judged = []
    for result, scenario in results:
        verdicts = expect.evaluate(result, scenario)
        judged.append((scenario, verdicts))
        checks = [check for check in crosschecks if check["scenario"] == scenario.name]
        for own, plotted in _pages(result, scenario, page, out):
            section = _section(result, scenario, own, "#", plotted, gone.get(scenario.name))
            parts = [section, _verdicts(verdicts), _crosscheck(checks)]
            whole = "\n\n".join(part for part in parts if part) + "\n"
            write_whole(own, whole if own.parent == out else _without_links(whole))
    kernels = [*results, *((gone[scenario.name], scenario) for _, scenario in results if scenario.name in gone)]
    parts = [INTRODUCTION, _kernel(kernels), _claims(judged, page, missing), _missed(judged, page)]
    parts += [_looks(judged), _numbers(judged, page), f"## How to read the results\n\n{READING}"]
    parts.append(_trust(crosschecks))
    write_whole(page, "\n".join(part.strip() + "\n" for part in parts if part))


def _pages(result: Result, scenario: Scenario, page: Path, out: Path) -> list[tuple[Path, list[Path]]]:
    """The files that a scenario's page is written to, and the plots that it shows there."""
    found = [(out / f"{scenario.name}.md", plots.plot_result(result, scenario, out, "svg", brief=True))]
    if scenario.name in COMMITTED:
        drawn = scenario.name in SHOWN
        folder = page.parent / FIGURES
        plotted = plots.plot_result(result, scenario, folder, "png", brief=True) if drawn else []
        found.append((page.parent / page.stem / f"{scenario.name}.md", plotted))
    return found


def _without_links(page: str) -> str:
    """A committed page names the scenarios whose pages are not committed, without a link."""
    return re.sub(r"\[([\w-]+)\]\(\1\.md\)", lambda found: found[0 if found[1] in COMMITTED else 1], page)


def write_oldsched(results: list[tuple[Result, Scenario]], head: str, page: Path) -> None:
    """A page of scenarios that want a kernel with patches/oldsched: tables only, behind a text of its own."""
    parts = [head, _kernel(results), _summary(results)]
    parts += [_section(result, scenario, page, "##") for result, scenario in results]
    write_whole(page, "\n".join(part.strip() + "\n" for part in parts if part))


def _link(scenario: Scenario, page: Path) -> str:
    return f"[{scenario.name}]({page.stem}/{scenario.name}.md)" if scenario.name in COMMITTED else scenario.name


def _holding(verdicts: list[Verdict]) -> int:
    """How many hold; those that were not run are none that hold."""
    return sum(verdict["status"] == "pass" for verdict in verdicts)


def _count(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return ""
    holds = _holding(verdicts)
    return "all" if holds == len(verdicts) else f"**{holds} of {len(verdicts)}**"


def _published(scenario: Scenario) -> str:
    return "" if scenario.source == "not published" else scenario.source


def _claims(judged: Judged, page: Path, missing: Sequence[Scenario]) -> str:
    everything = [verdict for _, verdicts in judged for verdict in verdicts]
    rows = [
        [_link(scenario, page), scenario.title, _published(scenario), _count(verdicts)]
        for scenario, verdicts in judged
    ]
    rows += [[scenario.name, scenario.title, _published(scenario), documents.NO_RESULTS] for scenario in missing]
    table = text.markdown(["scenario", "the load", "published", "expectations that hold"], rows, "llll")
    said = f"{_holding(everything)} of {len(everything)} expectations hold."
    return f"## Expectations\n\n{said}\n\n{table}"


def _missed(judged: Judged, page: Path) -> str:
    rows = []
    for scenario, verdicts in judged:
        missed = [f"{verdict['says']}: {verdict['detail'] or verdict['status']}" for verdict in verdicts
                  if verdict["status"] != "pass"]
        rows += [[_link(scenario, page), "<br>".join(missed)]] if missed else []
    if not rows:
        return ""
    table = text.markdown(["scenario", "expectation: result"], rows, "ll")
    return f"## What does not hold\n\nThe page of a scenario says why, as far as it is known.\n\n{table}"


def _looks(judged: Judged) -> str:
    shown = [f"![{scenario.title}]({FIGURES}/{scenario.name}-1.png)" for scenario, _ in judged
             if scenario.name in SHOWN and scenario.views]
    return "\n\n".join(["## Plots", *shown]) if shown else ""


def _number(what: str) -> list[str]:
    """For the order: tables and figures of a chapter by their numbers."""
    found = re.search(r"([A-Z]|\d+)\.(\d+)", what)
    return [found.group(1), f"{int(found.group(2)):03}"] if found else ["~"]


def _numbers(judged: Judged, page: Path) -> str:
    """Where each table and figure of the thesis is."""
    rows = [list(row) for row in ELSEWHERE]
    for scenario, _ in judged:
        if found := re.fullmatch(r"Lunde 2009, (.*)", scenario.source):
            rows.append([found.group(1).replace("fig.", "figure"), scenario.title, _link(scenario, page)])
        for title, name in pictures.of_scenario(scenario.name):
            if numbered := re.fullmatch(r"(.*) \((figures? [^:]*)(: .*)?\)", title):
                what = numbered.group(1) + (numbered.group(3) or "")
                rows.append([numbered.group(2), what, f"`lab pictures {name}`"])
    rows.sort(key=lambda row: _number(row[0]))
    table = text.markdown(["thesis", "what", "here"], rows, "lll")
    head = "## Index of the thesis' tables and figures"
    apex = "APEX, an older scheduler with reservations and deadlines, has [a page of its own](apex.md)."
    return f"{head}\n\n{table}\n\n{apex}"


def _verdicts(verdicts: list[Verdict]) -> str:
    rows = [[verdict["says"], verdict["status"], verdict["detail"]] for verdict in verdicts]
    return "## Expectations\n\n" + text.markdown(["expected", "status", "seen"], rows, "lll") if rows else ""


def _kernel(results: list[tuple[Result, Scenario]]) -> str:
    lines = []
    for release, bw in sorted({(r["kernel"]["release"], r["kernel"]["bw"]) for r, _ in results}):
        lines.append(f"Kernel {release}, {'with' if bw else 'without'} the BW class.")
    codes = {result["kernel"].get("patches", "unknown") for result, _ in results}
    lines.append(of_patches(", ".join(sorted(codes)), *SCHEDULING))
    if without := sum("without_cfq" in result["kernel"] for result, _ in results):
        lines.append(f"In {without} of {len(results)} scenarios other schedulers ran on the same kernel without the"
                     " patches of cfq and of bandwidth.")
    if lab := {result["kernel"]["oldsched"] for result, _ in results if "oldsched" in result["kernel"]}:
        lines.append(of_patches(", ".join(sorted(lab)), OLDSCHED))
    if any(cell["fallback"] for result, _ in results for cell in result["cells"]):
        lines.append("A configuration marked *fallback* ran with ordinary priorities in place of reservations.")
    return "\n".join(lines)


def _summary(results: list[tuple[Result, Scenario]]) -> str:
    rows = []
    for result, scenario in results:
        for verdict in expect.evaluate(result, scenario):
            link = f"[{scenario.name}](#{scenario.name})"
            rows.append([link, verdict["says"], verdict["status"], verdict["detail"]])
    table = text.markdown(["scenario", "expected", "status", "seen"], rows, "llll")
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[2]] = counts.get(row[2], 0) + 1
    total = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"## Expectations\n\n{total}.\n\n{table}"


def _section(
    result: Result, scenario: Scenario, page: Path, level: str, plotted: Sequence[Path] = (),
    gone: Result | None = None,
) -> str:
    """All of a scenario but its verdicts, for a page."""
    parts = [f"{level} {scenario.name}", f"**{scenario.title}** ({scenario.source})",
             documents.filled(scenario.about, result)]
    attributes = ", ".join(f"{key} {value}" for key, value in scenario.disk_set.items())
    parts.append(
        f"Disk {result['disk']['preset']}{f' ({attributes})' if attributes else ''},"
        f" {result['duration_ns'] / 1e9:g} s, seed {result['seed']}."
    )
    if scenario.must_show:
        parts.append(f"Expected: {documents.filled(scenario.must_show, result)}.")
    failed = [cell["error"] for cell in result["cells"] if cell["status"] == "failed"]
    for error in failed:
        parts.append(f"**A run failed:** {error}")
    for view in scenario.views:
        unit = f", {view.unit}" if view.unit else ""
        parts.append(f"Here: {view.title}{unit}\n\n" + text.markdown(*result_tables.view_rows(result, view, scenario)))
        header, rows = result_tables.view_rows(gone, view, scenario) if gone else ([], [])
        if len(header) > 1:
            head = "With the old schedulers of patches/oldsched"
            parts.append(f"{head}\n\n{text.markdown(header, rows)}")
    if not scenario.views:
        parts.append(text.markdown(*result_tables.group_rows(result)))
    for table in scenario.published:
        parts.append(
            f"Published: {table.caption}\n\n" + text.markdown(table.columns, table.rows)
        )
    if scenario.differences:
        parts.append(f"Differences: {documents.filled(scenario.differences, result)}")
    for path in plotted:
        parts.append(f"![{scenario.title}]({os.path.relpath(path, page.parent)})")
    for title, name in pictures.of_scenario(scenario.name):
        parts.append(f"A trace, by `lab pictures {name}`: {title}.")
    return "\n\n".join(part for part in parts if part)


CLOCKS = {
    "real": "The guest has the host's clock and two CPUs, so other work of the host changes the results.",
    "icount": "The guest's clock counts its instructions (QEMU's icount, one CPU), so other work changes nothing.",
}


def _trust(crosschecks: list[CrosscheckResult]) -> str:
    """Whether virtual time and the load generator agree with fio."""
    head = "The virtual clock and the load generator are part of `lab`."
    if not crosschecks:
        return f"{head} Not run: `tools/testbed/lab/lab crosscheck` compares them with fio."
    status = "pass" if all(check["status"] == "pass" for check in crosschecks) else "fail"
    limit = f"{crosschecks[0]['limit_percent']:g}%"
    return f"{head} fio in QEMU on the same modelled disk agrees within {limit}: **{status}**."


def _crosscheck(crosschecks: list[CrosscheckResult]) -> str:
    if not crosschecks:
        return ""
    head = (
        "## Cross-check\n\nThe virtual clock and the load generator are part of `lab`. So a scenario is repeated"
        " without them: with fio in emulated x86-64 under QEMU, on the same modelled disk."
    )
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
