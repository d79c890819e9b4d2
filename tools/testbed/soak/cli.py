# SPDX-License-Identifier: GPL-2.0
"""The command line of the soak."""

import argparse
import json
import os
import sys
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.base import cli
from tools.base.arguments import positive, seconds, words
from tools.base.cli import ToolError
from tools.base.files import write_whole
from tools.base.paths import BUILD
from tools.base.progress import Progress
from tools.testbed.vm import uml
from tools.testbed.vm.uml import Stopped

from . import load
from .invariants import Checker
from .load import Bounds
from .task import INIT, Outcome, SoakGuests, Task, Violated, build_init, run_guest

KERNEL = uml.IMAGE
REPORT = BUILD / "soak" / "violation"
# A guest of this size has a few dozen times of rest, and is soon repeated.
REQUESTS_PER_GUEST = 1_000_000


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="soak",
        description="Run random load on CFQ in virtual time and check its invariants.",
        epilog="Exit codes: 0 all invariants held; 1 an invariant does not hold, or the kernel printed a warning; "
        "2 nothing was run; 130 interrupted.",
    )
    parser.add_argument(
        "--requests", type=positive, default=10_000_000, metavar="N",
        help="requests to complete, on all disks (default: 10^7)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="guest number i has seed S + i (default: 1)")
    parser.add_argument(
        "--hours", type=seconds, default=24, metavar="H", help="limit of virtual time (default: %(default)s)"
    )
    parser.add_argument("--guests", type=positive, metavar="N",
                        help="number of guests (default: one per million requests)")
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument(
        "-j", "--jobs", type=positive, default=cpus, metavar="N", help="guests at a time (default: one per CPU)"
    )
    parser.add_argument("--kernel", type=Path, default=KERNEL, metavar="PATH",
                        help="User-Mode Linux to boot (default: build/uml/vmlinux)")
    parser.add_argument(
        "--schedulers",
        type=words,
        default=load.SCHEDULERS,
        metavar="A,B",
        help="the scheduler to test, and others to switch to now and then; others that the kernel lacks "
        "are left out (default: " + ",".join(load.SCHEDULERS) + ")",
    )
    parser.add_argument(
        "--bound-ms", type=positive, metavar="MS",
        help="one latency bound for all classes, instead of those that follow from the load"
    )
    parser.add_argument(
        "--limit", type=seconds, default=3600, metavar="S",
        help="limit of real time for a guest, in seconds (default: 3600)"
    )
    parser.add_argument(
        "--report", type=Path, default=REPORT, metavar="FILE",
        help="where to write a violation (default: build/soak/violation)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    return parser


def make_tasks(args: argparse.Namespace) -> list[Task]:
    number = args.guests or -(-args.requests // REQUESTS_PER_GUEST)
    until_ns = round(args.hours * 3600 * load.SECOND / number)
    return [Task(args.seed + i, -(-args.requests // number), until_ns, args.schedulers) for i in range(number)]


class Requests:
    """The progress of all guests."""

    def __init__(self, wanted: int, quiet: bool) -> None:
        self.wanted = wanted
        self.line = Progress(quiet)
        self.checkers: dict[int, Checker] = {}

    def __call__(self, seed: int, checker: Checker) -> None:
        self.checkers[seed] = checker
        checkers = list(self.checkers.values())
        done = sum(checker.requests for checker in checkers)
        hours = sum(checker.time_ns for checker in checkers) / 3600 / load.SECOND
        speed = done / self.line.seconds()
        left = f", {(self.wanted - done) / speed:.0f} s left" if 0 < done < self.wanted else ""
        self.line.show(f"{done:,} of {self.wanted:,} requests, {hours:.2f} h, {speed:.0f} requests/s{left}")


@dataclass(frozen=True)
class Summary:
    """No clock times and no paths: the same for the same options and kernel."""

    requests: int
    virtual_hours: float
    samples: int
    worst_ms: dict[str, float]
    tag_wait_ms: float
    bound_ms: dict[str, float]
    counters: dict[str, int]
    guests: list[Outcome]


def summary(outcomes: list[Outcome], bounds: Bounds) -> Summary:
    """All guests together."""
    counters: Counter[str] = Counter()
    for outcome in outcomes:
        counters.update(outcome.counters)
    return Summary(
        requests=sum(outcome.requests for outcome in outcomes),
        virtual_hours=round(sum(outcome.virtual_s for outcome in outcomes) / 3600, 4),
        samples=sum(outcome.samples for outcome in outcomes),
        worst_ms={name: max(outcome.worst_ms[name] for outcome in outcomes) for name in load.CATEGORIES},
        tag_wait_ms=max(outcome.tag_wait_ms for outcome in outcomes),
        bound_ms={name: bound / 1e6 for name, bound in bounds.by_category.items()},
        counters=dict(counters),
        guests=outcomes,
    )


def result_lines(found: Summary) -> list[str]:
    lines = [
        f"seed {guest.seed}: {guest.requests} requests in {guest.virtual_s} s, "
        f"{guest.samples} samples ({guest.torn} torn, {guest.rests} at rest), "
        f"{guest.events} events, {guest.switches} switches, digest {guest.digest[:16]}"
        for guest in found.guests
    ]
    shares = [f"{name} {found.worst_ms[name]:.0f} of {found.bound_ms[name]:.0f}" for name in load.CATEGORIES]
    lines.append(f"longest request by class, ms of its bound: {', '.join(shares)}")
    lines.append(f"longest wait for a tag under cfq, ms: {found.tag_wait_ms:.0f}")
    lines.append(
        f"soak: {found.requests} requests, {found.virtual_hours} h of virtual time, {found.samples} samples: "
        "all invariants held"
    )
    return lines


def run_tasks(guests: SoakGuests, tasks: list[Task], bounds: Bounds, jobs: int, progress: Requests) -> list[Outcome]:
    """Run all tasks; at the first failure end the others and raise it."""

    def one(task: Task) -> Outcome:
        return run_guest(guests, task, bounds, lambda checker: progress(task.seed, checker))

    with ThreadPoolExecutor(jobs) as pool:
        futures: list[Future[Outcome]] = []
        try:
            # the user may interrupt as soon as the first task runs
            futures += [pool.submit(one, task) for task in tasks]
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if len(futures) < len(tasks) or not all(future.done() and not future.exception() for future in futures):
                guests.stop()
                pool.shutdown(wait=True, cancel_futures=True)
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
    progress = Requests(sum(task.requests for task in tasks), args.quiet)
    try:
        outcomes = run_tasks(guests, tasks, bounds, args.jobs, progress)
    except Violated as error:
        write_whole(args.report, error.report)
        raise ToolError(f"{error}; the report is in {args.report}", error.code) from None
    finally:
        progress.line.clear()
    found = summary(outcomes, bounds)
    print(json.dumps(asdict(found), indent=1) if args.json else "\n".join(result_lines(found)))
    if not args.quiet:
        seconds = progress.line.seconds()
        print(f"soak: {seconds:.0f} s of real time, {found.requests / seconds:.0f} requests/s", file=sys.stderr)
    return 0


def main(argv: list[str] | None = None) -> int:
    args = make_parser().parse_args(argv)

    def action() -> int:
        try:
            return cmd_soak(args)
        except Stopped:
            raise KeyboardInterrupt from None

    return cli.run("soak", action)


if __name__ == "__main__":
    sys.exit(main())
