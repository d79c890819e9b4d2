# SPDX-License-Identifier: GPL-2.0
"""Runs the cells of scenarios in guests and puts their results together."""

import re
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.code_id import OLDSCHED, SCHEDULING, code_id
from tools.testbed.vm.programs import of_system
from tools.testbed.vm.uml import GuestFailed, Guests, scratch

from ..model.results import SCHEMA, CellResult, Result
from ..model.scenario import Cell, Scenario
from . import expect, job, oldsched, stats
from .cache import Cache, inputs_of, key_of
from .job import Run
from .kernels import Kernels
from .plan import Plan

TRACER = "tracer.sh"
TRACE = "trace.blktrace.0"  # as blktrace calls that of the only CPU


@dataclass(frozen=True)
class Done:
    """A run that has ended."""

    cell: CellResult
    failure: str  # empty if there is none
    took_s: float  # of real time
    kept: bool = False  # it was in the cache


def cell_result(run: Run, status: Literal["ok", "needs-bw", "failed"]) -> CellResult:
    """What a run is, whatever becomes of it; the policy that it ran with, if it is ok."""
    config = run.cell.config
    policy = run.policy if status == "ok" and run.policy else config.policy
    return {
        "name": run.cell.name,
        "config": config.name,
        "scheduler": config.scheduler,
        "depth": run.cell.depth,
        "vary": run.cell.labels,
        "policy": policy,
        "fallback": policy != config.policy,
        "status": status,
        "processes": [],
    }


def run_cell(plan: Plan, run: Run, guests: Guests, trace_to: Path | None) -> CellResult:
    """Raises GuestFailed, with the key of the scenario file if the kernel refused a setting of it."""
    if run.policy is None:
        return cell_result(run, "needs-bw")
    name = f"{plan.scenario.name} {run.cell.name}"
    text = job.job_text(plan.scenario, plan.disk, run, plan.features.bw, f"/bin/sh /mnt/{TRACER}" if trace_to else None)
    files = {f"{n}.list": "\n".join(p.list_lines) + "\n" for n, p in enumerate(run.streams) if p.list_lines}
    if trace_to:
        files[TRACER] = _tracer()
    with scratch() as folder:
        try:
            guests.run(text, files, folder, name)
        except GuestFailed as error:
            raise _located(error, plan.scenario, run.cell, text) from None
        if trace_to:
            _keep_trace(folder, trace_to / file_name(name))
        return _read_cell(run, folder, plan.scenario.duration_ns)


def _read_cell(run: Run, folder: Path, duration_ns: int) -> CellResult:
    """What a guest left in its folder."""
    records = [stats.read_records(folder / f"{number}.bin") for number in range(len(run.streams))]
    streams = list(zip(run.streams, records, strict=True))
    cell = cell_result(run, "ok")
    cell["processes"] = [stats.summarize(process, record, duration_ns) for process, record in streams]
    cell["queue"] = {
        path.name.removeprefix("queue."): _selected(path.read_text()) for path in sorted(folder.glob("queue.*"))
    }
    if (folder / job.COMMANDS).exists():
        cell["commands"] = stats.of_commands((folder / job.COMMANDS).read_text())
    if (folder / job.COUNTERS).exists():
        cell["deadlines"] = stats.of_counters((folder / job.COUNTERS).read_text())
    cell["bytes_each_second"] = {
        group: stats.per_second([record for process, record in streams if process.group == group], duration_ns)
        for group in dict.fromkeys(process.group for process in run.streams)
    }
    return cell


def _tracer() -> str:
    """What traces in the guest. blktrace maps the files that it writes, and of one of the host's such a page is lost
    now and then: a pipe's end is written."""
    program = of_system("blktrace")
    if not program:
        raise ToolError("--trace needs blktrace; install it", EXIT_USAGE)
    return f"exec {program} -d /dev/{job.DEVICE} -o - > /mnt/{TRACE}\n"


def _located(error: GuestFailed, scenario: Scenario, cell: Cell, text: str) -> GuestFailed:
    """With the key of the scenario file, if a setting of it is what the kernel refused."""
    found = re.search(r": job line (\d+): ", str(error))
    path = job.setting_of(text.split("\n")[int(found[1]) - 1], scenario, cell.config) if found else None
    return GuestFailed(str(scenario.where.error(path, str(error)))) if path else error


def _selected(text: str) -> str:
    """'[cfq] none' as cfq; any other value as it stands."""
    return text[text.index("[") + 1 : text.index("]")] if "[" in text else text.strip()


def file_name(cell: str) -> str:
    """A run's name, as a file's: what is not in a plain name becomes _."""
    return re.sub(r"[^A-Za-z0-9.+-]", "_", cell)


def _keep_trace(folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / TRACE, target / TRACE)


def assemble(plan: Plan, cells: list[CellResult], without_cfq: bool) -> Result:
    """All runs of a scenario, and what they show.

    @without_cfq: other schedulers ran on a kernel without it
    """
    scenario, features = plan.scenario, plan.features
    result: Result = {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "title": scenario.title,
        "kernel": {"release": features.release, "bw": features.bw, "schedulers": features.schedulers,
                   "patches": code_id(folders=SCHEDULING)},
        "disk": {"preset": plan.disk.name, "attributes": plan.disk.attributes | scenario.disk_set},
        "seed": plan.seed,
        "duration_ns": scenario.duration_ns,
        "digest": scenario.digest,
        "cells": cells,
        "expect": [],
    }
    if without_cfq:
        result["kernel"]["without_cfq"] = True
    if oldsched.has_any(features):
        result["kernel"]["oldsched"] = code_id(series=OLDSCHED)
    result["expect"] = expect.evaluate(result, scenario)
    return result


def _attempt(plan: Plan, run: Run, kernels: Kernels, cache: Cache | None, trace_to: Path | None) -> Done:
    """A run from the cache or in a guest; a guest that fails is a result, too."""
    begin = time.monotonic()
    failure = ""
    guests = kernels.guests(plan, run)
    key = key_of(inputs_of(plan, run, guests)) if cache and run.policy and not trace_to else ""
    if cache and key and (kept := cache.get(key)):
        named = cell_result(run, "ok")
        named["processes"] = kept["processes"]
        return Done({**kept, **named}, "", time.monotonic() - begin, kept=True)
    try:
        cell = run_cell(plan, run, guests, trace_to)
        if cache and key:
            cache.put(key, cell)
    except GuestFailed as error:
        failure = str(error)
        cell = cell_result(run, "failed")
        cell["error"] = failure.splitlines()[0]
    return Done(cell, failure, time.monotonic() - begin)


def run_plans(
    plans: list[Plan],
    kernels: Kernels,
    jobs: int,
    trace_to: Path | None,
    finished: Callable[[Plan, Result], None],
    progress: Callable[[int, int, str, float], None],
    cache: Cache | None = None,
) -> list[str]:
    """Run everything that is not in the cache; return what failed, one message a cell."""
    failures: list[str] = []
    cells: list[dict[int, CellResult]] = [{} for _ in plans]
    with ThreadPoolExecutor(jobs) as pool:
        try:
            # an interruption may come as soon as the first of them runs
            futures = {
                pool.submit(_attempt, plan, run, kernels, cache, trace_to): (p, r)
                for p, plan in enumerate(plans)
                for r, run in enumerate(plan.runs)
            }
            for count, future in enumerate(as_completed(futures), 1):
                p, r = futures[future]
                plan, done = plans[p], future.result()
                cells[p][r] = done.cell
                if done.failure:
                    failures.append(done.failure)
                progress(count, len(futures), f"{plan.scenario.name} {done.cell['name']}", done.took_s)
                if len(cells[p]) == len(plan.runs):
                    complete = [cell for _, cell in sorted(cells[p].items())]
                    finished(plan, assemble(plan, complete, bool(kernels.without_cfq)))
        except BaseException:
            kernels.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return failures
