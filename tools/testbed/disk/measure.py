# SPDX-License-Identifier: GPL-2.0
"""Measure a disk with O_DIRECT reads, by the kernel's clock, which the model uses, too."""

from __future__ import annotations

import mmap
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import DiskError

SEED = 1
SEQUENTIAL_BYTES = 512 * 1024


@contextmanager
def _opened(device: Path) -> Iterator[int]:
    try:
        fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        raise DiskError(f"{device}: {error.strerror}") from None
    try:
        yield fd
    finally:
        os.close(fd)


def random_read_ms(device: Path, nbytes: int, reads: int, depth: int = 1) -> float:
    """The mean time between two completions of random reads, at queue depth @depth."""
    with _opened(device) as fd:
        places = os.lseek(fd, 0, os.SEEK_END) // nbytes
        failed: list[OSError] = []

        def read(number: int, count: int) -> None:
            source = random.Random(SEED + number)
            buffer = mmap.mmap(-1, nbytes)
            try:
                for _ in range(count):
                    os.preadv(fd, [buffer], source.randrange(places) * nbytes)
            except OSError as error:
                failed.append(error)

        start = time.monotonic_ns()
        if depth == 1:
            read(0, reads)
        else:
            threads = [threading.Thread(target=read, args=(number, reads // depth))
                       for number in range(depth)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if failed:
            raise DiskError(f"{device}: a read failed: {failed[0].strerror}")
        return (time.monotonic_ns() - start) / (reads // depth * depth) / 1e6


def sequential_mbps(device: Path, offset: int, nbytes: int) -> float:
    """The rate of sequential reads, in 10^6 bytes per second; @offset < 0: at the end of the disk."""
    with _opened(device) as fd:
        if offset < 0:
            capacity = os.lseek(fd, 0, os.SEEK_END)
            offset = (capacity - nbytes - SEQUENTIAL_BYTES) // SEQUENTIAL_BYTES * SEQUENTIAL_BYTES
        if offset < 0:
            raise DiskError(f"{device}: too small for a sequential read of {nbytes} bytes")
        buffer = mmap.mmap(-1, SEQUENTIAL_BYTES)
        os.preadv(fd, [buffer], offset)  # positions the head
        start = time.monotonic_ns()
        done = 0
        while done < nbytes:
            offset += SEQUENTIAL_BYTES
            done += os.preadv(fd, [buffer], offset)
        return done * 1e3 / (time.monotonic_ns() - start)
