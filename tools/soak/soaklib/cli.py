# SPDX-License-Identifier: GPL-2.0
"""The command line of the soak."""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import load
from .guests import INIT, TOP, Outcome, SoakGuests, Task, Violated, build_init, run_guest
from .judge import Judge
from .load import Bounds

from lablib.errors import EXIT_FAILED, EXIT_USAGE, LabError, output_closed  # isort: skip
from lablib.guest import Stopped  # isort: skip

KERNEL = TOP / "build" / "uml" / "vmlinux"
REPORT = TOP / "build" / "soak" / "violation"
EXIT_INTERRUPTED = 130
# A guest of this size has a few dozen times of rest, and is soon repeated.
REQUESTS_PER_GUEST = 1_000_000
SAY_S = 10


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def positive_float(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise ValueError
    return value


def words(text: str) -> list[str]:
    found = [word for word in text.split(",") if word]
    if not found:
        raise ValueError
    return found


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="soak",
        description="Random load on CFQ in virtual time, with its invariants checked.",
        epilog="Exit codes: 0 all held; 1 an invariant does not hold, or the kernel complains; "
        "2 nothing was run; 130 interrupted.",
    )
    parser.add_argument(
        "--requests", type=positive, default=10_000_000, metavar="N", help="to complete, on all disks (default: 10^7)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="guest number i has seed S + i (default: 1)")
    parser.add_argument("--hours", type=positive_float, default=24, metavar="H", help="at most so much virtual time")
    parser.add_argument("--guests", type=positive, metavar="N", help="guests (default: one for a million requests)")
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument(
        "-j", "--jobs", type=positive, default=cpus, metavar="N", help="guests at a time (default: one for each CPU)"
    )
    parser.add_argument("--kernel", type=Path, default=KERNEL, metavar="PATH", help="default: build/uml/vmlinux")
    parser.add_argument(
        "--schedulers",
        type=words,
        default=load.SCHEDULERS,
        metavar="A,B",
        help="the one that is soaked, and those that it is switched to now and then; those that the kernel lacks "
        "are left out (default: " + ",".join(load.SCHEDULERS) + ")",
    )
    parser.add_argument(
        "--bound-ms", type=positive, metavar="MS", help="of a request's age, in place of what follows from the load"
    )
    parser.add_argument(
        "--limit", type=positive_float, default=3600, metavar="S", help="real seconds for a guest (default: 3600)"
    )
    parser.add_argument(
        "--report", type=Path, default=REPORT, metavar="FILE", help="for a violation (default: build/soak/violation)"
    )
    parser.add_argument("--json", action="store_true", help="the result for a program")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def make_tasks(args: argparse.Namespace) -> list[Task]:
    number = args.guests or -(-args.requests // REQUESTS_PER_GUEST)
    until_ns = round(args.hours * 3600 * load.SECOND / number)
    return [Task(args.seed + i, -(-args.requests // number), until_ns, args.schedulers) for i in range(number)]


class Progress:
    """One line that is written over on a terminal, a line now and then elsewhere."""

    def __init__(self, wanted: int, quiet: bool) -> None:
        self.wanted = wanted
        self.quiet = quiet
        self.lock = threading.Lock()
        self.begin = time.monotonic()
        self.said = self.begin
        self.judges: dict[int, Judge] = {}

    def __call__(self, seed: int, judge: Judge) -> None:
        with self.lock:
            self.judges[seed] = judge
            now = time.monotonic()
            live = sys.stderr.isatty()
            if self.quiet or now < self.said + (1 if live else SAY_S):
                return
            self.said = now
            done = sum(judge.requests for judge in self.judges.values())
            hours = sum(judge.time_ns for judge in self.judges.values()) / 3600 / load.SECOND
            speed = done / (now - self.begin)
            left = f", {(self.wanted - done) / speed:.0f} s left" if 0 < done < self.wanted else ""
            text = f"{done:,} of {self.wanted:,} requests, {hours:.2f} h, {speed:.0f} requests/s{left}"
            print(f"\r{text:78}" if live else text, end="" if live else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        if sys.stderr.isatty() and not self.quiet:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr)


def summary(outcomes: list[Outcome], bounds: Bounds) -> dict[str, Any]:
    """No clock times and no paths: the same for the same options and kernel."""
    counters: Counter[str] = Counter()
    for outcome in outcomes:
        counters.update(outcome.counters)
    return {
        "requests": sum(outcome.requests for outcome in outcomes),
        "virtual_hours": round(sum(outcome.virtual_s for outcome in outcomes) / 3600, 4),
        "samples": sum(outcome.samples for outcome in outcomes),
        "worst_ms": {name: max(outcome.worst_ms[name] for outcome in outcomes) for name in load.CATEGORIES},
        "tag_wait_ms": max(outcome.tag_wait_ms for outcome in outcomes),
        "bound_ms": {name: bound / 1e6 for name, bound in bounds.by_category.items()},
        "counters": dict(counters),
        "guests": [asdict(outcome) for outcome in outcomes],
    }


def result_lines(found: dict[str, Any]) -> list[str]:
    lines = []
    for guest in found["guests"]:
        lines.append(
            f"seed {guest['seed']}: {guest['requests']} requests in {guest['virtual_s']} s, "
            f"{guest['samples']} samples ({guest['torn']} torn, {guest['rests']} at rest), "
            f"{guest['events']} events, {guest['switches']} switches, digest {guest['digest'][:16]}"
        )
    worst, bound = found["worst_ms"], found["bound_ms"]
    shares = [f"{name} {worst[name]:.0f} of {bound[name]:.0f}" for name in load.CATEGORIES]
    lines.append(f"longest request by class, ms of its bound: {', '.join(shares)}")
    lines.append(f"longest wait for a tag under cfq, ms: {found['tag_wait_ms']:.0f}")
    lines.append(
        f"soak: {found['requests']} requests, {found['virtual_hours']} h of virtual time, {found['samples']} samples: "
        "all invariants held"
    )
    return lines


def run_tasks(guests: SoakGuests, tasks: list[Task], bounds: Bounds, jobs: int, progress: Progress) -> list[Outcome]:
    """All of them, or the first failure: then the others are ended."""

    def one(task: Task) -> Outcome:
        return run_guest(guests, task, bounds, lambda judge: progress(task.seed, judge))

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, task) for task in tasks]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if not all(future.done() and not future.exception() for future in futures):
                for future in futures:
                    future.cancel()
                guests.stop()
    failures = [error for future in futures if not future.cancelled() and (error := future.exception())]
    for error in failures:
        if not isinstance(error, Stopped):
            raise error
    if failures:
        raise failures[0]
    return [future.result() for future in futures]


def cmd_soak(args: argparse.Namespace) -> int:
    build_init()
    guests = SoakGuests(args.kernel, INIT, args.limit)
    tasks = make_tasks(args)
    bounds = Bounds.uniform(args.bound_ms * load.MSEC) if args.bound_ms else Bounds.of_load()
    progress = Progress(sum(task.requests for task in tasks), args.quiet)
    try:
        outcomes = run_tasks(guests, tasks, bounds, args.jobs, progress)
    except Violated as error:
        args.report.parent.mkdir(parents=True, exist_ok=True)
        args.report.write_text(error.report)
        raise LabError(f"{error}; its state is in {args.report}", error.code) from None
    finally:
        progress.end()
    found = summary(outcomes, bounds)
    print(json.dumps(found, indent=1) if args.json else "\n".join(result_lines(found)))
    if not args.quiet:
        seconds = time.monotonic() - progress.begin
        print(f"soak: {seconds:.0f} s of real time, {found['requests'] / seconds:.0f} requests/s", file=sys.stderr)
    return 0


def _terminated(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    args = make_parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code = cmd_soak(args)
        sys.stdout.flush()
        return code
    except LabError as error:
        print(f"soak: {error}", file=sys.stderr)
        return error.code if error.code in (EXIT_FAILED, EXIT_USAGE) else EXIT_FAILED
    except BrokenPipeError:
        return output_closed()
    except (KeyboardInterrupt, Stopped):
        print("soak: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
