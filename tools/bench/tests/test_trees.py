# SPDX-License-Identifier: GPL-2.0
"""Programs that read many files: in the order of the disk they are quicker where a file system has lived."""

from __future__ import annotations

import argparse
import json

import pytest

from tools.base.cli import ToolError
from tools.bench import cli, trees
from tools.vm import uml


def options(*words: str) -> argparse.Namespace:
    return cli.parser().parse_args(["trees", *words])


def test_times_are_of_a_program_and_a_tree() -> None:
    found = trees.times("early\ttar\t1500\naged\ttar\t2000\nearly\tqtar\t10\n")
    assert found == {"tar": {"early": 1.5, "aged": 2.0}, "qtar": {"early": 0.01}}
    assert trees.rows(found) == [["tar", "1.50", "2.00", "-"], ["qtar", "0.01", "-", "-"]]


def test_unknown_program_is_refused() -> None:
    with pytest.raises(ToolError, match="no 'rar'"):
        trees.command(options("--programs", "tar,rar"))


@pytest.mark.parametrize("fs", ["ext4", "xfs"])
def test_an_aged_tree_is_read_sooner_in_the_order_of_the_disk(fs: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not uml.IMAGE.is_file():
        pytest.skip("no kernel: `make uml` builds it")
    args = options("--fs", fs, "--scale", "0.01", "--trees", "1", "--programs", "tar,qtar", "--json")
    assert trees.command(args) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"tar", "qtar", "one sweep"}
    assert max(found["one sweep"]["aged"], found["qtar"]["aged"]) < found["tar"]["aged"]
