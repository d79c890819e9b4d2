# SPDX-License-Identifier: GPL-2.0
"""How a result compares with that of a baseline, as one number of which more is worse."""

from __future__ import annotations

from collections.abc import Iterable

# A scheduler cannot be everybody's best at once. So a baseline that is better in one respect counts if our score in
# another one is at least this.
NO_WORSE = 0.9


def ratio(ours: float, theirs: float, more_is_better: bool) -> float:
    """How many times worse @ours is than @theirs: 1 is equal, 2 is half as good. x/0 is x itself, and 0/0 is 1."""
    above, below = (theirs, ours) if more_is_better else (ours, theirs)
    if not below:
        return above if above else 1.0
    return above / below


def best(values: Iterable[tuple[str, float]], more_is_better: bool) -> tuple[str, float]:
    """The name and value of the best of several baselines; of equal ones the first."""
    found = list(values)
    return (max if more_is_better else min)(found, key=lambda one: one[1])
