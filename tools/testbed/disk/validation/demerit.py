# SPDX-License-Identifier: GPL-2.0
"""Compares two lists of response times: the means, and the distance of the distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean

from tools.base import text

MEAN_BOUND = 0.05
DEMERIT_BOUND = 0.10


def demerit(model: Sequence[float], disksim: Sequence[float]) -> float:
    """The RMS horizontal distance of two distributions, as a share of DiskSim's mean.

    Both have the same number of values: the distance at each height is that of two values of the
    same rank.
    """
    squares = [(a - b) ** 2 for a, b in zip(sorted(model), sorted(disksim), strict=True)]
    return sqrt(fmean(squares)) / fmean(disksim)


@dataclass(frozen=True)
class Verdict:
    """The comparison for a drive and a list; means in milliseconds."""

    drive: str
    requests: str
    disksim_ms: float
    model_ms: float
    demerit: float

    @property
    def deviation(self) -> float:
        return self.model_ms / self.disksim_ms - 1

    @property
    def ok(self) -> bool:
        return abs(self.deviation) <= MEAN_BOUND and self.demerit < DEMERIT_BOUND

    def as_json(self) -> dict[str, object]:
        values = asdict(self)
        # programs know the mean of DiskSim under this name
        return {"judge_ms": values.pop("disksim_ms"), **values, "deviation": self.deviation, "ok": self.ok}


def verdict(drive: str, requests: str, model_ns: Sequence[int], disksim_ns: Sequence[int]) -> Verdict:
    return Verdict(drive, requests, fmean(disksim_ns) / 1e6, fmean(model_ns) / 1e6, demerit(model_ns, disksim_ns))


HEADER = ["drive", "requests", "DiskSim, ms", "model, ms", f"mean, <= {MEAN_BOUND:.0%}",
          f"demerit, < {DEMERIT_BOUND:.0%}", "bounds"]


def rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    return [[one.drive, one.requests, f"{one.disksim_ms:.3f}", f"{one.model_ms:.3f}", f"{one.deviation:+.1%}",
             f"{one.demerit:.1%}", "ok" if one.ok else "FAILED"] for one in verdicts]


def table(verdicts: Sequence[Verdict]) -> str:
    """The table for a terminal."""
    return text.table(HEADER, rows(verdicts), "llrrrrr")


def markdown(verdicts: Sequence[Verdict]) -> str:
    """The table for the page."""
    return text.markdown(HEADER, rows(verdicts))
