# SPDX-License-Identifier: GPL-2.0
"""The speeds of a disk: measured, compared with computed and with rated values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.base import text

from . import characteristics, device, measure

READS = 4000
SEQUENTIAL = 128 << 20
QUEUE_DEPTH = 32
QUEUE_GAIN = 2.0


@dataclass
class Answer:
    """A measured speed and the expected one."""

    name: str
    unit: str
    measured: float
    expected: float
    tolerance: float  # share of the expected value; 0: the expected value is a lower limit
    source: str  # computed or rated

    @property
    def deviation(self) -> float:
        return self.measured / self.expected - 1

    @property
    def ok(self) -> bool:
        if not self.tolerance:
            return self.measured >= self.expected
        return abs(self.deviation) <= self.tolerance

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "deviation": self.deviation, "ok": self.ok}


def _twin_ms(attributes: Mapping[str, str], queue: str, reads: int) -> float:
    """The mean time of random reads at QUEUE_DEPTH, on a temporary copy of a disk with another order of service."""
    name = f"disk-check-{os.getpid()}"
    twin = {**attributes, "rot/sched": queue, "hw_queue_depth": str(QUEUE_DEPTH),
            "memory_backed": "0", "discard": "0"}
    path = device.create(twin, name)
    try:
        return measure.random_read_ms(path, 4096, reads, QUEUE_DEPTH)
    finally:
        device.remove(name)


def check(name: str, rated: Mapping[str, float], reads: int = READS,
          progress: Callable[[str], None] | None = None) -> list[Answer]:
    """Measure all speeds of device @name; the device is only read."""
    report = progress or (lambda text: None)
    attributes = device.attributes_of(name)
    path = Path("/dev") / name.removeprefix("/dev/")
    computed = characteristics.compute(attributes)
    answers: list[Answer] = []

    report("random reads of 4 KiB")
    small = measure.random_read_ms(path, 4096, reads)
    report("random reads of 64 KiB")
    large = measure.random_read_ms(path, 65536, reads)
    report("sequential reads")
    outer = measure.sequential_mbps(path, 0, SEQUENTIAL)
    inner = measure.sequential_mbps(path, -1, SEQUENTIAL)
    report(f"queueing, depth {QUEUE_DEPTH}")
    fcfs = _twin_ms(attributes, "fcfs", reads)
    rpo = _twin_ms(attributes, "rpo", reads)

    answers += [
        Answer("random read 4 KiB", "ms", small, computed.random_ms(4096), 0.02, "computed"),
        Answer("random read 64 KiB", "ms", large, computed.random_ms(65536), 0.02, "computed"),
        Answer("sequential, outer edge", "MB/s", outer, computed.outer_mbps, 0.01, "computed"),
        Answer("sequential, inner edge", "MB/s", inner, computed.inner_mbps, 0.01, "computed"),
        Answer("gain of rpo at depth 32", "x", fcfs / rpo, QUEUE_GAIN, 0, "computed"),
    ]
    against = {
        "outer_mbps": ("sequential, outer edge", "MB/s", outer, 0.01),
        "inner_mbps": ("sequential, inner edge", "MB/s", inner, 0.01),
        "random_4k_ms": ("random read 4 KiB", "ms", small, 0.02),
        "random_4k_kib_s": ("random read 4 KiB", "KiB/s", 4e3 / small, 0.05),
        "random_64k_kib_s": ("random read 64 KiB", "KiB/s", 64e3 / large, 0.05),
    }
    for key, value in rated.items():
        what, unit, measured, tolerance = against[key]
        answers.append(Answer(what, unit, measured, value, tolerance, "rated"))
    return answers


def table(answers: list[Answer]) -> str:
    return text.table(
        ["value", "measured", "expected", "", "deviation", "source"],
        [[answer.name, f"{answer.measured:.2f}",
          f"{answer.expected:.2f}" if answer.tolerance else f">= {answer.expected:.2f}", answer.unit,
          f"{answer.deviation:+.1%}" if answer.tolerance else "",
          answer.source + ("" if answer.ok else "  FAILED")] for answer in answers])
