# SPDX-License-Identifier: GPL-2.0
"""Streams with reservations that run while trees are read; the lab's load generator makes them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tools.base.cli import ToolError
from tools.testbed.lab.model.units import GIB, MIB, NSEC_PER_MSEC, NSEC_PER_SEC, bw_ioprio
from tools.testbed.lab.run.stats import FIELDS, read_records

PLAYERS = 16
FAST = 10  # players of 3 MiB/s; the others have 1 MiB/s
DEADLINE_MS = 1000
FROM, TO = 0.02, 0.66  # the part of the disk that has the media files of the ageing
LENGTH = 4 * GIB


class Reads(NamedTuple):
    """@late: reads that completed later than a second after they were due, or were never issued"""

    reads: int
    late: int
    longest_ms: float


def rate(number: int) -> int:
    """Bytes per second, and of one read."""
    return (3 if number < FAST else 1) * MIB


def start_ns(number: int) -> int:
    """The players start within one second, one after the other."""
    return NSEC_PER_SEC * number // PLAYERS


def job_text(disk_bytes: int, duration_s: int) -> str:
    lines = ["device /dev/rot0", f"duration_ns {duration_s * NSEC_PER_SEC}"]
    for number in range(PLAYERS):
        # not in the order of the start times
        place = FROM + (TO - FROM) * (number * 7 % PLAYERS) / PLAYERS
        offset = int(place * disk_bytes) // MIB * MIB
        lines.append(f"stream name=player{number} size={rate(number)} period_ns={NSEC_PER_SEC} "
                     f"start_ns={start_ns(number)} direct=1 catch_up=1 regions={offset}:{LENGTH} "
                     f"ioprio={bw_ioprio(rate(number), DEADLINE_MS)}")
    return "\n".join(lines) + "\n"


def reads(folder: Path, duration_s: int) -> Reads:
    """The reads of all players, from the records of the load generator."""
    if not (folder / "done").is_file():
        raise ToolError(f"the players failed: {(folder / 'error').read_text().strip()}"
                        if (folder / "error").is_file() else "the players did not finish")
    issued = late = longest = 0
    for number in range(PLAYERS):
        records = read_records(folder / f"{number}.bin")
        waits = [end - due for due, end in zip(records[0::FIELDS], records[2::FIELDS], strict=True)]
        expected = -(-(duration_s * NSEC_PER_SEC - start_ns(number)) // NSEC_PER_SEC)
        in_time = sum(wait <= DEADLINE_MS * NSEC_PER_MSEC for wait in waits)
        issued += expected
        late += max(0, expected - in_time)
        longest = max(longest, *waits)
    return Reads(issued, late, longest / NSEC_PER_MSEC)
