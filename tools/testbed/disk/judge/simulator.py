# SPDX-License-Identifier: GPL-2.0
"""Runs DiskSim, built outside of the tree: its folder is that with src/ and valid/."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.testbed.disk.errors import DiskError

from .derive import BUS_MBPS, SECTOR
from .lists import Request

REPLAY = "replay"  # made by build, beside src/
LIMIT_S = 60

# What DiskSim is told beside the parameters of the drive: component, parameter, value. The page on
# this says why. Times are in milliseconds a sector.
OVERRIDES = (
    ("disk0", "Bulk sector transfer time", f"{SECTOR / BUS_MBPS / 1e3:g}"),
    ("bus*", "Read block transfer time", "0"),
    ("bus*", "Write block transfer time", "0"),
    ("disk0", "Fast write level", "0"),
    ("disk0", "Allow almost read hits", "1"),
)


def folder(path: str | None) -> Path:
    """The folder of DiskSim: the option, or else the environment's DISKSIM."""
    named = path or os.environ.get("DISKSIM")
    if not named:
        raise DiskError("no DiskSim: tools/testbed/disk/judge/build FOLDER makes one; "
                        "DISKSIM=PATH or --disksim names it")
    found = Path(named).resolve()
    if not (found / "valid").is_dir():
        raise DiskError(f"{found}: no folder of DiskSim: there is no valid/ in it")
    if not os.access(found / REPLAY, os.X_OK):
        raise DiskError(f"{found}: DiskSim is not built: tools/testbed/disk/judge/build {found}")
    return found


def replay(disksim: Path, drive: str, requests: Sequence[Request],
           more: Sequence[tuple[str, str]] = ()) -> list[int]:
    """Response times in nanoseconds, one request at a time. @more: names and values of the disk's parameters."""
    overrides = [word for one in OVERRIDES for word in one]
    overrides += [word for name, value in more for word in ("disk0", name, value)]
    with tempfile.TemporaryDirectory(prefix="disksim-") as scratch:
        for path in (disksim / "valid").iterdir():  # parameter files name each other, in the same folder
            if path.is_file() and not path.name.endswith((".trace", ".outv", ".srt")):
                (Path(scratch) / path.name).symlink_to(path)
        try:
            result = subprocess.run(
                [disksim / REPLAY, f"{drive}.parv", "output", *overrides], cwd=scratch, text=True,
                input="".join(f"{request}\n" for request in requests), capture_output=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise DiskError(f"DiskSim, {drive}: no end after {LIMIT_S} s") from None
    times = [int(line) for line in result.stdout.split("\n") if line.isdigit()]
    if result.returncode or len(times) != len(requests):
        said = (result.stderr or result.stdout).strip().splitlines()[-1:] or ["nothing"]
        raise DiskError(f"DiskSim, {drive}: {len(times)} of {len(requests)} requests were served; it says: {said[0]}")
    return times
