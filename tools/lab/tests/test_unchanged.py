# SPDX-License-Identifier: GPL-2.0-only
"""Comparing two kernels: what differs is found, what was not run does not count."""

import copy
from pathlib import Path

import pytest
from lablib import cli, guest, unchanged
from lablib.errors import LabError


def results(status: str = "ok") -> dict[str, dict[str, object]]:
    processes = [{"name": name, "reads": 5, "operations_sha256": "a"} for name in ("one", "two")]
    cells = [
        {"name": "cfq", "status": "ok", "processes": processes},
        {"name": "bw", "status": status, "processes": []},
    ]
    return {"s": {"cells": cells}}


def test_equal_runs_do_not_differ_and_what_needs_the_class_is_not_counted() -> None:
    rows = unchanged.compare(results("needs-bw"), results("needs-bw"))
    assert rows == [{"scenario": "s", "runs": 1, "operations": 10, "differ": {}}]


def test_an_operation_at_another_time_is_found() -> None:
    old, new = results(), copy.deepcopy(results())
    new["s"]["cells"][0]["processes"][1]["operations_sha256"] = "b"  # type: ignore[index]
    assert unchanged.compare(old, new)[0]["differ"] == {"cfq": "two: operations_sha256"}


def test_a_run_that_failed_in_one_kernel_is_found() -> None:
    assert unchanged.compare(results(), results("failed"))[0]["differ"] == {"bw": "ok without, failed with"}


def test_kernels_that_lack_the_disk_are_refused() -> None:
    good = guest.Features("7.3", ["none", "cfq"], True, True)
    assert unchanged.common(good, good) == guest.Features("7.3", ["none", "cfq"], False, True)
    with pytest.raises(LabError, match="older kernel has no rotating disk"):
        unchanged.common(guest.Features("7.2", ["none"], False, False), good)


def test_a_kernel_does_what_itself_does(
    kernel: Path, scenario_file: Path, disks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--kernel", str(kernel), "--without", str(kernel), "--disks", str(disks)]
    assert cli.main(["unchanged", str(scenario_file), *args, "--duration", "1", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["test", "4", "206", "0"]
