# SPDX-License-Identifier: GPL-2.0
"""Runs DiskSim, which is built outside of this tree; its folder has src/ and valid/."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.testbed.disk.errors import DiskError

from .derive import BUS_MBPS, SECTOR
from .lists import Request

REPLAY = "replay"  # program that `build` makes, next to src/
LIMIT_S = 60

# Changed parameters: component, parameter, value; disk-validation.md has the reasons. Times are in
# milliseconds per sector.
OVERRIDES = (
    ("disk0", "Bulk sector transfer time", f"{SECTOR / BUS_MBPS / 1e3:g}"),
    ("bus*", "Read block transfer time", "0"),
    ("bus*", "Write block transfer time", "0"),
    ("disk0", "Fast write level", "0"),
    ("disk0", "Allow almost read hits", "1"),
)


def folder(path: str | None) -> Path:
    """The folder of DiskSim: the option, else $DISKSIM."""
    named = path or os.environ.get("DISKSIM")
    if not named:
        raise DiskError("DiskSim is not set: build it with tools/testbed/disk/validation/build FOLDER, "
                        "and set DISKSIM=PATH or --disksim")
    found = Path(named).resolve()
    if not (found / "valid").is_dir():
        raise DiskError(f"{found}: not a folder of DiskSim: it has no valid/")
    if not os.access(found / REPLAY, os.X_OK):
        raise DiskError(f"{found}: DiskSim is not built: run tools/testbed/disk/validation/build {found}")
    return found


def replay(disksim: Path, drive: str, requests: Sequence[Request],
           more: Sequence[tuple[str, str]] = ()) -> list[int]:
    """The response times in nanoseconds. @more: changed parameters of the disk."""
    overrides = [word for one in OVERRIDES for word in one]
    overrides += [word for name, value in more for word in ("disk0", name, value)]
    with tempfile.TemporaryDirectory(prefix="disksim-") as scratch:
        for path in (disksim / "valid").iterdir():  # parameter files refer to each other, in the same folder
            if path.is_file() and not path.name.endswith((".trace", ".outv", ".srt")):
                (Path(scratch) / path.name).symlink_to(path)
        try:
            result = subprocess.run(
                [disksim / REPLAY, f"{drive}.parv", "output", *overrides], cwd=scratch, text=True,
                input="".join(f"{request}\n" for request in requests), capture_output=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise DiskError(f"DiskSim, {drive}: did not end within {LIMIT_S} s") from None
    times = [int(line) for line in result.stdout.split("\n") if line.isdigit()]
    if result.returncode or len(times) != len(requests):
        last = (result.stderr or result.stdout).strip().splitlines()[-1:] or ["none"]
        raise DiskError(f"DiskSim, {drive}: {len(times)} of {len(requests)} requests were served; "
                        f"last output: {last[0]}")
    return times
