# SPDX-License-Identifier: GPL-2.0
"""Two lists of response times: means, and the distance of their distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean

from tools.base import text

MEAN_BOUND = 0.05
DEMERIT_BOUND = 0.10


def demerit(model: Sequence[float], judge: Sequence[float]) -> float:
    """The RMS horizontal distance of two distributions, as a share of the judge's mean.

    Both have the same number of values: the distance at each height is that of two values of the
    same rank.
    """
    squares = [(a - b) ** 2 for a, b in zip(sorted(model), sorted(judge), strict=True)]
    return sqrt(fmean(squares)) / fmean(judge)


@dataclass(frozen=True)
class Verdict:
    """A drive and a list; means in milliseconds."""

    drive: str
    requests: str
    judge_ms: float
    model_ms: float
    demerit: float

    @property
    def deviation(self) -> float:
        return self.model_ms / self.judge_ms - 1

    @property
    def ok(self) -> bool:
        return abs(self.deviation) <= MEAN_BOUND and self.demerit < DEMERIT_BOUND

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "deviation": self.deviation, "ok": self.ok}


def verdict(drive: str, requests: str, model_ns: Sequence[int], judge_ns: Sequence[int]) -> Verdict:
    return Verdict(drive, requests, fmean(judge_ns) / 1e6, fmean(model_ns) / 1e6, demerit(model_ns, judge_ns))


HEADER = ["drive", "requests", "DiskSim, ms", "model, ms", f"mean, <= {MEAN_BOUND:.0%}",
          f"demerit, < {DEMERIT_BOUND:.0%}", "bounds"]


def rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    return [[one.drive, one.requests, f"{one.judge_ms:.3f}", f"{one.model_ms:.3f}", f"{one.deviation:+.1%}",
             f"{one.demerit:.1%}", "ok" if one.ok else "FAILED"] for one in verdicts]


def table(verdicts: Sequence[Verdict]) -> str:
    """For people."""
    return text.table(HEADER, rows(verdicts), "llrrrrr")


def markdown(verdicts: Sequence[Verdict]) -> str:
    """For the page."""
    return text.markdown(HEADER, rows(verdicts))
