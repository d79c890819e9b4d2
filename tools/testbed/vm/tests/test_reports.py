# SPDX-License-Identifier: GPL-2.0
"""The scan of a console finds what the kernel reports and nothing else."""

from __future__ import annotations

import pytest

from tools.testbed.vm import Result, scan

FAULTS = [
    "BUG: KASAN: slab-use-after-free in cfq_insert+0x10/0x20",
    "BUG: sleeping function called from invalid context at mm/slab.h:1",
    "BUG: scheduling while atomic: fio/12/0x2",
    "WARNING: block/cfq-iosched.c:12 at cfq_x+0x1/0x2, CPU#0: fio/1",
    "WARNING: possible circular locking dependency detected",
    "WARNING: inconsistent lock state",
    "INFO: task fio:123 blocked for more than 120 seconds.",
    "INFO: possible recursive locking detected",
    "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [fio:1]",
    "ODEBUG: free active (active state 0) object: 00 object type: hrtimer",
    "Oops: general protection fault, 0000 [#1] SMP",
    "kernel BUG at block/blk-mq.c:12!",
    "Kernel panic - not syncing: Fatal exception",
    "list_add corruption. prev->next should be next",
    "refcount_t: underflow; use-after-free.",
]


@pytest.mark.parametrize("stamp", ["[   12.345678] ", "[   12.345678][  T123] ", "<4>[    1.000000] "])
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault: str, stamp: str) -> None:
    assert scan(f"[    0.1] Linux version 7.3.4\n{stamp}{fault}\n") == [(stamp + fault).strip()]


@pytest.mark.parametrize("line", [
    "[    1.000000] FAULT_INJECTION: forcing a failure.",
    "[    1.000000] null_blk: module loaded",
    "[    1.000000] Spectre V2 : WARNING: something about the host",
    "WARNING: printed by a program, not by the kernel",
    "[    1.000000] debug: BUG in a name",
])
def test_ordinary_line_is_no_fault(line: str) -> None:
    assert scan(line) == []


def test_expected_report_is_allowed_and_others_stay() -> None:
    log = "[    1.000000] WARNING: expected one\n[    2.000000] WARNING: another\n"
    assert scan(log, ["expected one"]) == ["[    2.000000] WARNING: another"]


def test_result_is_ok_only_without_reports_and_with_exit_code_0() -> None:
    assert Result(0, "", "").ok
    assert not Result(1, "", "").ok
    assert not Result(None, "", "").ok
    assert not Result(0, "", "", ["[    1.0] BUG: x"]).ok


def test_why_tells_the_end_of_the_console_when_the_command_did_not_end() -> None:
    said = Result(None, "", "one\ntwo\n", timed_out=True, seconds=9).why()
    assert said.splitlines() == ["no end after 9 s; the end of the console:", "one", "two"]
