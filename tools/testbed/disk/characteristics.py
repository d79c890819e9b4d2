# SPDX-License-Identifier: GPL-2.0
"""The speeds of a disk, computed from its attributes.

The computation follows the description of the model in Documentation/block/null_blk.rst, in
floating point. It shares no code with the kernel, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from .errors import DiskError

SECTOR = 512
MIB = 1 << 20
BANDS = 512  # bands of cylinders in the sum for the mean seek

# The kernel's defaults
DEFAULTS: dict[str, float] = {
    "rot/rpm": 7200,
    "rot/actuators": 1,
    "rot/heads": 4,
    "rot/zones": 16,
    "rot/track_outer_sectors": 1873,
    "rot/track_inner_sectors": 937,
    "rot/head_switch_us": 800,
    "rot/head_skew_us": 0,
    "rot/track_skew_us": 0,
    "rot/seek_track_us": 800,
    "rot/seek_avg_us": 8500,
    "rot/seek_full_us": 0,
    "rot/overhead_us": 200,
}


class Zone(NamedTuple):
    """Cylinders with the same number of sectors, and the first cylinder and sector.

    @mbps: rate of sequential reads there, in 10^6 bytes per second
    """

    cylinder: int
    sector: int
    cylinder_sectors: int
    mbps: float


@dataclass(frozen=True)
class Characteristics:
    """Computed speeds of a disk; times in milliseconds, rates in 10^6 bytes per second.

    @zones: zones of the first actuator, outermost first
    """

    capacity_bytes: int
    cylinders: int
    revolution_ms: float
    seek_avg_ms: float
    overhead_ms: float
    outer_mbps: float
    inner_mbps: float
    mean_mbps: float
    zones: tuple[Zone, ...]

    def cylinder(self, sector: int) -> int:
        """The cylinder of a sector, for a disk without spare sectors."""
        zone = next(zone for zone in reversed(self.zones) if zone.sector <= sector)
        return zone.cylinder + (sector - zone.sector) // zone.cylinder_sectors

    def random_ms(self, nbytes: int) -> float:
        """The mean time of a random read, at queue depth 1."""
        transfer_ms = nbytes / self.mean_mbps / 1e3
        return self.overhead_ms + self.seek_avg_ms + self.revolution_ms / 2 + transfer_ms

    def random_kib_s(self, nbytes: int) -> float:
        return nbytes / 1024 / self.random_ms(nbytes) * 1e3


def compute(attributes: Mapping[str, str]) -> Characteristics:
    """Compute the speeds of a disk with these configfs attributes."""
    value = dict(DEFAULTS)
    for key in [*DEFAULTS, "size"]:
        if key in attributes:
            try:
                value[key] = int(attributes[key])
            except ValueError:
                raise DiskError(f"{key}: '{attributes[key]}' is not a whole number") from None
    for key in ("size", "rot/rpm", "rot/actuators", "rot/heads", "rot/zones", "rot/track_inner_sectors"):
        if value.get(key, 0) < 1:
            raise DiskError(f"{key} must be 1 or more")

    heads, zones = int(value["rot/heads"]), int(value["rot/zones"])
    revolution_ms = 60e3 / value["rot/rpm"]
    head_skew = value["rot/head_skew_us"] or value["rot/head_switch_us"]
    to_next = max(value["rot/seek_track_us"], value["rot/head_switch_us"] if heads > 1 else 0)
    track_skew = value["rot/track_skew_us"] or to_next
    cylinder_ms = heads * revolution_ms + ((heads - 1) * head_skew + track_skew) / 1e3

    outer, inner = value["rot/track_outer_sectors"], value["rot/track_inner_sectors"]
    tracks = [int(outer) - int((outer - inner) * zone // max(zones - 1, 1)) for zone in range(zones)]
    whole = int(value["size"]) * MIB // SECTOR
    sectors = whole // int(value["rot/actuators"])  # each actuator has its own geometry
    per_zone = -(-sectors // (sum(tracks) * heads))
    last, cylinders = _last_zone(sectors, tracks, per_zone, heads)

    def rate(spt: float) -> float:
        return heads * spt * SECTOR / cylinder_ms / 1e3

    used = sum(spt * per_zone for spt in tracks[:last])
    used += tracks[last] * (cylinders - last * per_zone)
    return Characteristics(
        capacity_bytes=whole * SECTOR,
        cylinders=cylinders,
        revolution_ms=revolution_ms,
        seek_avg_ms=_seek_avg_ms(value, tracks, per_zone, cylinders),
        overhead_ms=value["rot/overhead_us"] / 1e3,
        outer_mbps=rate(tracks[0]),
        inner_mbps=rate(tracks[last]),
        # a random sector is in a zone with a weight of the zone's sectors, and the time to read it
        # is the inverse of these sectors: so the zones' cylinders are the weights
        mean_mbps=rate(used / cylinders),
        zones=tuple(Zone(zone * per_zone, sum(tracks[:zone]) * heads * per_zone, heads * spt, rate(spt))
                    for zone, spt in enumerate(tracks[:last + 1])),
    )


def _last_zone(sectors: int, tracks: list[int], per_zone: int, heads: int) -> tuple[int, int]:
    """The zone of the last sector, and the number of cylinders in use."""
    left = sectors
    for zone, spt in enumerate(tracks):
        holds = per_zone * heads * spt
        if left <= holds:
            return zone, zone * per_zone + -(-left // (heads * spt))
        left -= holds
    raise AssertionError("the zones hold all sectors by construction")


def _seek_avg_ms(value: Mapping[str, float], tracks: list[int], per_zone: int,
                 cylinders: int) -> float:
    """The mean seek between two random sectors."""
    if value["rot/seek_avg_us"]:
        return value["rot/seek_avg_us"] / 1e3
    track, full = value["rot/seek_track_us"], value["rot/seek_full_us"]
    span = sqrt(cylinders - 1)
    if span <= 1:
        return track / 1e3

    def second_difference(distance: int) -> float:
        """The mean of sqrt|x - y| for x and y in two bands of width 1."""
        def power(x: int) -> float:
            return x * x * sqrt(abs(x))
        return 4 / 15 * (power(distance + 1) - 2 * power(distance) + power(distance - 1))

    middles = [(band + 0.5) * cylinders / BANDS for band in range(BANDS)]
    weights = [tracks[min(int(middle // per_zone), len(tracks) - 1)] for middle in middles]
    total = 0.0
    for distance in range(BANDS):
        pairs = sum(a * b for a, b in zip(weights, weights[distance:], strict=False))
        total += pairs * second_difference(distance) * (2 if distance else 1)
    root = total / sum(weights) ** 2 * sqrt(cylinders / BANDS)
    return (track + (full - track) * (root - 1) / (span - 1)) / 1e3
