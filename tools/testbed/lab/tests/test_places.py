# SPDX-License-Identifier: GPL-2.0
"""Where processes read, and what they get there."""

from pathlib import Path

import numpy as np
import pytest

from tools.testbed.disk import characteristics
from tools.testbed.lab.report import places
from tools.user.blkviz.tables import Process, Requests

SECOND = 10**9
# cylinders of 1,000 sectors
DISK = characteristics.compute({"size": "1000", "rot/rpm": "6000", "rot/heads": "1", "rot/zones": "1",
                                "rot/track_outer_sectors": "1000", "rot/track_inner_sectors": "1000"})


def requests(*rows: tuple[int, float, float, int, int]) -> Requests:
    """Of each: process, when it was dispatched and completed (s), sector, bytes."""
    pid, sent, done, sector, length = (np.array(column) for column in zip(*rows, strict=True))
    sent, done = ((column * SECOND).astype(np.int64) for column in (sent, done))
    none = np.zeros(len(rows), np.int64)
    return Requests(pid, sent, sent, done, sector, length, none, none, none, none, none, none, none)


def test_the_drive_is_with_who_completes_next() -> None:
    found = places.places(
        requests((1, 0.0, 0.5, 500_000, 1 << 20), (2, 0.25, 1.0, 3_000, 1 << 20), (1, 1.5, 2.0, 501_000, 3 << 20),
                 (2, 2.0, 2.5, 2_000, 1 << 20)),
        [Process(1, "inner"), Process(2, "outer")], DISK, 0, 2.0)
    # the second waited for the first, and the disk for nobody for half a second; the last is after the end
    assert found == [("outer", 2, 0.5, 25.0), ("inner", 500, 2.0, 50.0)]


def test_places_are_drawn_with_what_is_said_of_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "picture.svg"
    text = places.drawn([places.Place("S.0", 2, 12.25, 25.0)], DISK, "where they lie", path).decode()
    assert all(word in text for word in ("S.0: 12.2 MiB/s", "25% of the time", "where they lie", "cylinder"))
