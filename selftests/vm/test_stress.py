# SPDX-License-Identifier: GPL-2.0
"""Everything at once (tools/dev/stress) in a booted kernel, for a minute or three."""

from __future__ import annotations

from pathlib import Path

from tools.dev.check.seed import seed
from tools.dev.stress.result import failures, table
from tools.dev.stress.run import run_stress

SECONDS = {"plain": 60, "debug": 180}


def test_stress(logs: Path, flavour: str) -> None:
    outcome = run_stress(flavour, SECONDS[flavour], seed=seed(), out=logs / f"stress-{flavour}")
    print("\n".join(table(outcome)))
    assert outcome.ok, "\n".join(failures(outcome))
