# SPDX-License-Identifier: GPL-2.0
"""The scheduler in a booted kernel: every scenario of guest/scenarios."""

from __future__ import annotations

from collections.abc import Callable

import guests
import pytest

Scenarios = Callable[[str], guests.Campaign]
def finished(outcome: guests.Outcome, flavour: str) -> None:
    assert outcome.ok or outcome.skipped, outcome.why()
    if outcome.skipped:
        assert flavour == "plain", f"skipped in the debug flavour: {outcome.log}"
        pytest.skip(outcome.log.strip().splitlines()[-1])


@pytest.mark.parametrize("scenario", guests.scenarios())
def test_scenario(scenarios: Scenarios, flavour: str, scenario: str) -> None:
    finished(scenarios(flavour).outcomes[scenario], flavour)


def test_no_kernel_report_outside_of_scenarios(scenarios: Scenarios, flavour: str) -> None:
    assert not scenarios(flavour).reports, "\n".join(scenarios(flavour).reports)
