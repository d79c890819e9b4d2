# SPDX-License-Identifier: GPL-2.0
"""What the tests of the stress run share."""

import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOOL), str(TOOL.parent)]


@pytest.fixture(scope="session")
def programs() -> Path:
    from stresslib import guest

    guest.build_programs()
    return guest.PROGRAMS
