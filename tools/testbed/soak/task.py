# SPDX-License-Identifier: GPL-2.0
"""Runs one guest, and checks its samples while it runs."""

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

from tools.base.cli import EXIT_FAILED, EXIT_USAGE, ToolError
from tools.base.paths import BUILD, TOOLS
from tools.testbed.vm import build_static
from tools.testbed.vm.uml import Guests, Stopped, scratch

from . import load
from .invariants import Checker, Violation
from .load import Bounds
from .samples import BadSample, Event, Reader, Sample

GUEST = TOOLS / "testbed/soak/guest"
INIT = BUILD / "soak" / "soak"
POLL_S = 0.2


class SoakGuests(Guests):
    """Guests that are pinned to one CPU each, with slab caches that are not merged.

    Only one process of a guest runs at a time; waking it on another CPU than the last takes four
    times as long.
    """

    def __init__(self, kernel: Path, init: Path, limit_s: float) -> None:
        super().__init__(kernel, init, limit_s, options=("slab_nomerge",))
        # the first CPU last: it serves most interrupts of the host
        self.cpus: Queue[int] = Queue()
        for cpu in sorted(os.sched_getaffinity(0), reverse=True):
            self.cpus.put(cpu)
        self.mine = threading.local()

    def run(self, text: str, files: dict[str, str], folder: Path, name: str, seed: int | None = None) -> None:
        cpu = self.cpus.get()
        try:
            self.mine.cpu = cpu
            super().run(text, files, folder, name, seed)
        finally:
            self.cpus.put(cpu)

    def command(self) -> list[str]:
        taskset = shutil.which("taskset")
        pin = [taskset, "--cpu-list", str(self.mine.cpu)] if taskset else []
        return [*pin, *super().command()]


class Violated(ToolError):
    """An invariant does not hold, or the kernel printed a warning."""

    def __init__(self, message: str, report: str) -> None:
        super().__init__(message, EXIT_FAILED)
        self.report = report


@dataclass(frozen=True)
class Task:
    """The load of one guest."""

    seed: int
    requests: int
    until_ns: int
    schedulers: list[str]

    def again(self) -> str:
        """The options that repeat it."""
        hours = f"{self.until_ns / 3600 / load.SECOND:.9g}"
        return f"--seed {self.seed} --requests {self.requests} --hours {hours} --guests 1"


@dataclass
class Outcome:
    """The result of one guest: the same for the same task, to the last byte of the digest."""

    seed: int
    requests: int = 0
    virtual_s: float = 0
    samples: int = 0
    torn: int = 0
    rests: int = 0
    events: int = 0
    switches: int = 0
    worst_ms: dict[str, float] = field(default_factory=dict)
    tag_wait_ms: float = 0
    counters: dict[str, int] = field(default_factory=dict)
    slab: dict[str, int] = field(default_factory=dict)
    # reservations in all samples, by the kind of their owner
    spenders: dict[str, int] = field(default_factory=dict)
    digest: str = ""


def build_init() -> Path:
    """Build the guest's program, if a part of it has changed."""
    changed = max(path.stat().st_mtime for path in GUEST.iterdir())
    if INIT.is_file() and INIT.stat().st_mtime <= changed:
        INIT.unlink()  # build_static() compares with soak.c only, which includes the other parts
    return build_static(GUEST / "soak.c", INIT.parent)


def describe(task: Task, violation: Violation, checker: Checker, at: Event | Sample) -> Violated:
    """A message of one line, and a report with all that is known."""
    where = f"seed {task.seed}: at {at.time_ns / 1e9:.6f} s of virtual time, {at.disk}"
    message = f"{where}: {violation.invariant}: {violation.detail}; repeat with {task.again()}"
    report = [message, "", "last events of the disk:", *checker.of_disk(at.disk).events]
    if isinstance(at, Sample):
        report += ["", "sample:", at.text]
    return Violated(message, "\n".join(report) + "\n")


class Watch:
    """Follows the guest's file of samples."""

    def __init__(self, task: Task, bounds: Bounds, path: Path) -> None:
        self.task = task
        self.checker = Checker(bounds)
        self.path = path
        self.reader = Reader()
        self.digest = hashlib.sha256()
        self.offset = 0

    def look(self) -> None:
        """Check what is new; raises Violated."""
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            new = stream.read()
        # the guest writes whole pages: zeros at the end are not written yet
        new = new.rstrip(b"\0")
        self.offset += len(new)
        self.digest.update(new)
        for item in self.reader.feed(new.decode("ascii", errors="replace")):
            violation = self.checker.event(item) if isinstance(item, Event) else self.checker.sample(item)
            if violation:
                raise describe(self.task, violation, self.checker, item)

    def outcome(self) -> Outcome:
        checker = self.checker
        return Outcome(
            seed=self.task.seed,
            requests=checker.requests,
            virtual_s=round(checker.time_ns / 1e9, 6),
            samples=checker.samples,
            torn=checker.torn,
            rests=checker.rests,
            events=checker.events,
            switches=checker.switches,
            worst_ms={name: round(worst / 1e6, 3) for name, worst in checker.worst_ns.items()},
            tag_wait_ms=round(checker.tag_wait_ns / 1e6, 3),
            counters=checker.totals(),
            slab=checker.slab,
            spenders=dict(sorted(checker.spenders.items())),
            digest=self.digest.hexdigest(),
        )


def check_kernel(folder: Path) -> None:
    if (folder / "refused").exists():
        raise ToolError(f"this kernel {(folder / 'refused').read_text().strip()}; see --kernel", EXIT_USAGE)


def run_guest(guests: SoakGuests, task: Task, bounds: Bounds, progress: Callable[[Checker], None]) -> Outcome:
    """Run one task to its end; raises Violated, or ToolError if the guest fails otherwise."""
    with scratch() as folder:
        failure: list[BaseException] = []
        watch = Watch(task, bounds, folder / "samples")
        text = load.job_text(task.seed, task.requests, task.until_ns, task.schedulers)

        def body() -> None:
            try:
                guests.run(text, {}, folder, f"seed {task.seed}", task.seed)
            except BaseException as raised:
                failure.append(raised)

        thread = threading.Thread(target=body)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_S)
                watch.look()
                progress(watch.checker)
        except BadSample as bad:
            guests.stop()
            raise ToolError(f"seed {task.seed}: {bad}") from None
        except BaseException:
            guests.stop()
            raise
        finally:
            if thread.is_alive():
                guests.stop()
                thread.join()
        watch.look()
        check_kernel(folder)
        for error in failure:
            if isinstance(error, Stopped):
                raise error
            if isinstance(error, ToolError):
                console = (folder / "console").read_text(errors="replace")
                raise Violated(f"{error}; repeat with {task.again()}", f"{error}\n\nconsole:\n{console}")
            raise error
        return watch.outcome()
