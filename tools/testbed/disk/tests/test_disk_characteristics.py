# SPDX-License-Identifier: GPL-2.0
"""Computed speeds, compared with speeds calculated by hand."""

import random

import pytest

from tools.testbed.disk import characteristics
from tools.testbed.disk.errors import DiskError

# One zone, one head, a revolution of 10 ms, no skew beyond 2 ms from track to track
SIMPLE = {"size": "1000", "rot/rpm": "6000", "rot/heads": "1", "rot/zones": "1",
          "rot/track_outer_sectors": "1000", "rot/track_inner_sectors": "1000",
          "rot/seek_track_us": "2000", "rot/seek_avg_us": "9000", "rot/overhead_us": "500"}


def test_rate_is_a_track_in_a_revolution_and_its_skew() -> None:
    computed = characteristics.compute(SIMPLE)
    assert computed.outer_mbps == pytest.approx(1000 * 512 / 12e-3 / 1e6)
    assert computed.inner_mbps == computed.outer_mbps
    assert computed.cylinders == -(-1000 * 2048 // 1000)


def test_random_read_is_overhead_seek_half_a_revolution_and_transfer() -> None:
    computed = characteristics.compute(SIMPLE)
    transfer_ms = 4096 / computed.mean_mbps / 1e3
    assert computed.random_ms(4096) == pytest.approx(0.5 + 9 + 5 + transfer_ms)
    assert computed.random_kib_s(4096) == pytest.approx(4e3 / computed.random_ms(4096))


def test_given_skews_count() -> None:
    skewed = characteristics.compute({**SIMPLE, "rot/track_skew_us": "5000"})
    assert skewed.outer_mbps == pytest.approx(1000 * 512 / 15e-3 / 1e6)


def test_zones_hold_what_their_tracks_hold() -> None:
    zoned = {**SIMPLE, "rot/zones": "4", "rot/track_inner_sectors": "400"}
    computed = characteristics.compute(zoned)
    assert computed.inner_mbps == pytest.approx(0.4 * computed.outer_mbps)
    assert computed.mean_mbps == pytest.approx(0.7 * computed.outer_mbps, rel=0.01)


def test_sector_is_at_a_cylinder_of_its_zone() -> None:
    computed = characteristics.compute({**SIMPLE, "rot/zones": "4", "rot/track_inner_sectors": "400"})
    per_zone = computed.zones[1].cylinder
    assert [zone.cylinder_sectors for zone in computed.zones] == [1000, 800, 600, 400]
    assert computed.zones[2].sector == 1800 * per_zone
    assert [computed.cylinder(sector) for sector in (0, 1000, 1000 * per_zone + 799, 1000 * per_zone + 800)] == [
        0, 1, per_zone, per_zone + 1]
    assert computed.cylinder(computed.capacity_bytes // 512 - 1) == computed.cylinders - 1
    assert computed.zones[-1].mbps == pytest.approx(computed.inner_mbps)


def test_full_stroke_gives_the_mean_of_random_pairs() -> None:
    full = {**SIMPLE, "rot/seek_avg_us": "0", "rot/seek_full_us": "20000"}
    computed = characteristics.compute(full)
    draw, span = random.Random(3), (computed.cylinders - 1) ** 0.5
    roots = [abs(draw.random() - draw.random()) ** 0.5 * computed.cylinders ** 0.5
             for _ in range(200000)]
    mean = sum(roots) / len(roots)
    assert computed.seek_avg_ms == pytest.approx(2 + 18 * (mean - 1) / (span - 1), rel=0.005)


def test_defaults_are_the_disk_of_2008() -> None:
    computed = characteristics.compute({"size": "476160"})
    assert computed.outer_mbps == pytest.approx(105, rel=0.001)
    assert computed.random_ms(4096) == pytest.approx(12.9, rel=0.005)


@pytest.mark.parametrize("change", [{"size": "big"}, {"rot/rpm": "0"}, {"rot/heads": "0"}])
def test_senseless_attribute_is_named(change: dict[str, str]) -> None:
    with pytest.raises(DiskError, match=next(iter(change))):
        characteristics.compute({**SIMPLE, **change})
