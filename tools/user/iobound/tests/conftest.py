# SPDX-License-Identifier: GPL-2.0
"""What the tests of iobound share: traces, and work without one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.testbed.lab.tests.conftest import kernel
from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import model, parse, synth
from tools.user.blkviz.parse import Source
from tools.user.iobound import work
from tools.user.iobound.work import Request, Work

__all__ = ["kernel"]

MS = 1_000_000
SECOND = 1000 * MS
SCATTERED = 240


@dataclass
class Story:
    """A trace, and what of it must be found: requests in the order of dispatch, each with its segment."""

    writer: synth.Writer = field(default_factory=synth.Writer)
    requests: list[Request] = field(default_factory=list)

    def work(self) -> Work:
        return work.of_model(model.build(parse.parse([Source("test", self.writer.together())])))


def random_story(seed: int, most: int = 12) -> Story:
    """Requests of several processes, some at the same time; barriers; and what is no data."""
    draw, story, found = random.Random(seed), Story(), []
    begin = synth.START_NS
    barriers = sorted(draw.randrange(SECOND) for _ in range(draw.randrange(3)))
    lines: list[tuple[int, Callable[[], None]]] = []

    def later(time: int, action: int, sector: int, length: int, pid: int, category: int) -> None:
        lines.append((time, lambda: story.writer.event(begin + time, action, sector, length, pid=pid,
                                                       category=category)))

    for barrier in barriers:
        lines.append((barrier, lambda time=barrier: story.writer.message(  # type: ignore[misc]
            begin + time, draw.choice(("barrier", "barrier\n")))))
    lines.append((7, lambda: story.writer.message(begin + 7, "barrier 1")))
    free = list(range(0, 4000, 16))
    draw.shuffle(free)
    for number in range(draw.randrange(1, most)):
        queued = draw.randrange(SECOND)
        sent = queued + draw.randrange(1, 50 * MS)
        kind = fmt.READ if number == 0 else draw.choice(
            [fmt.READ, fmt.WRITE, fmt.READ | fmt.META, fmt.DISCARD | fmt.WRITE, fmt.FLUSH])
        # none meets another, unless it is the same again
        sector = free.pop()
        length = 0 if kind & fmt.FLUSH else draw.randrange(1, 17) * 512
        for time, action in ((queued, fmt.QUEUE), (sent, fmt.ISSUE), (sent + 5 * MS, fmt.COMPLETE)):
            later(time, action, sector, length, 100 + number % 3, kind)
        if length and not kind & fmt.DISCARD:
            segment = sum(barrier < queued for barrier in barriers)
            found.append((sent, Request(sector, length // 512, segment)))
    for _, write in sorted(lines, key=lambda line: line[0]):
        write()
    story.requests = [request for _, request in sorted(found, key=lambda one: one[0])]
    return story


class Walk:
    """A process that makes calls; each request completes before the next event by default.

    @step: ns between two events; 0 is a clock that stands still
    @place: the sector of the request with a number
    """

    def __init__(self, step: int = MS, place: Callable[[int], int] = lambda number: 1000 * (number + 1)) -> None:
        self.writer, self.step, self.place, self.now = synth.Writer(), step, place, synth.START_NS
        self.sectors: dict[str, int] = {}

    def _tick(self) -> int:
        self.now += self.step
        return self.now

    def note(self, text: str, pid: int = 100) -> None:
        self.writer.message(self._tick(), text, pid=pid)

    def enter(self, operation: str, inode: int, pid: int = 100) -> None:
        self.note(f"enter vfs_{operation} ino {inode} off 0 len 0", pid)

    def leave(self, operation: str, inode: int, pid: int = 100) -> None:
        self.note(f"leave vfs_{operation} ino {inode} ret 0", pid)

    def begin(self, *names: str, pid: int = 100, category: int = fmt.READ) -> None:
        """Queue and dispatch requests."""
        for name in names:
            self.sectors[name] = self.place(len(self.sectors))
        for action in (fmt.QUEUE, fmt.ISSUE):
            for name in names:
                self.writer.event(self._tick(), action, self.sectors[name], 4096, pid=pid, category=category)

    def end(self, *names: str) -> None:
        for name in names:
            self.writer.event(self._tick(), fmt.COMPLETE, self.sectors[name], 4096, pid=0)

    def call(self, operation: str, inode: int, *names: str, pid: int = 100, category: int = fmt.READ) -> None:
        """A whole call, with its requests in the drive at the same time."""
        self.enter(operation, inode, pid)
        self.begin(*names, pid=pid, category=category)
        self.end(*names)
        self.leave(operation, inode, pid)

    def work(self) -> Work:
        return work.of_model(model.build(parse.parse([Source("test", self.writer.together())])))


def scattered(folder: Path) -> Path:
    """A recording of small reads all over the first 400 GiB, with a barrier in the middle."""
    draw, writer = random.Random(1), synth.Writer()
    for number, sector in enumerate(draw.sample(range(0, 800_000_000, 8), SCATTERED)):
        begin = synth.START_NS + number * 20 * MS
        if number == SCATTERED // 2:
            writer.message(begin - 1000, "barrier")
        writer.request((begin, begin + 1000, begin + 12 * MS), sector, 4096)
    return writer.save(folder)


def places(requests: Sequence[Request]) -> list[tuple[int, int]]:
    return [(one.sector, one.sectors) for one in requests]
