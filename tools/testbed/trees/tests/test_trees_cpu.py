# SPDX-License-Identifier: GPL-2.0
"""The programs of a pair run in turn; the minimum CPU time of each is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.testbed.trees import cpu


def test_both_run_by_turns_and_either_is_first_as_often(tmp_path: Path) -> None:
    ran: list[str] = []

    def measure(command: str, folder: Path) -> float:
        assert folder == tmp_path
        ran.append(command)
        return float(len(ran))
    found = cpu.measured({"x": ("model", "ours")}, 4, tmp_path, measure)
    assert ran == ["ours", "model", "model", "ours"] * 2
    assert found == {"x": ([2, 3, 6, 7], [1, 4, 5, 8])}


def test_the_least_is_compared() -> None:
    assert cpu.rows({"x": ([0.2, 0.1, 0.4], [0.3, 0.11, 0.3])}) == [
        ["x", "100.0", "200.0", "110.0", "300.0", "+10.0%"]]


def test_time_is_that_of_all_that_a_command_starts(tmp_path: Path) -> None:
    assert cpu.cpu_seconds("i=0; while [ $((i += 1)) -lt 50000 ]; do :; done | cat", tmp_path) > 0.01
    with pytest.raises(ToolError, match="fails"):
        cpu.cpu_seconds("false | cat", tmp_path)


def test_copies_are_removed(tmp_path: Path) -> None:
    cpu.make_tree(tmp_path / "tree", 250)
    assert len([path for path in (tmp_path / "tree").rglob("*") if path.is_file()]) == 250
    cpu.cpu_seconds("cp -a tree copy", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]
