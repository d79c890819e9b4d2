# SPDX-License-Identifier: GPL-2.0
"""Only the line of the scheduler's lock in /proc/lock_stat counts."""

from __future__ import annotations

import pytest

from tools.base.cli import ToolError
from tools.dev.bench import lock

# The columns of the kernel, without their alignment.
STAT = """\
lock_stat version 0.4
              class name    con-bounces    contentions   waittime-min ...

 &cfqd->lock: 90 120 0.25 40.50 480.00 4.00 800 2000 0.10 75.50 9000.00 4.50
 -----------
 &cfqd->lock 60 [<ffffffff81234567>] cfq_dispatch_request+0x20/0x90

 &dd->lock/1: 0 0 0.00 0.00 0.00 0.00 5 1000 0.20 9.00 2500.00 2.50
"""


def test_a_lock_has_the_values_of_its_line() -> None:
    found = lock.held(STAT.splitlines(), "&cfqd->lock", 1000)
    assert found == lock.Held(1000, 2000, 120, waited=480.0, held=9000.0, longest=75.5)
    assert found.row() == ["1000", "2.00", "6.0", "9.00", "0.48", "75.5"]


def test_a_subclass_is_the_same_lock() -> None:
    assert lock.held(STAT.splitlines(), "&dd->lock", 10).held == 2500.0


def test_a_lock_that_was_not_taken_is_an_error() -> None:
    with pytest.raises(ToolError, match="no line of &bfqd->lock"):
        lock.held(STAT.splitlines(), "&bfqd->lock", 10)


def test_another_format_is_refused() -> None:
    with pytest.raises(ToolError, match="11 columns, not 12"):
        lock.held([line.replace(" 4.50", "") for line in STAT.splitlines()], "&cfqd->lock", 1000)
