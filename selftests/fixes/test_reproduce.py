# SPDX-License-Identifier: GPL-2.0
"""What a reproducer makes of a run; boots nothing."""

from __future__ import annotations

import re

import pytest

from selftests.fixes.reproduce import HERE, REPRODUCERS, Reproducer, chosen, problem
from tools.base.cli import ToolError
from tools.testbed.vm import Result

OOPS = "[    9.1] BUG: kernel NULL pointer dereference, address: 0000000000000000"
BUG = Reproducer("bug", "bug.sh", r"RIP: \S+:ioc_destroy_icq\+")
CONTROL = Reproducer("control", "bug.sh", "")


def died(console: str) -> Result:
    return Result(None, "", f"{OOPS}\n{console}", [OOPS])


def test_bug_is_seen_in_the_base() -> None:
    assert not problem(BUG, died("[    9.2] RIP: 0010:ioc_destroy_icq+0x14/0xf0"), patched=False)


def test_another_fault_of_the_base_is_not_the_bug() -> None:
    assert "another way" in problem(BUG, died("[    9.2] RIP: 0010:bfq_exit_icq+0x14/0xf0"), patched=False)


def test_base_without_the_bug_is_told() -> None:
    assert problem(BUG, Result(0, "", ""), patched=False) == "the bug does not occur"


def test_patched_kernel_passes_or_fails() -> None:
    assert not problem(BUG, Result(0, "", ""), patched=True)
    assert "ioc_destroy_icq" in problem(BUG, died("[    9.2] RIP: 0010:ioc_destroy_icq+0x14/0xf0"), patched=True)


@pytest.mark.parametrize("patched", [False, True])
def test_what_was_not_tried_is_no_result(patched: bool) -> None:
    assert problem(BUG, Result(3, "BROKEN: no disk\n", ""), patched) == "could not run: BROKEN: no disk"


@pytest.mark.parametrize("patched", [False, True])
def test_control_passes_in_both(patched: bool) -> None:
    assert not problem(CONTROL, Result(0, "", ""), patched)
    assert problem(CONTROL, died(""), patched)


def test_each_reproducer_has_its_script_and_a_name_of_its_own() -> None:
    assert len({reproducer.name for reproducer in REPRODUCERS}) == len(REPRODUCERS)
    for reproducer in REPRODUCERS:
        assert (HERE / "guest" / reproducer.command.split()[0]).is_file()
        re.compile(reproducer.shows)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(ToolError, match="no-such"):
        chosen(["no-such"])
