# SPDX-License-Identifier: GPL-2.0
"""The table shows fio's figures, and refuses results that are none."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools.base.paths import TOOLS
from tools.bench import fio
from tools.disk import presets


def job(name: str, side: str = "read", ios: int = 100, error: int = 0) -> dict[str, Any]:
    idle = {"total_ios": 0}
    busy = {"total_ios": ios, "iops": 50.4, "bw_bytes": 3 * 2**20,
            "clat_ns": {"mean": 2_500_000, "percentile": {"99.000000": 9_000_000}}}
    return {"jobname": name, "error": error, "read": idle, "write": idle, side: busy}


def test_figures_are_of_the_direction_that_did_io() -> None:
    rows = fio.figures({"jobs": [job("r"), job("w", "write")]})
    assert [row["job"] for row in rows] == ["r", "w"]
    assert rows[1] == {"job": "w", "iops": 50.4, "mib_s": 3.0, "mean_ms": 2.5, "p99_ms": 9.0}


def test_a_job_with_an_error_is_refused() -> None:
    with pytest.raises(ValueError, match="'r' ended with error 5"):
        fio.figures({"jobs": [job("r", error=5)]})


def test_a_job_without_io_is_refused() -> None:
    with pytest.raises(ValueError, match="did no I/O"):
        fio.figures({"jobs": [job("r", ios=0)]})


def test_table_has_a_line_for_each_scheduler_in_the_order_of_the_runs(tmp_path: Path) -> None:
    for name in ("none", "bfq"):
        text = "fio: some note\n" + json.dumps({"jobs": [job("mixed")]})
        (tmp_path / f"{name}.json").write_text(text)
    lines = fio.table(fio.load(tmp_path, ["none", "bfq"])).splitlines()
    assert [line.split()[0] for line in lines if line.strip()] == [
        "mixed", "scheduler", "none", "bfq"]
    assert lines[-1].split() == ["bfq", "50", "3.0", "2.50", "9.00"]


def reader(name: str, bins: dict[str, int] | None) -> dict[str, Any]:
    found = job(name)
    found["read"]["clat_ns"] = {"max": 300_000_000}
    if bins is not None:
        found["read"]["clat_ns"]["bins"] = bins
    return found


def test_the_disk_s_settings_are_said() -> None:
    preset = presets.load("barracuda-7200.11")
    said = fio.about_disk(preset)
    for word in ("barracuda-7200.11", "7200 rpm", "465 GiB", "write cache of", "by position"):
        assert word in said
    presets.change(preset, ["rot/write_back=0", "rot/queue=fcfs"])
    assert "no write cache" in fio.about_disk(preset) and "by arrival" in fio.about_disk(preset)


def test_late_reads_are_those_above_the_limit() -> None:
    bins = {"1000000": 5, "250000000": 3, "250000001": 2, "900000000": 1}
    assert fio.late_reads(bins, 250) == 3


def test_stream_table_has_videos_before_greedy_readers_and_counts_late_reads() -> None:
    rows = fio.stream_rows({"jobs": [reader("video A", {"260000000": 4})]},
                                 {"jobs": [reader("greedy A", None)]})
    lines = fio.stream_table({"cfq": rows}).splitlines()
    assert lines[-2].split() == ["cfq", "video", "A", "3.0", "300", "100", "4"]
    assert lines[-1].split() == ["cfq", "greedy", "A", "3.0", "300", "100", "-"]


def test_a_reader_that_read_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'video A' did not read"):
        fio.stream_rows({"jobs": [job("video A", ios=0)]}, {"jobs": []})


def test_it_needs_no_packages_but_virtme_ng(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no numpy here')\n")
    done = subprocess.run([TOOLS / "bench/bench", "fio", "--help"], env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
