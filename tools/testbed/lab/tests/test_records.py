# SPDX-License-Identifier: GPL-2.0
"""Committed records say what results say, and texts have their numbers from there."""

import json
from pathlib import Path
from typing import get_args

import pytest

from tools.base.cli import ToolError
from tools.base.paths import ROOT
from tools.testbed.lab.model import references, schema
from tools.testbed.lab.model.catalog import OLDSCHED, RECORDS, SCENARIOS, all_scenarios
from tools.testbed.lab.model.errors import BadValue
from tools.testbed.lab.model.results import Result
from tools.testbed.lab.model.scenario import Metric, Reduce, Scenario
from tools.testbed.lab.report import compare, documents, evaluation, result_tables
from tools.testbed.lab.run import expect, figures, metrics
from tools.testbed.lab.tests.conftest import SCENARIO, cell_result, process_result, result_of

MIB = 1 << 20
TEXTS = """
differences = "none reads {{bytes_per_s of stream in none N=2 as MiB/s}}, {{bytes_per_s of stream in none N=2 / \
bytes_per_s of stream in mq-deadline N=2}} of it"
"""


def scenario(more: str = "") -> Scenario:
    return schema.parse(Path("test.toml"), more + SCENARIO)


def result(misses: int = 0, rate: float = 1.23456789) -> Result:
    cells = [cell_result(name, n, [process_result("stream", round(n * rate * MIB), misses),
                                   process_result("random", 1)])
             for name in ("none", "mq-deadline") for n in (1, 2)]
    made = result_of(cells)
    made["kernel"]["schedulers"] = ["none", "mq-deadline"]
    return made


def recorded(folder: Path, made: Result, of: Scenario) -> Result:
    figures.write({**made, "digest": of.digest}, of, folder / "test.json")
    return figures.load(folder / "test.json", of)


def test_record_has_one_line_for_each_run(tmp_path: Path) -> None:
    recorded(tmp_path, result(), scenario())
    lines = (tmp_path / "test.json").read_text().splitlines()
    runs = [line for line in lines if "depth1" in line]
    assert len(runs) == 4 and runs[0].startswith('  ["none depth1 N=1", "ok", ')
    record = json.loads((tmp_path / "test.json").read_text())
    assert all(len(run) == 3 + len(record["has"][run[2]]) for run in record["runs"])


def test_record_names_figures_without_a_value_nowhere(tmp_path: Path) -> None:
    made = result()
    made["cells"][0]["processes"] = made["cells"][0]["processes"][:1]
    made["cells"][1]["status"] = "failed"
    again = recorded(tmp_path, made, scenario())
    record = json.loads((tmp_path / "test.json").read_text())
    assert "null" not in (tmp_path / "test.json").read_text()
    assert len(record["has"]) == 2 and record["runs"][1][1:] == ["failed"]
    assert again["cells"][0]["figures"]["bytes_per_s random sum"] is None
    assert again["cells"][1]["figures"] == {}
    assert list(again["cells"][2]["figures"]) == record["figures"]


def test_record_with_another_number_of_values_is_an_error(tmp_path: Path) -> None:
    recorded(tmp_path, result(), scenario())
    record = json.loads((tmp_path / "test.json").read_text())
    record["runs"][0].pop()
    (tmp_path / "test.json").write_text(json.dumps(record))
    with pytest.raises(ToolError, match="not a record of `lab record`: .* values for .* figures"):
        figures.load(tmp_path / "test.json", scenario())


def test_record_is_the_same_for_the_same_result(tmp_path: Path) -> None:
    one = figures.compact(result(), scenario())
    assert one == figures.compact(result(), scenario()) != figures.compact(result(1), scenario())


def test_record_keeps_the_runs_of_other_schedulers(tmp_path: Path) -> None:
    before = recorded(tmp_path, result(), scenario())
    new = result(misses=3, rate=2)
    new["cells"] = [cell for cell in new["cells"] if cell["scheduler"] == "none"]
    merged = recorded(tmp_path, figures.with_kept(new, before, scenario()), scenario())
    whole = recorded(tmp_path, result(misses=3, rate=2), scenario())
    assert [cell["name"] for cell in merged["cells"]] == [cell["name"] for cell in before["cells"]]
    for now, old, changed in zip(merged["cells"], before["cells"], whole["cells"], strict=True):
        assert now["figures"] == (changed if now["scheduler"] == "none" else old)["figures"] != {}


def test_record_keeps_no_run_that_it_does_not_have(tmp_path: Path) -> None:
    before = recorded(tmp_path, result(), scenario())
    before["cells"] = before["cells"][:3]
    with pytest.raises(ToolError, match="neither the results of test nor its record have 'mq-deadline depth1 N=2'"):
        figures.with_kept({**result(), "cells": []}, before, scenario())


def test_record_keeps_no_run_of_a_scheduler_that_was_run_again(tmp_path: Path) -> None:
    before = recorded(tmp_path, result(), scenario())
    new = result(misses=3)
    new["cells"] = new["cells"][:1]
    with pytest.raises(ToolError, match="neither the results of test nor its record have 'none depth1 N=2'"):
        figures.with_kept(new, before, scenario())


@pytest.mark.parametrize("misses", [0, 3])
def test_record_gives_the_verdicts_and_tables_of_the_result(tmp_path: Path, misses: int) -> None:
    made, of = result(misses), scenario()
    again = recorded(tmp_path, made, of)
    assert expect.evaluate(again, of) == expect.evaluate(made, of)
    for view in of.views:
        assert result_tables.view_rows(again, view, of) == result_tables.view_rows(made, view, of)


@pytest.mark.parametrize("rows", ["group", "process"])
def test_record_gives_the_tables_of_groups_and_processes(tmp_path: Path, rows: str) -> None:
    made = result()
    of = schema.parse(Path("test.toml"), SCENARIO.replace('metric = "reads"', f'metric = "reads"\nrows = "{rows}"'))
    again = recorded(tmp_path, made, of)
    header, body = result_tables.view_rows(again, of.views[0], of)
    assert (header, sorted(body)) == (result_tables.view_rows(made, of.views[0], of)[0],
                                      sorted(result_tables.view_rows(made, of.views[0], of)[1]))
    assert {row[0] for row in body} == {"stream", "random"}


def test_figure_that_no_file_asks_for_is_an_error(tmp_path: Path) -> None:
    again = recorded(tmp_path, result(), scenario())
    with pytest.raises(ToolError, match="has no 'latency_p25_ms stream max': `lab run` and `lab record` add it"):
        metrics.of_cell(again["cells"][0], "latency_p25_ms", ["stream"], "max", 1)


def test_record_of_another_version_of_the_scenario_is_an_error(tmp_path: Path) -> None:
    figures.write(result(), scenario(), tmp_path / "test.json")
    other = schema.parse(Path("test.toml"), SCENARIO.replace("N = [1, 2]", "N = [1, 3]"))
    with pytest.raises(ToolError, match="of another version of test, which has no 'none depth1 N=2'"):
        figures.load(tmp_path / "test.json", other)
    other = schema.parse(Path("test.toml"), SCENARIO.replace("duration_s", "seed = 8\nduration_s", 1))
    with pytest.raises(ToolError, match="of another version of test, with another load"):
        figures.load(tmp_path / "test.json", other)
    with pytest.raises(ToolError, match="No such file or directory; `lab record` writes it"):
        figures.load(tmp_path / "none.json", other)


def test_what_has_changed_since_the_record_is_shown_and_nothing_else(tmp_path: Path) -> None:
    of = scenario()
    before = recorded(tmp_path, result(), of)
    assert compare.with_record(before, result(), of, 0)[0] == []
    assert compare.changed_verdicts(before, result(), of) == []
    rows, total = compare.with_record(before, result(3), of, 0)
    assert [row[:2] for row in rows] == [[f"{name} depth1 N={n}", "misses stream sum"]
                                         for name in ("mq-deadline", "none") for n in (1, 2)]
    assert total > len(rows)
    assert compare.changed_verdicts(before, result(3), of) == [
        "pass -> FAIL: nothing is missed (none depth1 N=1: 3 == 0 does not hold and 3 more)"]
    few = result(rate=1.235)
    assert compare.with_record(before, few, of, 1)[0] == [] != compare.with_record(before, few, of, 0)[0]


def test_texts_of_a_scenario_have_their_numbers_from_results(tmp_path: Path) -> None:
    of = scenario(TEXTS)
    again = recorded(tmp_path, result(), of)
    assert documents.filled(of.differences, again) == "none reads 2.47 MiB/s, 1 of it"


@pytest.mark.parametrize(("text", "written"), [
    ("misses of stream in none N=2", "7"), ("bytes_per_s of stream in none N=2 as MiB/s .1", "2.5 MiB/s"),
    ("latency_max_ms of stream in none N=1 reduce=max as ms", "9 ms"), ("reads of stream in none over=sum", "8"),
    ("reads of stream,random in none N=1", "8"), ('reads of stream in "none" depth=1 N=1', "4")])
def test_reference_is_written_with_its_unit(text: str, written: str) -> None:
    assert documents.value_of(references.parse(text), result(7)) == written


def test_mean_is_of_the_variants_that_have_the_group() -> None:
    of = result()
    without = next(cell for cell in of["cells"] if cell["name"] == "none depth1 N=1")
    without["processes"] = [one for one in without["processes"] if one["group"] != "stream"]
    assert documents.value_of(references.parse("reads of stream in none over=mean"), of) == "4"


@pytest.mark.parametrize(("text", "what"), [
    ("", "names no metric"), ("misses stream", "'stream' is none of"), ("misses of stream in none", "2 runs"),
    ("misses of stream in bfq N=2", "no run that was made"), ('misses in "none', "No closing quotation"),
    ("reads of stream in none N=1 / misses of stream in none N=1", "the second value is 0")])
def test_reference_that_names_no_number_is_an_error(text: str, what: str) -> None:
    with pytest.raises(BadValue, match=what):
        documents.value_of(references.parse(text), result())


def test_document_keeps_its_references_and_gets_new_numbers() -> None:
    by_name = {"test": (result(5), scenario())}
    text = "has <!--{{test: misses of stream in none N=1}}-->99<!----> misses"
    now = "has <!--{{test: misses of stream in none N=1}}-->5<!----> misses"
    assert documents.with_values(text, by_name, "x.md") == now == documents.with_values(now, by_name, "x.md")
    table = documents.with_values('<!--{{table test reads configs=none}}-->old<!---->', by_name, "x.md")
    assert "| N | none |" in table and "mq-deadline" not in table and "old" not in table
    assert documents.with_values("<!--{{test: misses}}-->1<!---->", {"test": None}, "x") == \
        "<!--{{test: misses}}-->no results yet<!---->"
    for wrong in ("{{table test nothing}}", "{{other: misses}}", "{{table test reads N=1}}"):
        with pytest.raises(ToolError, match="x.md: "):
            documents.with_values(f"<!--{wrong}--><!---->", by_name, "x.md")


ALL = [*all_scenarios(), *all_scenarios(SCENARIOS / OLDSCHED)]


@pytest.mark.parametrize("of", ALL, ids=lambda of: of.name)
def test_references_of_our_scenarios_can_be_read(of: Scenario) -> None:
    names = {config.name for config in of.configs}
    groups = {group.name for group in of.groups}
    for one in references.of_scenario(of):
        for select in one.selects:
            assert set(select.config) <= names and set(select.groups) <= groups, one.text
            assert select.metric in get_args(Metric) and select.reduce in get_args(Reduce), one.text
            for key, labels in select.vary.items():
                assert set(labels) <= set(of.vary.get(key, {})), one.text


@pytest.mark.parametrize("of", [of for of in all_scenarios() if (RECORDS / f"{of.name}.json").is_file()],
                         ids=lambda of: of.name)
def test_committed_record_has_what_its_page_needs(of: Scenario) -> None:
    found = figures.load(RECORDS / f"{of.name}.json", of)
    expect.evaluate(found, of)
    for view in of.views:
        result_tables.view_rows(found, view, of)
    for text in (of.about, of.must_show, of.differences):
        documents.filled(text, found)


def test_documents_have_the_numbers_of_the_committed_records() -> None:
    there = {of.name: RECORDS / f"{of.name}.json" for of in all_scenarios()}
    by_name = {of.name: (figures.load(there[of.name], of), of) if there[of.name].is_file() else None
               for of in all_scenarios()}
    for path in documents.DOCUMENTS_WITH_RESULTS:
        if path.is_file():
            text = path.read_text()
            assert documents.with_values(text, by_name, path.name) == text, f"{path.relative_to(ROOT)}: `make pages`"
    assert documents.COSTS.read_text() == documents.costs(by_name), f"{documents.COSTS.relative_to(ROOT)}: `make pages`"


def test_pages_that_are_committed_are_of_scenarios() -> None:
    assert set(evaluation.SHOWN) <= set(evaluation.COMMITTED) <= {of.name for of in all_scenarios()}
