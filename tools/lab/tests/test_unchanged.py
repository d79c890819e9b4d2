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
    assert rows == [{"scenario": "s", "runs": 1, "operations": 10, "differ": {}, "random": {}}]


def test_an_operation_at_another_time_is_found() -> None:
    old, new = results(), copy.deepcopy(results())
    new["s"]["cells"][0]["processes"][1]["operations_sha256"] = "b"  # type: ignore[index]
    assert unchanged.compare(old, new)[0]["differ"] == {"cfq": "two: operations_sha256"}


@pytest.mark.parametrize(("other_seeds", "random"), [("bbb", False), ("bcb", True), ("bbc", True)])
def test_a_run_that_differs_from_itself_with_other_random_numbers_is_set_aside(other_seeds: str, random: bool) -> None:
    def of(digest: str) -> dict[str, dict[str, object]]:
        found = copy.deepcopy(results())
        found["s"]["cells"][0]["processes"][1]["operations_sha256"] = digest  # type: ignore[index]
        return found

    asked = []

    def again(name: str, cells: list[str], seed: int) -> dict[str, dict[str, object]]:
        asked.append((name, cells, seed))
        found = of(other_seeds[len(asked) - 1])
        found[name]["cells"] = [cell for cell in found[name]["cells"] if cell["name"] in cells]  # type: ignore[attr-defined]
        return found

    rows = unchanged.compare(results(), of("b"))
    unchanged.set_random_aside(rows, of("b"), again)
    how = {"cfq": "two: operations_sha256"}
    assert (rows[0]["differ"], rows[0]["random"]) == (({}, how) if random else (how, {}))
    assert asked[0] == ("s", ["cfq"], unchanged.SEEDS[0])


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
    assert capsys.readouterr().out.splitlines()[-1].split() == ["test", "4", "206", "0", "0"]
