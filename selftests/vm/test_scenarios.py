# SPDX-License-Identifier: GPL-2.0
"""The scheduler in a booted kernel: every scenario of guest/scenarios."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from selftests.vm import guests

Scenarios = Callable[[str], guests.Campaign]


def finished(outcome: guests.Outcome, flavour: str) -> None:
    assert outcome.ok or outcome.skipped, outcome.why()
    if outcome.skipped:
        assert flavour == "plain", f"skipped in the {flavour} flavour: {outcome.log}"
        pytest.skip(outcome.log.strip().splitlines()[-1])


@pytest.mark.parametrize("scenario", list(guests.scenarios()))
def test_scenario(scenarios: Scenarios, flavour: str, scenario: str,
                  record_property: Callable[[str, object], None]) -> None:
    outcome = scenarios(flavour).outcomes[scenario]
    record_property("seconds", outcome.seconds)
    finished(outcome, flavour)


def test_no_kernel_report_outside_of_scenarios(scenarios: Scenarios, flavour: str) -> None:
    assert not scenarios(flavour).reports, "\n".join(scenarios(flavour).reports)


def test_loads_that_left_no_report_are_few(scenarios: Scenarios, flavour: str) -> None:
    """Of a load that had to be killed nobody knows whether it had errors."""
    killed = {name: outcome.killed_loads for name, outcome in scenarios(flavour).outcomes.items()
              if outcome.killed_loads}
    print(f"killed loads: {killed}")
    assert sum(killed.values()) <= 3, killed
