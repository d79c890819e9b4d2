# SPDX-License-Identifier: GPL-2.0
"""How many streams a disk can be promised to: the sum in Documentation/queue/administrators.md.

A stream reads a second's worth once a second. What a second of the disk has to hold is the
data of all of them, at the rate of the innermost cylinders, a positioning for each, and best
effort's share. Nobody's read is late where that leaves a margin.
"""

from __future__ import annotations

from collections.abc import Sequence

from .characteristics import MIB, Characteristics

SHARE_PERCENT = 95  # what bw_share_percent is unless it is set
MARGIN = 0.1  # of the disk's time: few streams, estimates, what the drive does on its own


def positioning_ms(disk: Characteristics) -> float:
    """What one read of a sweep costs beside its data, in milliseconds.

    n reads in one sweep are a nth of the stroke apart, and seeks take the root of the way:
    the average seek, which is of a third, times the root of 3/n. Half of it is enough for
    a dozen streams or more. What fewer lack, the margin has: one and a half average seeks
    a second at most.
    """
    return disk.seek_avg_ms / 2 + disk.revolution_ms / 2 + disk.overhead_ms


def load(rates: Sequence[float], inner: float, each_ms: float, share_percent: float = SHARE_PERCENT) -> float:
    """The share of the disk's time that is promised, or best effort's: 1 is all of it.

    @rates: of the streams, in MiB a second
    @inner: the rate of the innermost cylinders that hold files of theirs, in MiB a second
    @each_ms: a positioning, in milliseconds
    @share_percent: what bw_share_percent is
    """
    return sum(rates) / inner + len(rates) * each_ms / 1e3 + 1 - share_percent / 100


def admits(rates: Sequence[float], inner: float, each_ms: float, share_percent: float = SHARE_PERCENT) -> bool:
    """Whether the disk can be promised to streams of these rates; units as in load()."""
    return load(rates, inner, each_ms, share_percent) <= 1 - MARGIN


def inner_mib(disk: Characteristics) -> float:
    """The rate of the innermost cylinders, in MiB a second."""
    return disk.inner_mbps * 1e6 / MIB


def most(rates: Sequence[float], rate: float, disk: Characteristics) -> int:
    """How many streams of @rate can be beside those of @rates, in MiB a second, wherever their files are."""
    count = 0
    while admits([*rates, *[rate] * (count + 1)], inner_mib(disk), positioning_ms(disk)):
        count += 1
    return count
