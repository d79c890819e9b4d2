# SPDX-License-Identifier: GPL-2.0
"""The streams that a disk can serve, compared with numbers calculated by hand."""

import pytest

from tools.testbed.disk import capacity, characteristics

# 1000 sectors a track of 10 ms and its skew of 2 ms; a positioning is 3 + 5 + 0.5 ms
DISK = characteristics.compute({"size": "1000", "rot/rpm": "6000", "rot/heads": "1", "rot/zones": "1",
                               "rot/track_outer_sectors": "1000", "rot/track_inner_sectors": "1000",
                               "rot/seek_track_us": "2000", "rot/seek_avg_us": "6000", "rot/overhead_us": "500"})


def test_positioning_is_half_a_seek_half_a_revolution_and_overhead() -> None:
    assert capacity.positioning_ms(DISK) == pytest.approx(8.5)


def test_load_is_data_positionings_and_the_share_of_best_effort() -> None:
    assert capacity.load([], 50, 10) == pytest.approx(0.05)
    assert capacity.load([3, 1, 1], 50, 10) == pytest.approx(0.1 + 0.03 + 0.05)
    assert capacity.load([3, 1, 1], 50, 10, share_percent=100) == pytest.approx(0.13)


def test_the_margin_is_kept_free() -> None:
    assert capacity.admits([1] * 28, 50, 10)  # 28 * 0.03 + 0.05 = 0.89
    assert not capacity.admits([1] * 29, 50, 10)


def test_most_is_the_last_that_is_admitted() -> None:
    rate = 1000 * 512 / 12e-3 / 2**20
    assert capacity.inner_mib(DISK) == pytest.approx(rate)
    count = capacity.most([3, 3], 1, DISK)
    assert (6 + count) / rate + (2 + count) * 8.5e-3 <= 0.85 < (7 + count) / rate + (3 + count) * 8.5e-3
    assert capacity.most([100], 1, DISK) == 0
