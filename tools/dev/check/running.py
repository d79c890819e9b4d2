# SPDX-License-Identifier: GPL-2.0
"""Runs steps in lanes, and builds each kernel once."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from tools.base.paths import ROOT

from . import steps
from .counting import Count, last_line
from .steps import KERNELS, Step

# What runs now, so that it can be ended: a command for each lane.
workers: set[subprocess.Popen[str]] = set()
stopping = threading.Event()


@dataclass
class Row:
    """A step that was run."""

    name: str
    count: Count
    seconds: float


class Kernels:
    """The kernels that steps boot: each is built when it is first asked for, and only then."""

    def __init__(self) -> None:
        self.locks = {name: threading.Lock() for name in KERNELS}
        self.built: dict[str, str] = {}  # what went wrong, or nothing
        self.rows: list[Row] = []

    def problem(self, name: str) -> str:
        """Build a kernel, or wait until it is built; what went wrong, or nothing."""
        with self.locks[name]:
            if name not in self.built:
                begin = time.monotonic()
                code, text = run_logged(KERNELS[name], f"build-{name}")
                self.built[name] = f"building the {name} kernel: {last_line(text)}" if code else ""
                count = Count(failures=[self.built[name]]) if code else Count(1)
                self.rows.append(Row(f"build-{name}", count, time.monotonic() - begin))
            return self.built[name]


def lanes(chosen: Sequence[Step]) -> dict[str, list[Step]]:
    """The steps by lane; the lanes run at the same time."""
    return {lane: [step for step in chosen if step.lane == lane]
            for lane in dict.fromkeys(step.lane for step in chosen)}


def run_lanes(chosen: Sequence[Step], last_start: float = math.inf) -> list[Row]:
    """Run all steps; results in the order of the table, after the kernels that they wanted.

    @last_start: a step that may be left out is, and counts as skipped, if it would begin later (seconds since 1970)
    """
    results: dict[str, Row] = {}
    kernels = Kernels()
    left = lanes(chosen)
    taking = threading.Lock()

    def take(lane: str) -> Step | None:
        with taking:
            if left[lane]:
                return left[lane].pop(0)
            return left["guests"].pop() if left.get("guests") else None

    def run_lane(lane: str) -> None:
        while not stopping.is_set() and (step := take(lane)):
            late = step.may_miss and time.time() > last_start
            # in one piece: the lanes write at the same time
            sys.stdout.write(f"== {step.name}{': left out, it is too late to begin' * late}\n")
            sys.stdout.flush()
            results[step.name] = Row(step.name, Count(skipped=1), 0) if late else run_step(step, kernels)

    threads = [threading.Thread(target=run_lane, args=(lane,)) for lane in left]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)
    except BaseException:
        stopping.set()
        for worker in list(workers):
            end_group(worker)
        for thread in threads:
            thread.join()
        raise
    return kernels.rows + [results[step.name] for step in chosen if step.name in results]


def run_step(step: Step, kernels: Kernels) -> Row:
    """Build what it boots, run its command, count."""
    for left in (steps.LOGS / f"{step.name}.xml", steps.LOGS / f"{step.name}.json"):
        left.unlink(missing_ok=True)
    problems = list(filter(None, map(kernels.problem, step.kernels)))
    begin = time.monotonic()
    if problems:
        return Row(step.name, Count(failures=problems), 0)
    code, text = run_logged(step.command, step.name)
    return Row(step.name, step.count(text, code), time.monotonic() - begin)


def run_logged(command: list[str], name: str) -> tuple[int, str]:
    """Its output goes to the step's log and, with the step's name, to stdout; exit code and output."""
    path = steps.LOGS / f"{name}.log"
    with path.open("w") as log:
        log.write(f"$ {' '.join(command)}\n")
        log.flush()
        before = log.tell()
        code = _run_into(command, log, name)
    return code, path.read_bytes()[before:].decode(errors="replace")


def _run_into(command: list[str], log: IO[str], name: str) -> int:
    try:
        worker = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", env={**os.environ, "PATH": path_for_tools()},
                                  start_new_session=True)
    except OSError as error:
        log.write(f"{command[0]}: {error.strerror}\n")
        return 127
    assert worker.stdout
    workers.add(worker)
    try:
        for line in worker.stdout:
            log.write(line)
            if not line.startswith('{"findings"'):
                sys.stdout.write(f"{name:<16} {line}")
                sys.stdout.flush()
        return worker.wait()
    except BaseException:
        end_group(worker)
        raise
    finally:
        workers.discard(worker)


def end_group(worker: subprocess.Popen[str]) -> None:
    """End a command and all that it started: first let them tidy up."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.wait(30)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def path_for_tools() -> str:
    return f"{steps.BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin:/sbin"
