# SPDX-License-Identifier: GPL-2.0
"""Parses rates with units."""

from __future__ import annotations

import re

from .errors import NoTraceError

FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]i?|)B?(?:/s)?")


def reservation(text: str) -> tuple[str, int]:
    """Parse NAME=RATE into the name and bytes per second; a rate is 3M, 3MiB or 3MiB/s."""
    name, _, rate = text.rpartition("=")
    match = _RATE.fullmatch(rate.replace("K", "k"))
    if not name or not match:
        raise NoTraceError(f"--reserved {text}: give NAME=RATE, e.g. player=3MiB")
    return name, round(float(match[1]) * FACTORS[match[2]])
