# SPDX-License-Identifier: GPL-2.0
"""Lists of requests: the same for the same size of the disk."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SEED = 1
REQUESTS = 2000
SMALL, LARGE = 8, 128  # sectors: 4 KiB and 64 KiB
RUNS, RUN_LENGTH = 16, 64  # sequential: evenly spread runs, and requests of each
SIZES = (8, 16, 32, 64, 128, 256)
THINK_US = 10000  # mixed: the longest time between two requests
PHASES = ("random read",) * 5 + ("random write",) * 2 + ("sequential reads", "sequential writes")
PHASE_LENGTH = 8  # requests of a sequential phase, at most


@dataclass(frozen=True)
class Request:
    """A request, and the think time between the completion of the request before and this one."""

    kind: str  # R or W
    sector: int
    sectors: int
    think_us: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.sector} {self.sectors} {self.think_us}"


def kinds(requests: Sequence[Request]) -> list[str]:
    """The kind of each request; sequential: it continues the request before, in the same direction."""
    found = []
    for number, request in enumerate(requests):
        before = requests[number - 1] if number else None
        follows = before and (before.kind, before.sector + before.sectors) == (request.kind, request.sector)
        found.append(f"{'sequential' if follows else 'random'} {'reads' if request.kind == 'R' else 'writes'}")
    return found


def _place(source: random.Random, capacity: int, room: int) -> int:
    """A random sector, aligned to 4 KiB, with @room sectors from there to the end."""
    return source.randrange((capacity - room) // SMALL + 1) * SMALL


def random_reads(capacity: int) -> list[Request]:
    """Reads of 4 KiB anywhere."""
    source = random.Random(SEED)
    return [Request("R", _place(source, capacity, SMALL), SMALL) for _ in range(REQUESTS)]


def sequential_reads(capacity: int) -> list[Request]:
    """Reads of 64 KiB in order, at places from the outer edge to the inner one."""
    room = RUN_LENGTH * LARGE
    starts = [(capacity - room) * run // (RUNS - 1) // SMALL * SMALL for run in range(RUNS)]
    return [Request("R", start + number * LARGE, LARGE) for start in starts for number in range(RUN_LENGTH)]


def mixed(capacity: int) -> list[Request]:
    """Random reads and writes of several sizes, sequential runs of both, and pauses."""
    source = random.Random(SEED)
    found: list[Request] = []
    while len(found) < REQUESTS:
        what, _, order = source.choice(PHASES).partition(" ")
        length = source.randint(2, PHASE_LENGTH) if what == "sequential" else 1
        sectors = source.choice(SIZES)
        start = _place(source, capacity, length * sectors)
        kind = "W" if order.startswith("write") else "R"
        found += [Request(kind, start + number * sectors, sectors, source.randrange(THINK_US))
                  for number in range(length)]
    return found[:REQUESTS]


LISTS: dict[str, Callable[[int], list[Request]]] = {
    "random": random_reads,
    "sequential": sequential_reads,
    "mixed": mixed,
}
