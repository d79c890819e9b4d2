# SPDX-License-Identifier: GPL-2.0
"""The disk model compared with DiskSim, if DISKSIM names one (tools/testbed/disk/validation/build)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from tools.testbed.disk.validation import demerit, document, replay, simulator
from tools.testbed.vm import uml

KERNEL = Path(os.environ.get("LAB_KERNEL", uml.IMAGE))
# Milliseconds, 2.4 more than the drive's own parameters, which the model keeps.
SLOW = (("Read miss over. after read", "3"), ("Read miss over. after write", "3"))


@pytest.fixture(autouse=True)
def built() -> None:
    if not os.environ.get("DISKSIM"):
        pytest.skip("DISKSIM names no DiskSim: tools/testbed/disk/validation/build FOLDER builds one")
    if not KERNEL.is_file():
        pytest.skip(f"no kernel at {KERNEL}: `make uml` builds it")


@cache
def verdicts(drive: str, *more: tuple[str, str]) -> list[demerit.Verdict]:
    times = replay.replay_both([drive], simulator.folder(None), KERNEL, lambda text: None, more)
    return [one.verdict() for one in times]


@pytest.mark.parametrize("drive", replay.DRIVES)
def test_bounds_hold(drive: str) -> None:
    found = verdicts(drive)
    assert all(one.ok for one in found), "\n" + demerit.table(found)


def test_a_slower_drive_misses_the_bounds() -> None:
    assert not any(one.ok for one in verdicts("cheetah4LP", *SLOW) if one.requests != "sequential")


@pytest.mark.parametrize("drive", replay.DRIVES + replay.OTHERS)
def test_page_has_these_results(drive: str) -> None:
    figures = document.figures(document.PAGE.read_text())
    rows = {line for line in figures.splitlines() if line.startswith(f"| {drive} |")}
    assert set(demerit.markdown(verdicts(drive)).splitlines()[2:]) == rows
