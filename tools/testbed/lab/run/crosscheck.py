# SPDX-License-Identifier: GPL-2.0
"""The same scenario in real time: fio in QEMU on the same modelled disk.

The virtual clock and the load generator are part of lab, so one
scenario is also run without either.  What the two agree on is the kernel's
and the disk model's doing.
"""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed import vm
from tools.testbed.vm import qemu

from ..model.disks import Disk
from ..model.results import CellResult, CrosscheckResult, CrosscheckRow
from ..model.scenario import Cell, Scenario
from ..model.units import MIB, ioprio_class
from . import job, metrics

LIMIT_PERCENT = 10.0
BOOT_S = 240

Groups = dict[str, dict[str, float]]  # group -> metric -> figure


class Figure(NamedTuple):
    """What is compared of a group, and how it is shown."""

    metric: str
    reduce: str
    name: str
    unit: str
    factor: float


FIGURES = (
    Figure("bytes_per_s", "sum", "throughput", "MiB/s", 1 / MIB),
    Figure("latency_mean_ms", "mean", "mean latency", "ms", 1.0),
)


def fio_job(scenario: Scenario, streams: list[job.Process]) -> str:
    """The streams as sections of a fio job; raises ValueError where fio has no such stream."""
    lines = [
        "[global]",
        f"filename=/dev/{job.DEVICE}",
        "ioengine=psync",
        "invalidate=0",
        "time_based",
        f"runtime={scenario.duration_s:g}",
        "thread",
    ]
    for process in streams:
        if process.list_lines or process.period_ns or len(process.regions) > 1:
            raise ValueError(f"{process.name}: the cross-check knows greedy and random streams of one file")
        offset, size = process.regions[0]
        operation = "write" if process.write else "read"
        lines += [
            f"[{process.name}]",
            f"rw={'rand' if process.keys['random'] else ''}{operation}",
            f"bs={process.size}",
            f"offset={offset}",
            f"size={size}",
            f"direct={process.keys['direct']}",
            f"randseed={process.keys['seed'] >> 1}",
        ]
        if process.keys["ioprio"]:
            lines.append(f"prioclass={ioprio_class(process.keys['ioprio'])}")
            lines.append(f"prio={process.keys['ioprio'] & 7}")
    return "\n".join(lines) + "\n"


def shell(lines: list[str]) -> list[str]:
    """The job's lines that make the disk, as a shell has them."""
    commands = []
    for line in lines:
        verb, rest = line.split(" ", 1)
        if verb == "mkdir":
            commands.append(f"mkdir {rest}")
        elif verb == "write":
            path, value = rest.split(" ", 1)
            commands.append(f"echo {shlex.quote(value)} > {path}")
    return commands


def run_fio(
    scenario: Scenario, run: job.Run, disk: Disk, kernel: Path | None, folder: Path, icount: bool
) -> Groups:
    """Throughput and mean latency of each group, in real time."""
    try:
        text = fio_job(scenario, run.streams)
    except ValueError as error:
        raise ToolError(f"{scenario.name}: {error}", EXIT_USAGE) from None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fio.job").write_text(text)
    (folder / "fio.json").unlink(missing_ok=True)
    try:
        outcome = vm.run(
            guest_script(scenario, run.cell, disk),
            kernel=kernel,
            out=folder,
            timeout=scenario.duration_s + BOOT_S,
            cpus=1 if icount else 2,
            qemu=qemu.ICOUNT if icount else (),
        )
    except vm.VMError as error:
        raise ToolError(str(error), EXIT_USAGE) from None
    if not outcome.ok:
        raise ToolError(f"{scenario.name} in QEMU: {outcome.why()}")
    return group_figures(run.streams, json.loads((folder / "fio.json").read_text()))


def guest_script(scenario: Scenario, cell: Cell, disk: Disk) -> str:
    """Makes the disk and runs fio on it."""
    commands = ["set -e", *shell(job.device_lines(disk, scenario.disk_set, cell.depth))]
    commands += shell(job.scheduler_lines(cell.config, False))
    commands.append('fio --output-format=json --output="$VM_OUT/fio.json" "$VM_OUT/fio.job"')
    return "\n".join(commands)


def group_figures(streams: list[job.Process], report: Any) -> Groups:
    """What fio says of each group's streams."""
    jobs = {entry["jobname"]: entry for entry in report["jobs"]}
    groups: Groups = {}
    for group in dict.fromkeys(process.group for process in streams):
        members = [jobs[p.name]["write" if p.write else "read"] for p in streams if p.group == group]
        reads = sum(member["total_ios"] for member in members)
        groups[group] = {
            "bytes_per_s": sum(member["bw_bytes"] for member in members),
            "latency_mean_ms": sum(m["clat_ns"]["mean"] * m["total_ios"] for m in members) / reads / 1e6,
        }
    return groups


def compare(
    scenario: Scenario, cells: list[tuple[CellResult, Groups]], duration_ns: int, icount: bool
) -> CrosscheckResult:
    """A row for each figure: virtual, real, and how far they are apart."""
    rows = [
        _row(cell, group, figure, figures[figure.metric], duration_ns)
        for cell, real in cells
        for group, figures in real.items()
        for figure in FIGURES
    ]
    holds = bool(rows) and all(abs(row["percent"]) <= LIMIT_PERCENT for row in rows)
    return {
        "scenario": scenario.name,
        "about": scenario.about,
        "clock": "icount" if icount else "real",
        "limit_percent": LIMIT_PERCENT,
        "status": "pass" if holds else "fail",
        "rows": rows,
    }


def _row(cell: CellResult, group: str, figure: Figure, real: float, duration_ns: int) -> CrosscheckRow:
    virtual = metrics.of_cell(cell, figure.metric, [group], figure.reduce, duration_ns) or 0.0
    return {
        "what": f"{cell['config']}, {cell['depth']} in the drive: {group}, {figure.name} ({figure.unit})",
        "virtual": virtual * figure.factor,
        "real": real * figure.factor,
        "percent": (real - virtual) / virtual * 100 if virtual else 0.0,
    }
