# SPDX-License-Identifier: GPL-2.0
"""The matrix: its points, what a scenario becomes there, and how cells are compared."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import cast

import pytest

from tools.testbed.disk import capacity, characteristics, presets
from tools.testbed.lab import cli
from tools.testbed.lab.cli import claims
from tools.testbed.lab.model.catalog import DISKS, find_scenario
from tools.testbed.lab.model.reading import Names
from tools.testbed.lab.model.results import CellResult
from tools.testbed.lab.run import matrix, scores
from tools.testbed.lab.tests.conftest import cell_result, process_result, result_of

CLAIMS = matrix.load()
# Of the baselines: under each load, and where somebody writes.
ALWAYS = {"none", "mq-deadline", "kyber", "bfq", "bfq, low_latency 0"}
WITH_WRITES = {"none, no wbt", "mq-deadline, no wbt", "kyber, no wbt", "mq-deadline, async_depth 16"}
POINT = matrix.Point("linux", 64, "barracuda-7200.11", 2)


def test_points_are_all_combinations() -> None:
    assert len(set(matrix.points())) == 3 * 3 * 4 * 3


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_names_what_its_scenario_has(name: str) -> None:
    claim = CLAIMS[name]
    scenario = find_scenario(claim.scenario)
    assert claim.ours in [config.name for config in scenario.configs]
    assert set(claim.groups) <= {group.name for group in scenario.groups}
    assert set(claim.vary) <= set(scenario.vary)
    assert (claim.most is None) != (claim.bound is None)
    there = matrix.at(claim, scenario, POINT, DISKS)
    ours, *others = [config.name for config in there.configs]
    assert ours == claim.ours and set(others) >= ALWAYS | (WITH_WRITES if scenario.filesystem else set())
    assert {config.depth for config in there.configs} == {(1, 32)}
    two = matrix.at(claim, scenario, dataclasses.replace(POINT, tags=2), DISKS)
    assert {config.depth for config in two.configs} == {(1,)}


@pytest.mark.parametrize("disk", matrix.DISKS)
def test_number_of_streams_is_what_the_rule_admits(disk: str) -> None:
    attributes = presets.load(disk).attributes
    large, small = matrix.streams(attributes)
    known = characteristics.compute(attributes)
    inner, each_ms = capacity.inner_mib(known), capacity.positioning_ms(known)
    assert large >= 1 and small >= 1
    assert capacity.admits([3.0] * large + [1.0] * small, inner, each_ms)
    assert not capacity.admits([3.0] * large + [1.0] * (small + 2), inner, each_ms)


def test_published_numbers_stay_on_their_disk_and_others_have_their_own() -> None:
    players = find_scenario("players")
    assert list(matrix.at(CLAIMS["players"], players, POINT, DISKS).vary["N"]) == ["8", "16", "20", "24"]
    laptop = matrix.at(CLAIMS["players"], players, matrix.Point("linux", 64, "laptop-5400", 1), DISKS)
    large, small = matrix.streams(presets.load("laptop-5400").attributes)
    assert laptop.vary["N"] == {str(small): small}
    counts = {group.name: group.raw["count"] for group in laptop.groups}
    assert counts["hd-spread"] == large and counts["dvd-spread"] == small and counts["random"] == 3


def test_on_a_file_system_others_begin_at_eight_times_instead_of_seeds() -> None:
    recorder = find_scenario("recorder")
    points = matrix.of_claim(matrix.points(), recorder)
    assert len(points) == 3 * 3 * 4 and len(matrix.of_claim(matrix.points(), find_scenario("players"))) == 3 * 3 * 4 * 3
    assert len(matrix.of_claim(matrix.points(seeds=[2]), recorder)) == 3 * 3 * 4
    there = matrix.at(CLAIMS["recorder"], recorder, points[0], DISKS)
    assert len(there.vary["begin_ms"]) == 8
    starts = {group.name: group.raw.get("start_ms") for group in there.groups}
    assert starts["copy"] == "$begin_ms" and starts["camera"] is None


def test_cells_that_are_drawn_are_single_ones_and_those_of_a_smaller_number_remain() -> None:
    players, points = find_scenario("players"), list(matrix.points(disks=["barracuda-7200.11"], seeds=[1]))
    claim = CLAIMS["players"]

    def drawn(count: int) -> list[tuple[object, ...]]:
        there = matrix.scenarios(claim, players, points, DISKS, count)
        for _, one in there:
            assert all(len(values) == 1 for values in one.vary.values())
            assert {config.depth for config in one.configs} == {one.configs[0].depth} and len(one.configs) > 5
        return [(point.settings, point.tags, point.seed, *one.configs[0].depth,
                 tuple(label for values in one.vary.values() for label in values)) for point, one in there]

    every = (2 * (1 + 2 + 2) + 2) * 3 * 4  # queue depths of each number of tags, by settings; starts and N
    assert drawn(5) == drawn(9)[:5]
    assert len(set(drawn(10 * every))) == len(drawn(10 * every)) == every
    assert len(matrix.scenarios(claim, players, points, DISKS)) == 2 * 3 + 1


def test_settings_and_tags_are_of_each_scheduler_but_none() -> None:
    point = matrix.Point("1,280 KiB", 2, "laptop-5400", 3)
    there = matrix.at(CLAIMS["players"], find_scenario("players"), point, DISKS)
    assert there.settings == "linux" and there.disk_set["max_sectors"] == "2560" and there.seed == 3
    tags = {config.name: config.queue.get("nr_requests") for config in there.configs}
    assert tags["none"] is None and tags["cfq-bw"] == tags["bfq, low_latency 0"] == "2"
    there = matrix.at(CLAIMS["recorder"], find_scenario("recorder"), point, DISKS)
    queue = next(config.queue for config in there.configs if config.name == "mq-deadline, async_depth 16")
    assert list(queue) == ["nr_requests", "async_depth"]  # the kernel limits it to the tags


def test_recommended_settings_have_the_requests_of_the_rule_whatever_the_drive_has() -> None:
    point = matrix.Point("recommended", 2, "laptop-5400", 3)
    there = matrix.at(CLAIMS["players"], find_scenario("players"), point, DISKS)
    assert not [config.name for config in there.configs if "nr_requests" in config.queue]


@pytest.mark.parametrize(("ours", "theirs", "more", "wanted"), [
    (4, 2, False, 2), (2, 4, False, 0.5), (2, 4, True, 2), (0, 0, False, 1), (0, 0, True, 1), (7, 0, False, 7),
    (0, 3, True, 3), (0, 3, False, 0)])
def test_ratio_is_larger_where_it_is_worse(ours: float, theirs: float, more: bool, wanted: float) -> None:
    assert scores.ratio(ours, theirs, more) == wanted


def test_best_baseline_counts() -> None:
    values = [("a", 3.0), ("b", 2.0), ("c", 2.0)]
    assert scores.best(values, False) == ("b", 2.0) and scores.best(values, True) == ("a", 3.0)


def test_worst_cell_and_median() -> None:
    claim = matrix.Claim("c", "says", "players", "cfq", "rt", "bytes_per_s", Names(["g"]), bound=1.5,
                         more_is_better=True)
    rates = {("cfq", 1): 10, ("bfq", 1): 20, ("none", 1): 5, ("cfq", 32): 10, ("bfq", 32): 11, ("none", 32): 12}
    runs = [{**cell_result(config, 1, [{**process_result("g", rate), "group": "g"}]), "depth": depth, "vary": {}}
            for (config, depth), rate in rates.items()]
    found = matrix.cells(claim, POINT, result_of(cast(list[CellResult], runs)))
    assert [(cell.baseline, cell.ratio, cell.holds) for cell in found] == [("bfq", 2, False), ("none", 1.2, True)]
    told = matrix.summary(claim, found)
    assert (told["cells"], told["hold"], told["median"]["ratio"]) == (2, 1, 1.2)
    assert told["worst"]["where"] == "barracuda-7200.11, linux, 64 tags, @1, seed 2"


@pytest.mark.parametrize(("values", "counting"), [
    ({"bfq": 11.0, "none": 90.0}, {"bfq"}), ({"bfq": 11.0, "none": 3.0}, {"bfq", "none"}),
    ({"bfq": 30.0, "none": 90.0}, {"bfq"})])
def test_baseline_counts_that_is_as_good_in_another_claim_or_else_the_best_in_it(
    values: dict[str, float], counting: set[str]
) -> None:
    assert matrix.as_good(CLAIMS["idle-class-reads"], {"cfq": 10.0, **values}) == counting


def test_baseline_that_starves_the_reads_is_no_measure_of_the_backup() -> None:
    p99 = {"cfq": 10, "bfq": 11, "none": 90}
    rates = {"cfq": 10, "bfq": 11, "none": 20}
    of_server = process_result("server")
    runs = [cell_result(config, 1, [
        {**of_server, "latency_ns": {**of_server["latency_ns"], "p99": p99[config] * 1_000_000}},
        process_result("backup", rates[config])]) for config in rates]
    (cell,) = matrix.cells(CLAIMS["idle-class"], POINT, result_of(runs))
    assert cell.baseline == "bfq" and cell.holds


@pytest.mark.parametrize("name", [name for name, claim in CLAIMS.items() if claim.as_good_in])
def test_both_claims_are_of_the_same_runs(name: str) -> None:
    claim, other = CLAIMS[name], CLAIMS[CLAIMS[name].as_good_in or ""]
    for key in ("scenario", "ours", "policy", "vary"):
        assert getattr(other, key) == getattr(claim, key)


SMALL = ["--on", "barracuda-7200.11", "--settings", "recommended", "--tags", "64", "--seeds", "1", "--duration", "4",
         "--quiet", "--json"]
# 30 players, and 40 reads a second beside a backup, are too many for four seconds.
FEW = r"^(cfq|cfq-bw|mq-deadline|bfq) depth1( |$)(?!.*(start.*N=2|R=40))"


def test_claims_hold_in_each_cell_of_a_small_matrix(kernel: Path, tmp_path: Path,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    names = ["players", "streams-limit", "greedy-reserved", "random-reserved", "idle-class", "idle-class-reads"]
    arguments = ["matrix", *names, *SMALL, "--cell", FEW, "--strict", "-j", "2", "--out", str(tmp_path),
                 "--kernel", str(kernel), "--cache", str(tmp_path / "cache")]
    done = cli.main(arguments)
    said = capsys.readouterr()
    assert done == 0, said
    told = {one["claim"]: one for one in json.loads(said.out)}
    assert list(told) == names and sum(one["cells"] for one in told.values()) >= 15
    assert told["greedy-reserved"]["worst"]["ours"] > 10e6
    assert len(json.loads((tmp_path / "players.json").read_text())) == told["players"]["cells"]


def test_a_claim_that_does_not_hold_is_told(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of the disk's time is reserved, and more."""
    arguments = ["matrix", "players", *SMALL, "--cell", "^(cfq-bw|bfq) depth1 start=together N=24", "--strict",
                 "--out", str(tmp_path), "--kernel", str(kernel), "--cache", str(tmp_path / "cache")]
    assert cli.main(arguments) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert told["hold"] == 0 and told["worst"]["ours"] > 0


def test_page_has_each_claim_and_the_cells_that_fail(tmp_path: Path) -> None:
    cells = [matrix.Cell("here", 3.0, "bfq", 0.0, 3.0, False), matrix.Cell("there", 0.0, "none", 0.0, 1.0, True)]
    (tmp_path / "players.json").write_text(json.dumps([dataclasses.asdict(cell) for cell in cells]))
    told = claims.page(CLAIMS, tmp_path, "lab matrix --all")
    assert "| players | 1 of 2 | 0, 0 under none | 3, 0 under bfq | here |" in told
    assert "1 of 2 cells fail." in told and "| here | 3 | 0 | bfq |" in told and "| there |" not in told
