# SPDX-License-Identifier: GPL-2.0
"""The table shows fio's figures, and refuses results that are none."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def load_tool() -> ModuleType:
    path = str(Path(__file__).resolve().parents[1] / "fio-table")
    loader = importlib.machinery.SourceFileLoader("fio_table", path)
    spec = importlib.util.spec_from_loader("fio_table", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


fio_table = load_tool()


def job(name: str, side: str = "read", ios: int = 100, error: int = 0) -> dict[str, Any]:
    idle = {"total_ios": 0}
    busy = {"total_ios": ios, "iops": 50.4, "bw_bytes": 3 * 2**20,
            "clat_ns": {"mean": 2_500_000, "percentile": {"99.000000": 9_000_000}}}
    return {"jobname": name, "error": error, "read": idle, "write": idle, side: busy}


def test_figures_are_of_the_direction_that_did_io() -> None:
    rows = fio_table.figures({"jobs": [job("r"), job("w", "write")]})
    assert [row["job"] for row in rows] == ["r", "w"]
    assert rows[1] == {"job": "w", "iops": 50.4, "mib_s": 3.0, "mean_ms": 2.5, "p99_ms": 9.0}


def test_a_job_with_an_error_is_refused() -> None:
    with pytest.raises(ValueError, match="'r' ended with error 5"):
        fio_table.figures({"jobs": [job("r", error=5)]})


def test_a_job_without_io_is_refused() -> None:
    with pytest.raises(ValueError, match="did no I/O"):
        fio_table.figures({"jobs": [job("r", ios=0)]})


def test_table_has_a_line_for_each_scheduler_in_the_order_of_the_runs(tmp_path: Path) -> None:
    for name in ("none", "bfq"):
        text = "fio: some note\n" + json.dumps({"jobs": [job("mixed")]})
        (tmp_path / f"{name}.json").write_text(text)
    lines = fio_table.table(fio_table.load(tmp_path, ["none", "bfq"])).splitlines()
    assert [line.split()[0] for line in lines if line.strip()] == [
        "mixed", "scheduler", "none", "bfq"]
    assert lines[-1].split() == ["bfq", "50", "3.0", "2.50", "9.00"]
