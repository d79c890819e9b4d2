# SPDX-License-Identifier: GPL-2.0
"""How many streams a disk can serve: the sum in Documentation/queue/administrators.md.

A stream reads the data of one second once a second. A second of the disk's time is the sum of the
transfer of all streams at the rate of the innermost cylinders, a positioning for each, and the
share of best effort. No read misses its deadline if a margin remains.
"""

from __future__ import annotations

from collections.abc import Sequence

from .characteristics import MIB, Characteristics

SHARE_PERCENT = 95  # the default of bw_share_percent
MARGIN = 0.1  # share of the disk's time: for few streams, estimates, and the drive's own work


def positioning_ms(disk: Characteristics) -> float:
    """The positioning time of one read of a sweep, in milliseconds.

    n reads of one sweep are 1/n of the stroke apart, and the seek time grows with the root of the
    distance. So a seek takes the average seek, which is a third of the stroke, times the root of
    3/n: half of it for a dozen streams, less for more. For fewer streams the margin covers the
    rest, at most one and a half average seeks a second.
    """
    return disk.seek_avg_ms / 2 + disk.revolution_ms / 2 + disk.overhead_ms


def load(rates: Sequence[float], inner: float, each_ms: float, share_percent: float = SHARE_PERCENT) -> float:
    """The share of the disk's time that streams and best effort need; 1 is all of it.

    @rates: rates of the streams, in MiB/s
    @inner: rate of the innermost cylinders that have files of the streams, in MiB/s
    @each_ms: positioning time, in milliseconds
    @share_percent: value of bw_share_percent
    """
    return sum(rates) / inner + len(rates) * each_ms / 1e3 + 1 - share_percent / 100


def admits(rates: Sequence[float], inner: float, each_ms: float, share_percent: float = SHARE_PERCENT) -> bool:
    """Whether the disk can serve streams of these rates; units as in load()."""
    return load(rates, inner, each_ms, share_percent) <= 1 - MARGIN


def inner_mib(disk: Characteristics) -> float:
    """The rate of the innermost cylinders, in MiB/s."""
    return disk.inner_mbps * 1e6 / MIB


def most(rates: Sequence[float], rate: float, disk: Characteristics) -> int:
    """How many streams of @rate the disk can serve besides those of @rates, in MiB/s, wherever their files are."""
    count = 0
    while admits([*rates, *[rate] * (count + 1)], inner_mib(disk), positioning_ms(disk)):
        count += 1
    return count
