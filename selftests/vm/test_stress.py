# SPDX-License-Identifier: GPL-2.0
"""Everything at once (tools/stress) in a booted kernel, for a minute or three."""

from __future__ import annotations

import sys
from pathlib import Path

import guests

sys.path.insert(0, str(guests.ROOT / "tools/stress"))

from stresslib.guest import run_stress
from stresslib.result import table

SECONDS = {"plain": 60, "debug": 180}


def test_stress(logs: Path, flavour: str) -> None:
    outcome = run_stress(flavour, SECONDS[flavour], seed=1, out=logs / f"stress-{flavour}")
    print("\n".join(table(outcome)))
    assert outcome.ok, "\n".join(table(outcome))
