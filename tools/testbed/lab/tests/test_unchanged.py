# SPDX-License-Identifier: GPL-2.0
"""Comparing two kernels: what differs is found, what was not run does not count."""

from pathlib import Path
from typing import Literal

import pytest

from tools.base.cli import ToolError
from tools.testbed.lab import cli
from tools.testbed.lab.run import unchanged
from tools.testbed.lab.run.features import Features
from tools.testbed.lab.tests.conftest import cell_result, process_result, result_of


def results(status: Literal["ok", "needs-bw", "failed"] = "ok", digest: str = "a") -> unchanged.Results:
    """A run of two streams, the second of which has this digest, and one that reserves."""
    processes = [process_result("one"), process_result("two")]
    for process in processes:
        process["reads"] = 5
    processes[1]["operations_sha256"] = digest
    free, reserving = cell_result("cfq", 1, processes), cell_result("cfq", 1, [])
    free["name"], reserving["name"] = "cfq", "bw"
    reserving["status"] = status
    return {"s": result_of([free, reserving])}


def test_equal_runs_do_not_differ_and_what_needs_the_class_is_not_counted() -> None:
    rows = unchanged.compare(results("needs-bw"), results("needs-bw"))
    assert rows == [{"scenario": "s", "runs": 1, "operations": 10, "differ": {}, "random": {}}]


def test_an_operation_at_another_time_is_found() -> None:
    assert unchanged.compare(results(), results(digest="b"))[0]["differ"] == {"cfq": "two: operations_sha256"}


@pytest.mark.parametrize(("other_seeds", "random"), [("bbb", False), ("bcb", True), ("bbc", True)])
def test_a_run_that_differs_from_itself_with_other_random_numbers_is_set_aside(other_seeds: str, random: bool) -> None:
    asked = []

    def again(name: str, cells: list[str], seed: int) -> unchanged.Results:
        asked.append((name, cells, seed))
        found = results(digest=other_seeds[len(asked) - 1])
        found[name]["cells"] = [cell for cell in found[name]["cells"] if cell["name"] in cells]
        return found

    rows = unchanged.compare(results(), results(digest="b"))
    unchanged.set_random_aside(rows, results(digest="b"), again)
    how = {"cfq": "two: operations_sha256"}
    assert (rows[0]["differ"], rows[0]["random"]) == (({}, how) if random else (how, {}))
    assert asked[0] == ("s", ["cfq"], unchanged.SEEDS[0])


def test_a_run_that_failed_in_one_kernel_is_found() -> None:
    assert unchanged.compare(results(), results("failed"))[0]["differ"] == {"bw": "ok without, failed with"}


def test_kernels_that_lack_the_disk_are_refused() -> None:
    good = Features("7.3", ["none", "cfq"], True, True)
    assert unchanged.common(good, good) == Features("7.3", ["none", "cfq"], False, True)
    with pytest.raises(ToolError, match="older kernel has no rotating disk"):
        unchanged.common(Features("7.2", ["none"], False, False), good)


def test_a_kernel_does_what_itself_does(
    kernel: Path, scenario_file: Path, disks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--kernel", str(kernel), "--without", str(kernel), "--disks", str(disks)]
    assert cli.main(["unchanged", str(scenario_file), *args, "--duration", "1", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["test", "4", "206", "0", "0"]
