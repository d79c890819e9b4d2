# SPDX-License-Identifier: GPL-2.0
"""The memory of zeros is reported only by a guest that has written all files."""

from __future__ import annotations

import pytest

from tools.base.cli import ToolError
from tools.dev.bench import cli, zeros


def test_memory_is_compared_with_what_was_available_before_the_file_system() -> None:
    assert zeros.taken("@ 500000\nmkfs output\n@ 489760\n@ 479520\n") == {"empty_mib": 10.0, "full_mib": 20.0}


def test_last_output_of_a_guest_that_failed_is_in_the_error() -> None:
    with pytest.raises(ToolError, match="its last output: dd: error writing"):
        zeros.taken("@ 500000\n@ 489760\ndd: error writing '/tmp/fs/1': No space left on device\n")
    with pytest.raises(ToolError, match="its last output: nothing"):
        zeros.taken("")


def test_more_than_the_disk_holds_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["zeros", "--gib", "460"]) == 2
    assert "do not fit on a disk of 465 GiB" in capsys.readouterr().err
