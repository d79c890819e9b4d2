# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: replays lists of requests on a modelled disk, and records the response times.

usage: guest.py FOLDER    reads FOLDER/job.json (attributes and lists), writes FOLDER/times.json (nanoseconds)
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.testbed.disk import device

from .lists import Request

SECTOR = 512


def replay(path: Path, requests: Sequence[Request]) -> list[int]:
    """The response times in nanoseconds, one request at a time."""
    largest = max(request.sectors for request in requests) * SECTOR
    memory = mmap.mmap(-1, largest)
    times = []
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    try:
        for request in requests:
            if request.think_us:
                time.sleep(request.think_us / 1e6)
            with memoryview(memory)[: request.sectors * SECTOR] as data:
                begin = time.monotonic_ns()
                if request.kind == "R":
                    done = os.preadv(fd, [data], request.sector * SECTOR)
                else:
                    done = os.pwritev(fd, [data], request.sector * SECTOR)
                times.append(time.monotonic_ns() - begin)
            if done != request.sectors * SECTOR:
                raise OSError(f"{path}: short transfer at sector {request.sector}")
    finally:
        os.close(fd)
    return times


def main(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    times = {}
    for name, requests in job["lists"].items():
        path = device.create(job["attributes"], "model")  # a new one for each list, with an empty cache
        try:
            times[name] = replay(path, [Request(*request) for request in requests])
        finally:
            device.remove("model")
    (folder / "times.json").write_text(json.dumps(times))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
