# SPDX-License-Identifier: GPL-2.0
"""The kernel under test, and one without cfq on which other schedulers run."""

from __future__ import annotations

from dataclasses import dataclass

from tools.testbed.vm.uml import Guests

from .job import Run, needs_bw
from .plan import Plan


@dataclass(frozen=True)
class Kernels:
    """Guests of one or two kernels."""

    tested: Guests
    without_cfq: Guests | None = None

    def guests(self, plan: Plan, run: Run) -> Guests:
        """Those that a run is made in: results of other schedulers last when only cfq changes."""
        ours = run.cell.config.scheduler == "cfq" or (run.policy and needs_bw(plan.scenario, run.cell, run.policy))
        return self.tested if ours or not self.without_cfq else self.without_cfq

    def stop(self) -> None:
        """End every guest that runs and refuse new ones."""
        for guests in filter(None, (self.tested, self.without_cfq)):
            guests.stop()
