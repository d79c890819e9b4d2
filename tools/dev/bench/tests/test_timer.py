# SPDX-License-Identifier: GPL-2.0
"""Only the runs of the disk's timer count, from entry to exit."""

from __future__ import annotations

import pytest

from tools.base.cli import ToolError
from tools.dev.bench import timer

TRACE = """\
# tracer: nop
  fio-1 [000] d.h1. 10.000100: hrtimer_expire_entry: hrtimer=00000000a1 function=tick_nohz_handler now=1
  fio-1 [000] d.h1. 10.000900: hrtimer_expire_exit: hrtimer=00000000a1
  fio-1 [000] d.h1. 10.999990: hrtimer_expire_entry: hrtimer=00000000b2 function=rot_timer_fn now=2
  fio-1 [000] d.h1. 11.000020: hrtimer_expire_exit: hrtimer=00000000b2
  fio-1 [000] d.h1. 12.000000: hrtimer_expire_entry: hrtimer=00000000b2 function=rot_timer_fn now=3
  fio-1 [001] d.h1. 12.000001: hrtimer_expire_exit: hrtimer=00000000c3
  fio-1 [000] d.h1. 12.000010: hrtimer_expire_exit: hrtimer=00000000b2
"""


def test_runs_of_the_disks_timer_are_measured() -> None:
    assert timer.times(TRACE.splitlines()) == timer.Times(runs=2, median=30, longest=30)


def test_trace_without_the_disks_timer_is_refused() -> None:
    with pytest.raises(ToolError, match="no run of the disk's timer"):
        timer.times(TRACE.splitlines()[:3])
