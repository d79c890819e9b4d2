# SPDX-License-Identifier: GPL-2.0
"""The tables show fio's results; output without a result is refused."""

from __future__ import annotations

import configparser
import itertools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools.base.paths import TOOLS
from tools.testbed.demo import results
from tools.testbed.disk import presets


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


def reader(name: str, longest_ms: float, bins: dict[str, int] | None = None) -> dict[str, Any]:
    found = job(name)
    found["read"]["clat_ns"] = {"max": longest_ms * 1e6}
    if bins is not None:
        found["read"]["clat_ns"]["bins"] = bins
    return found


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


def test_late_reads_are_those_above_the_limit() -> None:
    bins = {"1000000": 5, "250000000": 3, "250000001": 2, "900000000": 1}
    assert results.late_reads(bins, 250) == 3


READERS = {"jobs": [reader("reader A", 90), reader("reader B", 80)]}


def test_players_are_one_row_with_the_rate_of_best_effort() -> None:
    players = {"jobs": [reader("player", 300, {"260000000": 100}),
                        reader("player", 1100.2, {"1000000000": 97, "1000000001": 1, "1100000000": 2})]}
    assert results.player_row(players, READERS) == {
        "missed": None, "longest_ms": 1100.2, "late": 3, "reads": 200, "best_effort_mib_s": 6.0}


def test_player_table_names_the_class_that_the_players_are_in(tmp_path: Path) -> None:
    for name in ("cfq", "mq-deadline", "none"):
        (tmp_path / f"players-{name}.json").write_text(
            "fio: some note\n" + json.dumps({"jobs": [reader("player", 1300.4, {"1300000000": 4})]}))
        (tmp_path / f"readers-{name}.json").write_text(json.dumps(READERS))
    (tmp_path / "counters").write_text("dispatched 12\nbw_deadlines_missed 2\n")
    lines = results.player_table(results.load_players(tmp_path, ["cfq", "mq-deadline", "none"])).splitlines()
    assert lines[0] == ""
    assert lines[1].startswith("6 players that read 3 MiB once a second, and 2 sequential readers")
    assert [line.split("  ")[0] for line in lines[3:]] == ["cfq, players in BW", "mq-deadline, players in RT", "none"]
    assert lines[3].split()[-5:] == ["1300", "4", "100", "2", "6.0"]
    assert lines[-1].split() == ["none", "1300", "4", "100", "-", "6.0"]


def test_counters_without_missed_deadlines_are_refused() -> None:
    with pytest.raises(ValueError, match="lack bw_deadlines_missed"):
        results.missed("dispatched 12\n")


@pytest.mark.parametrize("jobs", [("players", [job("r", ios=0)]), ("players", [job("r", error=5)]),
                                  ("readers", [job("r", ios=0)])])
def test_a_reader_that_read_nothing_is_refused(jobs: tuple[str, list[dict[str, Any]]]) -> None:
    found = {"players": {"jobs": [reader("player", 1, {})]}, "readers": READERS, jobs[0]: {"jobs": jobs[1]}}
    with pytest.raises(ValueError, match="'r' did not read"):
        results.player_row(found["players"], found["readers"])


def job_file(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    found.read(TOOLS / "testbed/demo" / name)
    return found


def test_players_and_readers_are_what_the_table_says() -> None:
    players, readers = job_file("players.fio"), job_file("sequential.fio")
    assert players.sections() == ["global", "player"]
    assert players["player"]["numjobs"] == str(results.PLAYERS)
    # a second's worth, so once a second
    assert (players["global"]["bs"], players["global"]["rate"]) == (f"{results.PLAYER_MIB}M", f"{results.PLAYER_MIB}M,")
    assert len(readers.sections()) - 1 == results.READERS
    assert "rate" not in readers["global"]
    for jobs in (players, readers):
        # through the page cache, with the read-ahead that the disk has
        has = jobs["global"]
        assert (has["direct"], has["fadvise_hint"], has["rw"], has["ioengine"]) == ("0", "0", "read", "psync")


def test_readers_have_a_part_of_the_disk_each() -> None:
    disk_gib = int(presets.load("barracuda-7200.11").attributes["size"]) / 1024
    players, readers = job_file("players.fio"), job_file("sequential.fio")
    first, step = (int(players["player"][key].rstrip("%")) for key in ("offset", "offset_increment"))
    percents = [first + step * number for number in range(results.PLAYERS)]
    percents += [int(readers[name]["offset"].rstrip("%")) for name in readers.sections() if name != "global"]
    starts = sorted(percent * disk_gib / 100 for percent in percents)
    gib = int(players["global"]["size"].rstrip("G"))
    assert gib == int(readers["global"]["size"].rstrip("G"))
    assert all(start + gib <= after for start, after in itertools.pairwise([*starts, disk_gib]))


def test_the_guest_reserves_what_a_player_reads() -> None:
    guest = (TOOLS / "testbed/demo/guest.sh").read_text()
    assert f"--rate {results.PLAYER_MIB}M --delay {results.LATE_MS}ms" in guest
    tried = re.search(r"^for scheduler in (.*); do$", guest.split("# The players")[1], re.MULTILINE)
    assert tried and tried[1].split() == list(results.PLAYERS_IN)


def camera(longest_ms: float, sync_bins: dict[str, int], error: int = 0) -> dict[str, Any]:
    pause = {"max": 1e6, "bins": {"1000000": 500}}
    return {"jobname": "camera", "error": error, "write": {"total_ios": 500, "clat_ns": pause},
            "sync": {"total_ios": 10, "lat_ns": {"max": longest_ms * 1e6, "bins": sync_bins}}}


DD = "1+0 records in\n10485760 bytes (10 MB, 10 MiB) copied, 10.2 s, 1.0 MB/s\n"


def test_frames_are_lost_when_a_pause_is_longer_than_the_buffer() -> None:
    second = 10**9
    assert results.lost_frames({str(4 * second): 7, str(second): 100}) == 0
    assert results.lost_frames({str(5 * second): 2, str(8 * second): 1}) == 2 * 25 + 100


def test_cameras_are_one_row_with_the_rate_of_the_others() -> None:
    cameras = {"jobs": [camera(700, {"700000000": 10}), camera(6000, {"6000000000": 1})]}
    assert results.camera_row(cameras, [DD, DD], 10) == {
        "longest_ms": 6000, "lost": 50, "frames": 1000, "others_mib_s": 2}
    table = results.camera_table({"cfq": results.camera_row(cameras, [DD], 10)}).splitlines()
    assert table[-1].split("  ")[0] == "cfq, 16 MB/s reserved"
    assert table[-1].split()[-4:] == ["6000", "50", "1000", "1.0"]


def test_a_camera_without_frames_and_a_copy_without_output_are_refused() -> None:
    silent = camera(1, {})
    silent["sync"]["total_ios"] = 0
    for job_ in (silent, camera(1, {}, error=5)):
        with pytest.raises(ValueError, match="did not record"):
            results.camera_row({"jobs": [job_]}, [DD], 10)
    with pytest.raises(ValueError, match="no number of bytes: dd: no space"):
        results.camera_row({"jobs": [camera(1, {})]}, ["dd: no space\n"], 10)


def test_cameras_are_what_the_table_says() -> None:
    jobs = job_file("recorder.fio")
    assert jobs["camera"]["numjobs"] == str(results.CAMERAS)
    settings = jobs["global"]
    assert int(settings["bs"]) * results.FRAMES_S == 4_000_000 / 8 and settings["rate"] == ",500k"
    assert int(settings["fsync"]) == 2 * results.FRAMES_S
    guest = (TOOLS / "testbed/demo/guest.sh").read_text()
    tried = re.search(r"^for scheduler in (.*); do$", guest.split("# Cameras")[1], re.MULTILINE)
    assert tried and tried[1].split() == list(results.CAMERAS_WITH)
    assert "group --rate 16MB --delay 500ms" in guest and "echo 1000 > \"$groups/cameras/io.bfq.weight\"" in guest


def test_it_needs_no_package_of_python_but_msgspec(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = subprocess.run([TOOLS / "testbed/demo/demo", "--help"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
