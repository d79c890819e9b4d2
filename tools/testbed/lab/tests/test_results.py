# SPDX-License-Identifier: GPL-2.0
"""Expectations, comparison, tables, plots and the page, from made-up results."""

import copy
import json
import re
from pathlib import Path

import pytest

from tools.testbed.lab import cli
from tools.testbed.lab.model import catalog, schema
from tools.testbed.lab.model import disks as disk_module
from tools.testbed.lab.model.results import Result
from tools.testbed.lab.model.units import MIB
from tools.testbed.lab.report import compare, evaluation, plots, result_tables
from tools.testbed.lab.run import crosscheck, expect, figures, job, metrics, stats
from tools.testbed.lab.tests.conftest import SCENARIO, cell_result, process_result, result_of


def made_up(rates: dict[tuple[str, int], int], misses: int = 0) -> Result:
    """A run for each configuration and number, with the rate of its stream."""
    return result_of([
        cell_result(config, n, [process_result("stream", rate, misses), process_result("random", 1)])
        for (config, n), rate in rates.items()
    ])


def judge(condition: str, result: Result) -> tuple[str, str]:
    source = SCENARIO[: SCENARIO.index("[[expect]]")] + '[[expect]]\nsays = "x"\n' + condition
    verdict = expect.evaluate(result, schema.parse(Path("test.toml"), source))[0]
    return verdict["status"], verdict["detail"]


RATES = {("none", 1): 10, ("none", 2): 20, ("mq-deadline", 1): 30, ("mq-deadline", 2): 40}


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ('left = { metric = "misses" }\nop = "=="\nright = 0', "pass"),
        ('left = { metric = "bytes_per_s", groups = "stream" }\nop = ">"\nright = 10', "fail"),
        ('left = { metric = "bytes_per_s", groups = "stream" }\nop = ">="\nright = 10', "pass"),
        (
            (
                'left = { metric = "bytes_per_s", config = "mq-deadline", groups = "stream" }\nop = ">"\n'
                'right = { metric = "bytes_per_s", config = "none", groups = "stream", over = "max" }'
            ),
            "pass",
        ),
        (
            (
                'left = { metric = "bytes_per_s", config = "mq-deadline", groups = "stream", over = "min" }\n'
                'op = ">="\n'
                'right = { metric = "bytes_per_s", config = "none", groups = "stream", over = "max", factor = 2 }'
            ),
            "fail",
        ),
        ('left = { metric = "bytes_per_s", config = "none" }\nincreases = "N"', "pass"),
        (
            'left = { metric = "bytes_per_s", vary = { N = 1 } }\nfalls_along = ["mq-deadline", "none"]',
            "pass",
        ),
        (
            'left = { metric = "bytes_per_s", vary = { N = 1 } }\nfalls_along = ["none", "mq-deadline"]',
            "fail",
        ),
        ('left = { metric = "misses" }\nop = "=="\nright = 0\nneeds = ["bw"]', "needs-bw"),
        ('left = { metric = "misses", depth = 7 }\nop = "=="\nright = 0', "not-run"),
    ],
)
def test_expectation(condition: str, status: str) -> None:
    assert judge(condition, made_up(RATES))[0] == status


@pytest.mark.parametrize(("ours", "status"), [((30, 40), "pass"), ((29, 40), "fail"), ((30, 39), "fail"),
                                              ((40, 30), "fail")])
def test_runs_are_compared_with_each_run_of_the_same_variant(ours: tuple[int, int], status: str) -> None:
    rates = {("none", 1): 30, ("none", 2): 20, ("bfq", 1): 10, ("bfq", 2): 40,
             ("mq-deadline", 1): ours[0], ("mq-deadline", 2): ours[1]}
    source = SCENARIO[: SCENARIO.index("[[expect]]")].replace('"none", "mq-deadline"', '"none", "bfq", "mq-deadline"')
    source += """
[[expect]]
says = "x"
left = { metric = "bytes_per_s", config = "mq-deadline", groups = "stream" }
op = ">="
right = { metric = "bytes_per_s", config = ["none", "bfq"], groups = "stream" }
"""
    verdict = expect.evaluate(made_up(rates), schema.parse(Path("test.toml"), source))[0]
    assert verdict["status"] == status


@pytest.mark.parametrize(("missed", "status"), [((0, 3), "pass"), ((3, 3), "fail"), ((3, 0), "fail")])
def test_only_the_runs_with_fewest_misses_are_compared(missed: tuple[int, int], status: str) -> None:
    condition = """
left = { metric = "bytes_per_s", config = "mq-deadline", groups = "stream" }
op = ">="
right = { metric = "bytes_per_s", config = ["none", "bfq"], groups = "stream", fewest = "misses" }
"""
    slow, fast = (cell_result(config, 1, [process_result("stream", rate, misses)])
                  for config, rate, misses in zip(("none", "bfq"), (10, 40), missed, strict=True))
    result = result_of([slow, fast, cell_result("mq-deadline", 1, [process_result("stream", 30)])])
    source = SCENARIO[: SCENARIO.index("[[expect]]")].replace('"none", "mq-deadline"', '"none", "bfq", "mq-deadline"')
    scenario = schema.parse(Path("test.toml"), source + '[[expect]]\nsays = "x"' + condition)
    assert expect.evaluate(result, scenario)[0]["status"] == status
    assert figures.Figure("misses", (), "sum") in figures.asked(scenario, result["cells"])


def test_equal_values_do_not_rise() -> None:
    result = made_up({**RATES, ("none", 2): RATES["none", 1]})
    assert judge('left = { metric = "bytes_per_s", config = "none" }\nincreases = "N"', result)[0] == "fail"


def test_failed_expectation_says_which_run() -> None:
    status, detail = judge(
        'left = { metric = "bytes_per_s", groups = "stream" }\nop = ">"\nright = 15', made_up(RATES)
    )
    assert status == "fail"
    assert "none depth1 N=1" in detail


def test_run_that_failed_is_no_pass() -> None:
    result = made_up(RATES)
    result["cells"][0] |= {"status": "failed", "processes": []}
    assert judge('left = { metric = "misses" }\nop = "=="\nright = 0', result)[0] == "not-run"


def test_compare_finds_nothing_in_itself() -> None:
    assert compare.changes(made_up(RATES), made_up(RATES), 0) == []


def test_compare_finds_what_changed() -> None:
    changed = copy.deepcopy(made_up(RATES))
    changed["cells"][1]["processes"][0]["bytes_per_s"] = 19.0
    found = compare.changes(made_up(RATES), changed, 0)
    assert [(c["cell"], c["group"], c["metric"], c["percent"]) for c in found] == [
        ("none depth1 N=2", "stream", "bytes_per_s", -5.0)
    ]
    assert compare.changes(made_up(RATES), changed, 6) == []


def test_compare_finds_runs_that_are_gone_and_verdicts_that_changed() -> None:
    old, new = made_up(RATES), made_up({("none", 1): 10})
    old["expect"] = [{"says": "x", "status": "pass", "detail": ""}]
    new["expect"] = [{"says": "x", "status": "fail", "detail": ""}]
    found = compare.changes(old, new, 50)
    assert any(c["cell"] == "mq-deadline depth1 N=1" and c["new"] is None for c in found)
    assert found[-1]["old"] == "pass"
    assert found[-1]["new"] == "fail"


def test_compare_command_exits_with_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps(made_up(RATES)))
    b.write_text(json.dumps(made_up(RATES, misses=3)))
    assert cli.main(["compare", str(a), str(a)]) == 0
    assert cli.main(["compare", str(a), str(b)]) == 1
    assert "misses" in capsys.readouterr().out
    (tmp_path / "c.json").write_text("not json")
    assert cli.main(["compare", str(a), str(tmp_path / "c.json")]) == 2
    assert cli.main(["compare", str(a), str(tmp_path / "none.json")]) == 2


def test_view_has_a_row_a_variant_and_a_column_a_configuration() -> None:
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    header, rows = result_tables.view_rows(made_up(RATES), loaded.views[0], loaded)
    assert header == ["N", "none", "mq-deadline"]
    assert rows == [["1", "8", "8"], ["2", "8", "8"]]


def test_view_tells_settings_of_the_queue_apart() -> None:
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    result = made_up(RATES)
    result["cells"] += [{**cell, "vary": {**cell["vary"], "settings": "linux"}} for cell in made_up(RATES)["cells"]]
    for cell in result["cells"]:
        cell["vary"].setdefault("settings", "recommended")
    header, rows = result_tables.view_rows(result, loaded.views[0], loaded)
    assert header == ["N", "none", "mq-deadline"]
    assert [row[0] for row in rows] == ["1, recommended", "1, linux", "2, recommended", "2, linux"]


def test_views_are_drawn_of_one_kind_of_settings() -> None:
    players = catalog.find_scenario("players")
    result = made_up(RATES)
    assert plots.with_one_kind(result, players)[0]["cells"] == result["cells"]
    for cell, kind in zip(result["cells"], ("linux", "recommended", "linux", "recommended"), strict=True):
        cell["vary"]["settings"] = kind
    shown, scenario = plots.with_one_kind(result, players)
    assert shown["cells"] == result["cells"][1::2] and "settings" not in scenario.vary
    assert len(scenario.views) == len(players.views)


def test_runs_on_kernels_that_do_not_count_commands_have_no_row() -> None:
    result = made_up(RATES)
    result["cells"][0]["commands"] = dict.fromkeys(figures.OF_RUNS, 4.0)
    result["cells"][1]["commands"] = stats.of_commands("reads 4\nwrites 0\n")
    assert [row[0] for row in result_tables.command_rows(result)[1]] == [result["cells"][0]["name"]]


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (1234.5, "1234"), (0.0312, "0.031"), (94.87, "94.87")])
def test_figures_have_four_digits(value: float, text: str) -> None:
    assert metrics.figure(value) == text


@pytest.mark.parametrize("form", plots.FORMATS)
def test_plots_are_drawn_and_repeat(tmp_path: Path, form: str) -> None:
    pytest.importorskip("matplotlib")
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    first = plots.plot_result(made_up(RATES), loaded, tmp_path / "1", form)
    second = plots.plot_result(made_up(RATES), loaded, tmp_path / "2", form)
    assert [path.name for path in first] == [f"test-1.{form}", f"test-latency.{form}"]
    for a, b in zip(first, second, strict=True):
        assert a.stat().st_size > 1000
        assert a.read_bytes() == b.read_bytes()


def test_page_holds_published_figures_beside_ours(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    source = SCENARIO + '[[published]]\ncaption = "old"\ncolumns = ["a", "b"]\nrows = [["1", "4711"]]\n'
    loaded = schema.parse(Path("test.toml"), source)
    result = made_up(RATES)
    result["expect"] = expect.evaluate(result, loaded)
    page = tmp_path / "page.md"
    evaluation.write([(result, loaded)], [], page, tmp_path / "page")
    text = (tmp_path / "page/test.md").read_text()
    assert "| 1 | 4711 |" in text
    assert "| nothing is missed | pass | 0 == 0 |" in text
    assert "(test-1.svg)" in text and (tmp_path / "page/test-1.svg").exists()
    assert "\nOf block, drivers/block/null_blk, include of the patches unknown.\n" in page.read_text()
    assert str(tmp_path) not in text + page.read_text()


def test_page_says_what_holds_and_what_does_not(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    evaluation.write([(made_up(RATES), loaded)], [], page, tmp_path / "page")
    assert f"| test | {loaded.title} | {loaded.source} | all |" in page.read_text()
    assert "does not hold" not in page.read_text()
    evaluation.write([(made_up(RATES, misses=3), loaded)], [], page, tmp_path / "page")
    assert re.search(r"\| test \| [^|]* \| [^|]* \| \*\*\d of \d\*\* \|", page.read_text())
    assert "## What does not hold" in page.read_text()
    assert re.search(r"\| test \| nothing is missed: [^|]*does not hold", page.read_text())


def test_page_finds_a_scenario_by_the_number_of_the_thesis(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    source = SCENARIO.replace('title = "test"', 'title = "test"\nsource = "Lunde 2009, table 3.99"')
    loaded = schema.parse(Path("test.toml"), source)
    evaluation.write([(made_up(RATES), loaded)], [], page, tmp_path / "page")
    numbers = re.findall(r"^\| ((?:table|figure|section) \S+) \|", page.read_text(), re.M)
    assert numbers.index("table 3.99") == numbers.index("figure 4.1") - 1
    assert len(numbers) == len(set(numbers))
    asked = {f"figure {number}" for number in ("2.2", "2.29", "2.30", "4.2", "4.6", "A.2")}
    asked |= {f"table {number}" for number in ("2.2", "4.1", "4.2", "4.3")}
    assert asked < set(numbers), "with a link, or with why there is none"


def test_verdicts_have_units() -> None:
    mib = made_up(dict.fromkeys(RATES, 3 << 20))
    rate = 'left = { metric = "bytes_per_s", groups = "stream" }\nop = ">="\nright = 1048576'
    assert judge(rate, mib) == ("pass", "3 MiB/s >= 1 MiB/s")
    assert judge(rate.replace(">=", "<"), mib)[1].startswith("none depth1 N=1: 3 MiB/s < 1 MiB/s does not hold")
    assert judge('left = { metric = "latency_max_ms" }\nop = ">="\nright = 0', mib)[1].endswith(" ms >= 0 ms")


def test_page_says_of_which_patches_the_results_are(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    one, two = made_up(RATES), made_up(RATES)
    one["kernel"]["patches"], two["kernel"]["patches"] = "aaaa", "bbbb"
    page = tmp_path / "page.md"
    evaluation.write([(one, loaded)], [], page, tmp_path / "page")
    of = "Of block, drivers/block/null_blk, include of the patches"
    assert f"Kernel 7.3, without the BW class.\n{of} aaaa.\n" in page.read_text()
    evaluation.write([(one, loaded), (two, loaded)], [], page, tmp_path / "page")
    assert f"{of} aaaa, bbbb." in page.read_text()


def test_page_of_a_scenario_has_the_old_schedulers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    gone = result_of([cell_result("noop", n, [process_result("stream", 10 * MIB), process_result("random", 1)])
                      for n in (1, 2)])
    gone["kernel"]["oldsched"] = "cccc"
    page = tmp_path / "page.md"
    evaluation.write([(made_up(RATES), loaded)], [], page, tmp_path / "page", {"test": gone})
    text = (tmp_path / "page/test.md").read_text()
    assert "With the old schedulers of patches/oldsched" in text and "| N | noop |" in text
    assert "\nOf patches/oldsched of the patches cccc.\n" in page.read_text()


def test_page_of_old_schedulers_has_its_own_head_and_patches(tmp_path: Path) -> None:
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    result = made_up(RATES)
    result["kernel"]["oldsched"] = "cccc"
    page = tmp_path / "page.md"
    evaluation.write_oldsched([(result, loaded)], "# Head\n", page)
    text = page.read_text()
    assert text.startswith("# Head\n")
    of = "Of block, drivers/block/null_blk, include of the patches"
    assert f"\n{of} unknown.\nOf patches/oldsched of the patches cccc.\n" in text
    assert "## test\n" in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_page_holds_the_cross_check(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    cell = made_up(RATES)["cells"][0]
    real = {"stream": {"bytes_per_s": 10.5, "latency_mean_ms": 1.5}}
    found = crosscheck.compare(loaded, [(cell, real)], 4_000_000_000, False)
    assert found["status"] == "fail"
    assert [round(row["percent"], 6) for row in found["rows"]] == [5, 50]
    real["stream"]["latency_mean_ms"] = 1.05
    assert crosscheck.compare(loaded, [(cell, real)], 4_000_000_000, False)["status"] == "pass"
    page = tmp_path / "page.md"
    evaluation.write([(made_up(RATES), loaded)], [found], page, tmp_path / "page")
    assert "+50.0%" in (tmp_path / "page/test.md").read_text()
    assert "Within 10%: **fail**" in (tmp_path / "page/test.md").read_text()
    assert "same modelled disk agrees within 10%: **fail**" in page.read_text()


def test_fio_gets_the_same_streams(disks: Path) -> None:
    source = SCENARIO.replace('kind = "paced"', 'kind = "greedy"').replace('rate = "1MiB/s"\n', "")
    source = source.replace("deadline_ms = 1000\n", "").replace("per_s = 50\n", "")
    loaded = schema.parse(Path("test.toml"), source)
    cell = loaded.cells()[0]
    streams = job.processes(loaded, cell, disk_module.load_disk(disks, "plain"), 1, "rt")
    text = crosscheck.fio_job(loaded, streams)
    assert f"offset={streams[0].regions[0][0]}\n" in text
    assert "[random]\nrw=randread\nbs=4096\n" in text
    assert "prioclass=1\nprio=4\n" in text


def test_fio_does_not_get_streams_that_it_would_run_otherwise(disks: Path) -> None:
    loaded = schema.parse(Path("test.toml"), SCENARIO)
    streams = job.processes(loaded, loaded.cells()[0], disk_module.load_disk(disks, "plain"), 1, "rt")
    with pytest.raises(ValueError, match="greedy and random"):
        crosscheck.fio_job(loaded, streams)
