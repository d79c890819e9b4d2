# SPDX-License-Identifier: GPL-2.0-only
"""Runs the cells of scenarios in guests and puts their results together."""

import json
import re
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import disks, expect, job, stats
from .errors import EXIT_USAGE, LabError
from .guest import Features, GuestFailed, Guests, Stopped, scratch
from .scenario import Cell, Scenario
from .units import NSEC_PER_SEC

SCHEMA = 1


@dataclass(frozen=True)
class Plan:
    """A scenario with what the command line and the kernel make of it."""

    scenario: Scenario
    disk: disks.Disk
    seed: int
    cells: list[Cell]


def make_plan(
    scenario: Scenario,
    disk_folder: Path,
    schedulers: list[str] | None,
    depths: list[int] | None,
    seed: int | None,
    features: Features,
    only: str = "",
) -> Plan:
    """Everything that can be wrong is found here, before a guest starts."""
    disk = disks.of_scenario(scenario, disk_folder)
    if any(key.startswith("rot_") for key in disk.attributes) and not features.rotating:
        raise scenario.where.error(("disk",), f"kernel {features.release} has no rotating disk in null_blk")
    for key in scenario.disk_set:
        if features.attributes and key not in features.attributes:
            raise scenario.where.error(
                ("disk_set", key), f"null_blk of kernel {features.release} has no such attribute"
            )
    cells = scenario.cells(schedulers, depths, only)
    if not cells and only:
        raise LabError(f"{scenario.name}: no run is called '{only}' (lab show names them)", EXIT_USAGE)
    if not cells:
        raise LabError(f"{scenario.name}: no configuration uses {', '.join(schedulers or [])}", EXIT_USAGE)
    for cell in cells:
        if cell.config.scheduler not in features.schedulers:
            raise scenario.where.error(
                cell.config.at,
                f"kernel {features.release} has no scheduler '{cell.config.scheduler}'"
                f" (it has {', '.join(features.schedulers)}); choose with --scheduler",
            )
        job.processes(scenario, cell, disk, seed or scenario.seed, cell.config.policy)
    return Plan(scenario, disk, scenario.seed if seed is None else seed, cells)


def choose_policy(plan: Plan, cell: Cell, features: Features) -> str | None:
    """The policy to run with; None if the cell needs the BW class and has no fallback."""
    policy = cell.config.policy
    if features.bw or not job.needs_bw(plan.scenario, cell, policy):
        return policy
    return cell.config.fallback or None


def run_cell(plan: Plan, cell: Cell, features: Features, guests: Guests, trace_to: Path | None) -> dict[str, Any]:
    scenario = plan.scenario
    policy = choose_policy(plan, cell, features)
    base: dict[str, Any] = {
        "name": cell.name,
        "config": cell.config.name,
        "scheduler": cell.config.scheduler,
        "depth": cell.depth,
        "vary": cell.labels,
        "policy": policy or cell.config.policy,
        "fallback": policy is not None and policy != cell.config.policy,
    }
    if policy is None:
        return base | {"status": "needs-bw", "processes": []}
    streams = job.processes(scenario, cell, plan.disk, plan.seed, policy)
    trace = None
    if trace_to:
        program = shutil.which("blktrace", path="/usr/sbin:/usr/bin:/sbin:/bin")
        if not program:
            raise LabError("--trace needs blktrace; install it", EXIT_USAGE)
        trace = f"{program} -d /dev/{job.DEVICE} -D /mnt -o trace"
    text = job.job_text(plan.disk, scenario, cell, streams, features.bw, trace)
    files = {f"{n}.list": "\n".join(p.list_lines) + "\n" for n, p in enumerate(streams) if p.list_lines}
    duration_ns = round(scenario.duration_s * NSEC_PER_SEC)
    with scratch() as folder:
        try:
            guests.run(text, files, folder, f"{scenario.name} {cell.name}")
        except GuestFailed as error:
            raise _located(error, scenario, cell, text) from None
        records = [stats.read_records(folder / f"{number}.bin") for number in range(len(streams))]
        queue = {
            path.name.removeprefix("queue."): _selected(path.read_text()) for path in sorted(folder.glob("queue.*"))
        }
        if trace_to:
            _keep_trace(folder, trace_to / _file_name(f"{scenario.name} {cell.name}"))
    groups = list(dict.fromkeys(process.group for process in streams))
    return base | {
        "status": "ok",
        "queue": queue,
        "processes": [
            stats.summarize(process, record, duration_ns) for process, record in zip(streams, records, strict=True)
        ],
        "bytes_each_second": {
            group: stats.per_second(
                [record for process, record in zip(streams, records, strict=True) if process.group == group],
                duration_ns,
            )
            for group in groups
        },
    }


def _located(error: GuestFailed, scenario: Scenario, cell: Cell, text: str) -> GuestFailed:
    """With the key of the scenario file, if a setting of it is what the kernel refused."""
    found = re.search(r": job line (\d+): ", str(error))
    path = job.setting_of(text.split("\n")[int(found[1]) - 1], scenario, cell.config) if found else None
    return GuestFailed(str(scenario.where.error(path, str(error)))) if path else error


def _selected(text: str) -> str:
    """'[cfq] none' as cfq; any other value as it stands."""
    return text[text.index("[") + 1 : text.index("]")] if "[" in text else text.strip()


def _file_name(name: str) -> str:
    return name.replace(" ", "_").replace("=", "").replace("/", "_")


def _keep_trace(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("trace.blktrace.*"):
        shutil.copy(path, target / path.name)


def assemble(plan: Plan, features: Features, cells: list[dict[str, Any]]) -> dict[str, Any]:
    scenario = plan.scenario
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "title": scenario.title,
        "kernel": {"release": features.release, "bw": features.bw, "schedulers": features.schedulers},
        "disk": {"preset": plan.disk.name, "attributes": plan.disk.attributes | scenario.disk_set},
        "seed": plan.seed,
        "duration_ns": round(scenario.duration_s * NSEC_PER_SEC),
        "cells": cells,
    }
    result["expect"] = expect.evaluate(result, scenario)
    return result


def run_plans(
    plans: list[Plan],
    features: Features,
    guests: Guests,
    jobs: int,
    trace_to: Path | None,
    finished: Callable[[Plan, dict[str, Any]], None],
    progress: Callable[[int, int, str, float], None],
) -> list[str]:
    """Run everything; return what failed, one message a cell."""
    total = sum(len(plan.cells) for plan in plans)
    done = 0
    failures: list[str] = []
    open_cells: dict[Future[dict[str, Any]], tuple[int, int]] = {}
    took_s: dict[tuple[int, int], float] = {}
    results: list[list[dict[str, Any] | None]] = [[None] * len(plan.cells) for plan in plans]

    def timed(p: int, c: int) -> dict[str, Any]:
        clock = Clock()
        try:
            return run_cell(plans[p], plans[p].cells[c], features, guests, trace_to)
        finally:
            took_s[p, c] = clock.seconds()

    with ThreadPoolExecutor(jobs) as pool:
        for p, plan in enumerate(plans):
            for c in range(len(plan.cells)):
                open_cells[pool.submit(timed, p, c)] = (p, c)
        try:
            waiting = set(open_cells)
            while waiting:
                ready, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ready:
                    p, c = open_cells[future]
                    cell = plans[p].cells[c]
                    try:
                        results[p][c] = future.result()
                    except GuestFailed as error:
                        failures.append(str(error))
                        results[p][c] = {
                            "name": cell.name,
                            "config": cell.config.name,
                            "scheduler": cell.config.scheduler,
                            "depth": cell.depth,
                            "vary": cell.labels,
                            "policy": cell.config.policy,
                            "fallback": False,
                            "status": "failed",
                            "error": str(error).splitlines()[0],
                            "processes": [],
                        }
                    done += 1
                    progress(done, total, f"{plans[p].scenario.name} {cell.name}", took_s[p, c])
                    complete = [cell for cell in results[p] if cell is not None]
                    if len(complete) == len(results[p]):
                        finished(plans[p], assemble(plans[p], features, complete))
        except BaseException:
            guests.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return failures


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    partial.replace(path)


class Clock:
    """Real time, for people at the terminal only: never in a result."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def seconds(self) -> float:
        return time.monotonic() - self.start


__all__ = ["Clock", "Plan", "Stopped", "assemble", "make_plan", "run_cell", "run_plans", "write_json"]
