# SPDX-License-Identifier: GPL-2.0
"""The tables show fio's results; output without a result is refused."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from tools.base.cli import ToolError
from tools.base.paths import TOOLS
from tools.testbed.demo import cli, results, virtual
from tools.testbed.disk import presets
from tools.testbed.lab.model.results import CellResult
from tools.testbed.lab.tests.conftest import cell_result, process_result
from tools.testbed.vm import uml


def job(name: str, side: str = "read", ios: int = 100, error: int = 0) -> dict[str, Any]:
    idle = {"total_ios": 0}
    busy = {"total_ios": ios, "iops": 50.4, "bw_bytes": 3 * 2**20,
            "clat_ns": {"mean": 2_500_000, "percentile": {"99.000000": 9_000_000}}}
    return {"jobname": name, "error": error, "read": idle, "write": idle, side: busy}


def test_figures_are_of_the_direction_that_did_io() -> None:
    rows = results.figures({"jobs": [job("r"), job("w", "write")]})
    assert [row["job"] for row in rows] == ["r", "w"]
    assert rows[1] == {"job": "w", "iops": 50.4, "mib_s": 3.0, "mean_ms": 2.5, "p99_ms": 9.0}


def test_a_job_with_an_error_is_refused() -> None:
    with pytest.raises(ValueError, match="'r' ended with error 5"):
        results.figures({"jobs": [job("r", error=5)]})


def test_a_job_without_io_is_refused() -> None:
    with pytest.raises(ValueError, match="did no I/O"):
        results.figures({"jobs": [job("r", ios=0)]})


def test_table_has_a_line_for_each_scheduler_in_the_order_of_the_runs(tmp_path: Path) -> None:
    for name in ("none", "bfq"):
        text = "fio: some note\n" + json.dumps({"jobs": [job("mixed")]})
        (tmp_path / f"{name}.json").write_text(text)
    lines = results.table(results.load(tmp_path, ["none", "bfq"])).splitlines()
    assert [line.split()[0] for line in lines if line.strip()] == [
        "mixed", "scheduler", "none", "bfq"]
    assert lines[-1].split() == ["bfq", "50", "3.0", "2.50", "9.00"]


def test_settings_of_the_disk_are_shown() -> None:
    preset = presets.load("barracuda-7200.11")
    shown = results.about_disk(preset, {"max_sectors_kb": "512", "nr_requests": "64"})
    for word in ("barracuda-7200.11", "7200 rpm", "465 GiB", "24 MiB of read cache (cache_kb) and 8 MiB of "
                 "write cache (write_kb)", "32 commands in the drive", "max_sectors_kb 512, nr_requests 64",
                 "by position, but after 500 ms by age (reorder_ms)"):
        assert word in shown
    presets.change(preset, ["rot/write_back=0", "rot/sched=fcfs"])
    shown = results.about_disk(preset, {})
    for word in ("of read cache (cache_kb), no write cache", "by arrival"):
        assert word in shown
    assert "reorder_ms" not in shown


@pytest.mark.parametrize("name", presets.names())
def test_every_disk_can_be_described(name: str) -> None:
    assert name in results.about_disk(presets.load(name), {})


@pytest.mark.parametrize(("name", "settings", "expected"), [
    ("barracuda-7200.11", [], 10.8),  # 5 reads of 12.92 ms / 1.4, and half of the time for the writer
    ("barracuda-7200.11", ["rot/sched=fcfs"], 7.7),
    ("barracuda-7200.11", ["rot/write_back=0"], None),
    ("laptop-5400", [], 7.1),
    ("dual-actuator-18tb", [], None),
    ("host-managed-15tb", [], None),
])
def test_expected_reads_follow_from_the_disk(name: str, settings: list[str], expected: float | None) -> None:
    preset = presets.load(name)
    presets.change(preset, settings)
    found = results.expected_reads_per_s(preset)
    assert found == (expected and pytest.approx(expected, abs=0.05))


def test_expected_reads_are_shown_for_schedulers_that_do_not_idle() -> None:
    found = {name: results.figures({"jobs": [job("w", "write"), job(results.SEQUENTIAL)]}) for name in ("none", "cfq")}
    results.add_expected(found, presets.load("barracuda-7200.11"))
    assert [rows[1]["expected_iops"] for rows in found.values()] == [pytest.approx(10.8, abs=0.05), None]
    assert not any("expected_iops" in rows[0] for rows in found.values())
    written, read = results.table(found).split(results.SEQUENTIAL)
    assert "expected" not in written
    assert [line.split()[:3] for line in read.splitlines()[1:]] == [
        ["scheduler", "IOPS", "expected"], ["none", "50", "11"], ["cfq", "50", "-"]]


def test_expected_reads_are_of_the_jobs_that_run() -> None:
    jobs = job_file("mixed.fio")
    assert "iodepth" not in jobs[results.SEQUENTIAL] and jobs[results.SEQUENTIAL]["rw"] == "read"
    depths = [int(jobs[name].get("iodepth", "1")) for name in jobs.sections() if "read" in jobs[name].get("rw", "")]
    assert sum(depths) == results.READS
    assert f'echo "{results.ROTATING}$preset"' in (TOOLS / "testbed/demo/guest.sh").read_text()


def cell(**groups: list[dict[str, Any]]) -> CellResult:
    processes = [{**process_result(f"{group}.{number}"), "group": group, **one}
                 for group, members in groups.items() for number, one in enumerate(members)]
    return cell_result("cfq", 1, cast(Any, processes))


def took(longest_ms: float) -> dict[str, Any]:
    return {"latency_ns": {"max": longest_ms * 1e6}}


def test_players_are_one_row_with_the_rate_of_best_effort() -> None:
    found = cell(player=[{"misses": 1, "expected": 20, **took(900)}, {"misses": 2, "expected": 20, **took(1100.2)}],
                 reader=[{"bytes_per_s": 1.5 * 2**20}, {"bytes_per_s": 0.5 * 2**20}])
    row = results.player_row(found, 5 * 10**9)
    assert row == {"longest_ms": 1100.2, "late": 3, "reads": 40, "missed": None, "best_effort_mib_s": 2}
    found["deadlines"] = {"bw_missed": 7}
    assert results.player_row(found, 5 * 10**9)["missed"] == 7


def test_player_table_names_the_class_that_the_players_are_in() -> None:
    row = {"longest_ms": 1300.4, "late": 4, "reads": 100, "missed": None, "best_effort_mib_s": 6.0}
    lines = results.player_table({"cfq": row | {"missed": 2}, "mq-deadline": row, "none": row}).splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == ["cfq, players in BW", "mq-deadline, players in RT", "none"]
    assert lines[1].split()[-5:] == ["1300", "4", "100", "2", "6.0"]
    assert lines[-1].split() == ["none", "1300", "4", "100", "-", "6.0"]


def test_cameras_are_one_row_with_the_rate_of_the_others() -> None:
    found = cell(camera=[{"reads": 500, "lost": 0, **took(700)}, {"reads": 450, "lost": 50, **took(6000)}],
                 copy=[{"bytes_per_s": 2**20}], backup=[{"bytes_per_s": 2**20}])
    row = results.camera_row(found, 10 * 10**9)
    assert row == {"longest_ms": 6000, "lost": 50, "frames": 1000, "others_mib_s": 2}
    table = results.camera_table({"cfq": row}).splitlines()
    assert table[-1].split("  ")[0] == "cfq, 16 MB/s reserved"
    assert table[-1].split()[-4:] == ["6000", "50", "1000", "2.0"]


@pytest.mark.parametrize(("counters", "says"), [
    ("dispatched 12\n", "lack bw_deadlines_met"),
    ("bw_deadlines_met 0\nbw_deadlines_missed 0\n", "no read with the reservation")])
def test_counters_without_a_request_with_a_reservation_are_refused(counters: str, says: str) -> None:
    with pytest.raises(ToolError, match=says):
        results.served(counters)


def job_file(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    found.read(TOOLS / "testbed/demo" / name)
    return found


@pytest.mark.parametrize("name", virtual.TABLES)
def test_each_table_has_a_name_for_each_scheduler(name: str) -> None:
    found = virtual.scenario(name, "laptop-5400")
    assert {config.scheduler for config in found.configs} == virtual.TABLES[name][1].keys()
    assert found.disk == "laptop-5400" and found.settings == "recommended"


def test_players_and_cameras_run() -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no User-Mode Linux: `make uml` builds it")
    found = virtual.run(*virtual.guests_of(uml.IMAGE), "laptop-5400", 2, True, 2)
    assert {name: list(rows) for name, rows in found.items()} == {
        "players": list(results.PLAYERS_IN), "cameras": list(results.CAMERAS_WITH)}
    players = found["players"]
    assert all(row["reads"] > 0 and row["best_effort_mib_s"] > 1 for row in players.values())
    assert players["cfq"]["missed"] is not None and players["bfq"]["missed"] is None
    assert all(row["frames"] > 100 for row in found["cameras"].values())


def test_without_its_kernel_it_says_so_before_it_boots_anything(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not exist: `make uml` builds it, --uml names another"):
        virtual.guests_of(tmp_path / "vmlinux")


def test_players_and_cameras_are_what_the_titles_say() -> None:
    by_name = {group.name: group for name in virtual.TABLES for group in virtual.scenario(name, "laptop-5400").groups}
    player, camera = by_name["player"].numbers({}), by_name["camera"].numbers({})
    assert player.count == 6 and player.size == 3 * 2**20 and player.period_ns == player.deadline_ms * 10**6 == 10**9
    assert by_name["reader"].numbers({}).count == 2 and not by_name["player"].direct and not by_name["reader"].direct
    assert camera.count == 16 and camera.size * 10**9 / camera.period_ns == 4_000_000 / 8
    assert camera.fsync_every * camera.period_ns == 2 * 10**9


def test_it_needs_no_package_of_python_but_msgspec(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = subprocess.run([TOOLS / "testbed/demo/demo", "--help"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_a_modelled_disk_there_is_nothing_to_run_but_fio(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--disk", "none"]) == 2
    assert "name one, or add --fio" in capsys.readouterr().err
