# SPDX-License-Identifier: GPL-2.0-only
"""The same scenario in real time: fio in QEMU on the same modelled disk.

The virtual clock and the load generator are the laboratory's own, so one
scenario is also run without either.  What the two agree on is the kernel's
and the disk model's doing.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from . import disks, job, metrics
from . import scenario as sc
from .errors import EXIT_USAGE, LabError
from .units import MIB

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import vm

LIMIT_PERCENT = 10.0
BOOT_S = 240
# one guest instruction takes one guest nanosecond, whatever else the host does
ICOUNT = ("-icount", "shift=0,sleep=off")


def fio_job(scenario: sc.Scenario, streams: list[job.Process]) -> str:
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
            lines.append(f"prioclass={job.ioprio_class(process.keys['ioprio'])}")
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
    scenario: sc.Scenario,
    cell: sc.Cell,
    disk: disks.Disk,
    seed: int,
    kernel: Path | None,
    folder: Path,
    icount: bool,
) -> dict[str, dict[str, float]]:
    """Throughput and mean latency of each group, in real time."""
    try:
        streams = job.processes(scenario, cell, disk, seed, cell.config.policy)
        text = fio_job(scenario, streams)
    except ValueError as error:
        raise LabError(f"{scenario.name}: {error}", EXIT_USAGE) from None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fio.job").write_text(text)
    (folder / "fio.json").unlink(missing_ok=True)
    commands = ["set -e", *shell(job.device_lines(disk, scenario.disk_set, cell.depth))]
    commands += shell(job.scheduler_lines(cell.config, False))
    commands.append('fio --output-format=json --output="$VM_OUT/fio.json" "$VM_OUT/fio.job"')
    try:
        outcome = vm.run(
            "\n".join(commands),
            kernel=kernel,
            out=folder,
            timeout=scenario.duration_s + BOOT_S,
            cpus=1 if icount else 2,
            qemu=ICOUNT if icount else (),
        )
    except vm.VMError as error:
        raise LabError(f"{error}", EXIT_USAGE) from None
    if not outcome.ok:
        raise LabError(f"{scenario.name} in QEMU: {outcome.why()}")
    jobs = {entry["jobname"]: entry for entry in json.loads((folder / "fio.json").read_text())["jobs"]}
    groups: dict[str, dict[str, float]] = {}
    for group in dict.fromkeys(process.group for process in streams):
        members = [jobs[p.name]["write" if p.write else "read"] for p in streams if p.group == group]
        reads = sum(member["total_ios"] for member in members)
        groups[group] = {
            "bytes_per_s": sum(member["bw_bytes"] for member in members),
            "latency_mean_ms": sum(m["clat_ns"]["mean"] * m["total_ios"] for m in members) / reads / 1e6,
        }
    return groups


def compare(
    scenario: sc.Scenario,
    cells: list[tuple[dict[str, Any], dict[str, dict[str, float]]]],
    duration_ns: int,
    icount: bool,
) -> dict[str, Any]:
    """A row for each figure: virtual, real, and how far they are apart."""
    rows: list[dict[str, Any]] = []
    for cell, real in cells:
        for group, figures in real.items():
            for metric, unit, factor in (("bytes_per_s", "MiB/s", 1 / MIB), ("latency_mean_ms", "ms", 1.0)):
                how = "sum" if metric == "bytes_per_s" else "mean"
                virtual = metrics.of_cell(cell, metric, [group], how, duration_ns)
                name = "throughput" if metric == "bytes_per_s" else "mean latency"
                rows.append(
                    {
                        "what": f"{cell['config']}, {cell['depth']} in the drive: {group}, {name} ({unit})",
                        "virtual": virtual * factor,
                        "real": figures[metric] * factor,
                        "percent": (figures[metric] - virtual) / virtual * 100 if virtual else 0.0,
                    }
                )
    holds = bool(rows) and all(abs(row["percent"]) <= LIMIT_PERCENT for row in rows)
    return {
        "scenario": scenario.name,
        "about": scenario.about,
        "clock": "icount" if icount else "real",
        "limit_percent": LIMIT_PERCENT,
        "status": "pass" if holds else "fail",
        "rows": rows,
    }
