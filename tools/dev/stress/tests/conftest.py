# SPDX-License-Identifier: GPL-2.0
"""Fixtures of the tests."""

from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def programs() -> Path:
    from tools.dev.stress import run as guest

    guest.build_programs()
    return guest.PROGRAMS
