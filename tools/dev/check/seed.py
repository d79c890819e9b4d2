# SPDX-License-Identifier: GPL-2.0
"""The seed of a run of the tests: of inputs that are new each time, and can be had again."""

from __future__ import annotations

import os

VARIABLE = "CHECK_SEED"


def seed() -> int:
    """What `make check` drew for this run, and says in its summary; 1 where a test is run by itself."""
    return int(os.environ.get(VARIABLE, "1"))
