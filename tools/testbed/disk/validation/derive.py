# SPDX-License-Identifier: GPL-2.0
"""Derives the attributes of the disk model from DiskSim's parameters of a drive.

The attributes depend on the parameters only, and are not fitted to results of DiskSim. Where
DiskSim has a table and the model one number, the number is the mean.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from .parameters import Drive, Zone

SECTOR = 512
MIB = 1 << 20
BANDS = 128  # bands of cylinders, for means over two random sectors
BUS_MBPS = 40  # Ultra Wide SCSI, the usual bus of these drives
KNEES = range(1, 91)  # percent of the stroke; the model accepts up to 90


@dataclass(frozen=True)
class Attribute:
    """An attribute of the model, and the DiskSim parameter that it comes from."""

    key: str
    value: int
    source: str


@dataclass(frozen=True)
class Pairs:
    """The distances of two random sectors: a share @weights[i] of the pairs is @cylinders[i] apart."""

    cylinders: Sequence[float]
    weights: Sequence[float]

    def mean(self, values: Sequence[float]) -> float:
        return sum(value * weight for value, weight in zip(values, self.weights, strict=True))


@dataclass(frozen=True)
class Seeks:
    """The model's curve of seek times: milliseconds, and the knee in percent of the stroke."""

    track: float
    average: float
    full: float
    knee_percent: int
    error: float  # RMS distance of the curve from the measured times, over random pairs


def seek_ms(table: dict[int, float], cylinders: float) -> float:
    """A seek time, by linear interpolation of the measured ones."""
    if cylinders <= 0:
        return 0
    known = sorted(table)
    at = min(max(bisect_left(known, cylinders), 1), len(known) - 1)
    low, high = known[at - 1], known[at]
    share = min(max((cylinders - low) / (high - low), 0), 1)
    return table[low] + (table[high] - table[low]) * share


def random_pairs(parts: Sequence[Zone]) -> Pairs:
    """The distances of two random sectors, in bands of cylinders."""
    whole = sum(zone.cylinders for zone in parts)
    sectors = [_sectors_at(parts, (band + 0.5) * whole / BANDS) for band in range(BANDS)]
    total = sum(sectors)
    weights = []
    for apart in range(BANDS):
        pairs = sum(a * b for a, b in zip(sectors, sectors[apart:], strict=False))
        weights.append(pairs * (2 if apart else 1) / total ** 2)
    # two random sectors of the same band are a third of the band apart
    return Pairs([(apart or 1 / 3) * whole / BANDS for apart in range(BANDS)], weights)


def _sectors_at(parts: Sequence[Zone], cylinder: float) -> float:
    for zone in parts:
        if cylinder < zone.cylinders:
            return zone.sectors
        cylinder -= zone.cylinders
    return parts[-1].sectors


def sector_line(parts: Sequence[Zone]) -> tuple[float, float]:
    """The sectors per track of the first and the last zone of the model, whose zones have the same width.

    They are the ends of the straight line that is closest to the drive's zones. The line has the
    mean of these zones, and so the drive's number of cylinders.
    """
    whole = sum(zone.cylinders for zone in parts)
    mean = sum(zone.cylinders * zone.sectors for zone in parts) / whole
    first, covariance, variance = 0, 0.0, whole ** 3 / 12
    for zone in parts:
        middle = first + zone.cylinders / 2 - whole / 2
        covariance += zone.cylinders * middle * (zone.sectors - mean)
        first += zone.cylinders
    reach = (whole - whole / len(parts)) / 2
    return mean - covariance / variance * reach, mean + covariance / variance * reach


def seek_law(table: dict[int, float], pairs: Pairs, stroke: int) -> Seeks:
    """The curve of the model that is closest to the measured times, with the same mean and ends."""
    measured = [seek_ms(table, distance) for distance in pairs.cylinders]
    track, average, full = table[1], pairs.mean(measured), seek_ms(table, stroke)
    best = Seeks(track, average, full, 0, float("inf"))
    for percent in KNEES:
        knee = percent * stroke / 100
        beyond = [max(0.0, (distance - knee) / (stroke - knee)) for distance in pairs.cylinders]
        roots = [(sqrt(max(1.0, min(distance, knee))) - 1) * (1 - part)
                 for distance, part in zip(pairs.cylinders, beyond, strict=True)]
        slope = (average - track - pairs.mean(beyond) * (full - track)) / pairs.mean(roots)
        if slope < 0 or track + slope * (sqrt(knee) - 1) > full:
            continue
        law = [track + slope * root + (full - track) * part
               for root, part in zip(roots, beyond, strict=True)]
        error = sqrt(pairs.mean([(a - b) ** 2 for a, b in zip(law, measured, strict=True)]))
        if error < best.error:
            best = Seeks(track, average, full, percent, error)
    return best


def _skew_us(parts: Sequence[Zone], revolution_ms: float, cylinder: bool) -> int:
    """The mean skew in microseconds; DiskSim has it in sectors, by zone."""
    whole = sum(zone.cylinders for zone in parts)
    turn = sum(zone.cylinders * (zone.cylinder_skew if cylinder else zone.track_skew) / zone.sectors
               for zone in parts) / whole
    return round(turn * revolution_ms * 1e3)


def attributes(drive: Drive) -> list[Attribute]:
    """The attributes of the model, in the order of configs/disks."""
    model, specs, arm = drive.model, drive.specs, drive.model["Mechanical Model"]
    parts = drive.zones
    revolution_ms = 60e3 / arm["Rotation speed (in rpms)"]
    outer, inner = sector_line(parts)
    stroke = int(model["Number of cylinders"]) - 1
    seeks = seek_law(drive.seeks, random_pairs(parts), stroke)
    read_ms = (specs["Read miss over. after read"] + specs["Read miss over. after write"]) / 2
    write_ms = (specs["Write miss over. after read"] + specs["Write miss over. after write"]) / 2
    settle_ms = arm["Add. write settling delay"] + write_ms - read_ms
    segments, blocks = int(specs["Number of buffer segments"]), int(specs["Segment size (in blks)"])
    heads = int(model["Number of data surfaces"])
    measured = "Full seek curve"
    found = [
        ("size", int(model["Block count"]) * SECTOR // MIB, "Block count"),
        ("rot/rpm", arm["Rotation speed (in rpms)"], "Rotation speed (in rpms)"),
        ("rot/heads", heads, "Number of data surfaces"),
        ("rot/zones", len(parts), "Zones; the model's have the same width"),
        ("rot/track_outer_sectors", outer, "Blocks per track: the line closest to the zones"),
        ("rot/track_inner_sectors", inner, "the same"),
        ("rot/seek_track_us", seeks.track * 1e3, f"{measured}: one cylinder"),
        ("rot/seek_avg_us", seeks.average * 1e3, f"{measured}: mean over two random sectors"),
        ("rot/seek_full_us", seeks.full * 1e3, f"{measured}: its end"),
        ("rot/seek_knee_percent", seeks.knee_percent,
         f"{measured}: the knee closest to it, {seeks.error * 1e3:.0f} us RMS"),
        ("rot/head_switch_us", arm["Head switch time"] * 1e3, "Head switch time"),
        ("rot/head_skew_us", _skew_us(parts, revolution_ms, False), "Skew for track switch: mean"),
        ("rot/track_skew_us", _skew_us(parts, revolution_ms, True), "Skew for cylinder switch: mean"),
        ("rot/write_settle_us", max(0.0, settle_ms * 1e3),
         "Add. write settling delay, and the miss overheads of writes less those of reads"),
        ("rot/read_on_arrival", int(specs["Immediate buffer read"] > 0), "Immediate buffer read"),
        ("rot/overhead_us", read_ms * 1e3, "Read miss over. after read and after write: mean"),
        ("rot/bus_mbps", BUS_MBPS, "none: Ultra Wide SCSI, which DiskSim uses, too"),
        ("rot/cache_kb", max(4 * segments, segments * blocks // 2), "Number of buffer segments, Segment size"),
        ("rot/cache_segments", segments, "Number of buffer segments"),
    ]
    return [Attribute(key, round(value), source) for key, value, source in found]


# The same for all drives: one command at a time, and no write cache.
COMMON = {"irqmode": "3", "rot/write_back": "0", "rot/sched": "fcfs", "hw_queue_depth": "1",
          "max_sectors": "1024"}


def preset(drive: Drive) -> dict[str, str]:
    """The attributes of a device."""
    return COMMON | {one.key: str(one.value) for one in attributes(drive)}


def as_text(drive: Drive) -> str:
    """The preset in the format of configs/disks, each value with its parameter."""
    lines = [f"# {drive.name}, derived from DiskSim's parameters", ""]
    lines += [f"{key} = {value}" for key, value in COMMON.items()]
    lines += [f"{f'{one.key} = {one.value}':<32}# {one.source}" for one in attributes(drive)]
    return "\n".join(lines)
