# SPDX-License-Identifier: GPL-2.0
"""The kselftests of the queue (tools/testing/selftests/cfq, blktrace, null_blk) in a booted kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from selftests.vm import guests

Kselftests = Callable[[str], guests.Campaign]


def finished(outcome: guests.Outcome, note: Callable[[str, object], None]) -> None:
    """It passed or may be skipped, and so may each case that it skipped, which is noted."""
    skipped = guests.skips(outcome.log)
    assert outcome.ok or outcome.skipped, outcome.log
    assert not guests.unlisted(skipped), outcome.log
    if outcome.skipped:
        pytest.skip(skipped[-1][1])
    for name, why in skipped:
        note("skipped", f"{name}: {why}")


@pytest.mark.parametrize("kselftest", guests.kselftests())
def test_kselftest(kselftests: Kselftests, flavour: str, kselftest: str,
                   record_property: Callable[[str, object], None]) -> None:
    campaign = kselftests(flavour)
    assert kselftest in campaign.outcomes, campaign.why
    outcome = campaign.outcomes[kselftest]
    record_property("seconds", outcome.seconds)
    finished(outcome, record_property)


def test_no_kernel_report_during_kselftests(kselftests: Kselftests, flavour: str) -> None:
    campaign = kselftests(flavour)
    assert not campaign.reports, campaign.why
