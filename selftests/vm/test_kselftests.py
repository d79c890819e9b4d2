# SPDX-License-Identifier: GPL-2.0
"""The kselftests of the scheduler and of null_blk (tools/testing/selftests/cfq, null_blk) in a booted kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from selftests.vm import guests

Kselftests = Callable[[str], guests.Campaign]


@pytest.mark.parametrize("kselftest", guests.kselftests())
def test_kselftest(kselftests: Kselftests, flavour: str, kselftest: str,
                   record_property: Callable[[str, object], None]) -> None:
    campaign = kselftests(flavour)
    assert kselftest in campaign.outcomes, campaign.why
    outcome = campaign.outcomes[kselftest]
    record_property("seconds", outcome.seconds)
    if outcome.skipped and "slower than the disk" in outcome.log:
        pytest.skip("this machine is slower than the disk")
    assert outcome.ok, outcome.log


def test_no_kernel_report_during_kselftests(kselftests: Kselftests, flavour: str) -> None:
    campaign = kselftests(flavour)
    assert not campaign.reports, campaign.why
