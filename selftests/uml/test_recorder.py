# SPDX-License-Identifier: GPL-2.0
"""Programs that write and sync on ext4, in virtual time: what they lose, and whether that is seen."""

from pathlib import Path

from selftests.uml.recorder import run

ALONE = {"players": 0, "copy": 0, "reader": 0}


def test_cameras_alone_lose_no_frame(kernel: Path) -> None:
    seen = run("cfq", {"secs": 10, **ALONE}, kernel=kernel)["cameras"]
    assert seen["lost"] == 0
    # of 25 frames a second, all but those before the phase of each
    assert 0.8 * 16 * 250 < seen["frames"] <= 16 * 250
    assert seen["bytes"] == seen["frames"] * 20_000


def test_cameras_that_write_more_than_the_disk_can_lose_frames(kernel: Path) -> None:
    """16 of 12.5 MB/s each; the disk has 105 at most, and memory has place for some seconds."""
    seen = run("none", {"secs": 20, "frame_bytes": 500_000, **ALONE}, kernel=kernel)["cameras"]
    assert 0.2 < seen["lost"] / seen["frames"] < 0.9


def test_same_run_has_the_same_figures(kernel: Path) -> None:
    one, other = (run("cfq", {"secs": 5, "database": 1}, kernel=kernel) for _ in range(2))
    assert one == other
    assert one["database"]["syncs"] > 0 and one["copy"]["bytes"] > 0 and one["reader"]["bytes"] > 0
