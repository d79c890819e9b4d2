# SPDX-License-Identifier: GPL-2.0
"""Players beside which trees are read: streams with reservations, by the laboratory's load generator."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tools.base.cli import ToolError
from tools.testbed.lab.model.units import GIB, MIB, NSEC_PER_MSEC, NSEC_PER_SEC, bw_ioprio
from tools.testbed.lab.run.stats import FIELDS, read_records

PLAYERS = 16
FAST = 10  # of them read 3 MiB/s, the others 1 MiB/s
DEADLINE_MS = 1000
FROM, TO = 0.02, 0.66  # of the disk: where the ageing has put its media files
LENGTH = 4 * GIB


class Judged(NamedTuple):
    """@late: reads whose data was not there a second after they were due, and those that were never made"""

    reads: int
    late: int
    longest_ms: float


def rate(number: int) -> int:
    """Bytes a second, and so of one read."""
    return (3 if number < FAST else 1) * MIB


def start_ns(number: int) -> int:
    """Starts are spread over a second."""
    return NSEC_PER_SEC * number // PLAYERS


def job_text(disk_bytes: int, duration_s: int) -> str:
    lines = ["device /dev/rot0", f"duration_ns {duration_s * NSEC_PER_SEC}"]
    for number in range(PLAYERS):
        # not in the order of their starts
        place = FROM + (TO - FROM) * (number * 7 % PLAYERS) / PLAYERS
        offset = int(place * disk_bytes) // MIB * MIB
        lines.append(f"stream name=player{number} size={rate(number)} period_ns={NSEC_PER_SEC} "
                     f"start_ns={start_ns(number)} direct=1 catch_up=1 regions={offset}:{LENGTH} "
                     f"ioprio={bw_ioprio(rate(number), DEADLINE_MS)}")
    return "\n".join(lines) + "\n"


def judge(folder: Path, duration_s: int) -> Judged:
    """What the load generator left."""
    if not (folder / "done").is_file():
        raise ToolError(f"the players did not come to their end: {(folder / 'error').read_text().strip()}"
                        if (folder / "error").is_file() else "the players did not come to their end")
    reads = late = longest = 0
    for number in range(PLAYERS):
        records = read_records(folder / f"{number}.bin")
        waits = [end - due for due, end in zip(records[0::FIELDS], records[2::FIELDS], strict=True)]
        expected = -(-(duration_s * NSEC_PER_SEC - start_ns(number)) // NSEC_PER_SEC)
        in_time = sum(wait <= DEADLINE_MS * NSEC_PER_MSEC for wait in waits)
        reads += expected
        late += max(0, expected - in_time)
        longest = max(longest, *waits)
    return Judged(reads, late, longest / NSEC_PER_MSEC)
