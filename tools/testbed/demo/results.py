# SPDX-License-Identifier: GPL-2.0
"""What was measured under each scheduler: rows of numbers, and the tables that show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.base import text
from tools.base.cli import ToolError
from tools.testbed.disk import presets
from tools.testbed.disk.characteristics import compute
from tools.testbed.lab.model.results import CellResult
from tools.testbed.lab.model.units import MIB
from tools.testbed.lab.run import metrics, stats

# The best that each scheduler offers for players.
PLAYERS_IN = {"cfq": "cfq, players in BW", "mq-deadline": "mq-deadline, players in RT", "bfq": "bfq, players in RT",
              "none": "none"}
CAMERAS_WITH = {"cfq": "cfq, 16 MB/s reserved", "mq-deadline": "mq-deadline", "bfq": "bfq, weights 1,000 and 10"}
HEADINGS = ["scheduler", "IOPS", "MiB/s", "mean ms", "99% ms"]
# The same as in mixed.fio: reads that are in the drive at the same time, and the job that has one of them.
READS = 5
SEQUENTIAL = "sequential read 128k, sync"
# What guest.sh prints where the kernel has rotating disks.
ROTATING = "disk: the rotating disk "
# Schedulers that idle for the next read of a sequential reader.
WAIT = ("cfq", "bfq")
# Factor by which a random read is faster if five are served by position; README.md.
POSITION_GAIN = 1.4


Rows = dict[str, list[dict[str, Any]]]  # of each job, by scheduler


def figures(result: dict[str, Any]) -> list[dict[str, Any]]:
    """fio's results of each job, for the direction that it has."""
    rows = []
    for job in result["jobs"]:
        if job["error"]:
            raise ValueError(f"fio: job '{job['jobname']}' ended with error {job['error']}")
        side = job["read"] if job["read"]["total_ios"] else job["write"]
        if not side["total_ios"]:
            raise ValueError(f"fio: job '{job['jobname']}' did no I/O at all")
        latency = side["clat_ns"]
        rows.append({"job": job["jobname"], "iops": side["iops"],
                     "mib_s": side["bw_bytes"] / 2**20, "mean_ms": latency["mean"] / 1e6,
                     "p99_ms": latency["percentile"]["99.000000"] / 1e6})
    return rows


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """A table for each job with a line for each scheduler, and a column of expected reads where they are known."""
    lines = []
    jobs = [row["job"] for row in next(iter(results.values()))]
    for number, job in enumerate(jobs):
        of_job = {name: rows[number] for name, rows in results.items()}
        cells = [[scheduler, f"{row['iops']:.0f}", f"{row['mib_s']:.1f}", f"{row['mean_ms']:.2f}",
                  f"{row['p99_ms']:.2f}"] for scheduler, row in of_job.items()]
        headings = list(HEADINGS)
        if any(row.get("expected_iops") for row in of_job.values()):
            headings.insert(2, "expected")
            for line, row in zip(cells, of_job.values(), strict=True):
                expected = row.get("expected_iops")
                line.insert(2, f"{expected:.0f}" if expected else "-")
        lines += ["", job, text.table(headings, cells, rule=False)]
    return "\n".join(lines)


def expected_reads_per_s(preset: presets.Preset) -> float | None:
    """The expected reads of the sequential reader under schedulers that do not idle for it; None: unknown.

    Its read is one of READS in the drive, and writing cached data back, which there always is, takes half of the time.
    """
    value = preset.attributes.get
    if value("rot/write_back") != "1" or value("rot/actuators", "1") != "1" or value("zoned", "0") != "0":
        return None
    read_ms = compute(preset.attributes).random_ms(4096)
    if value("rot/sched") == "rpo":
        read_ms /= POSITION_GAIN
    return 1000 / (READS * read_ms * 2)


def add_expected(results: dict[str, list[dict[str, Any]]], preset: presets.Preset) -> None:
    """Add expected_iops to the rows of the sequential reader; None under a scheduler that idles for it."""
    expected = expected_reads_per_s(preset)
    for scheduler, rows in results.items():
        for row in rows:
            if row["job"] == SEQUENTIAL:
                row["expected_iops"] = None if scheduler in WAIT else expected


def about_disk(preset: presets.Preset, queue: Mapping[str, str]) -> str:
    """The properties of the disk that the results depend on, with names of null_blk's attributes and of queue/."""
    def value(key: str) -> int:
        return int(preset.attributes[key])

    memory = f"{value('rot/cache_kb') / 1024:.0f} MiB of read cache (cache_kb)"
    memory += f" and {value('rot/write_kb') / 1024:.0f} MiB of write cache (write_kb)" if value("rot/write_back") \
        else ", no write cache"
    order = f"by position, but after {value('rot/reorder_ms')} ms by age (reorder_ms)" \
        if preset.attributes["rot/sched"] == "rpo" else "by arrival"
    return (f"disk: {preset.name}, {value('rot/rpm')} rpm, {value('size') / 1024:.0f} GiB, {memory};\n"
            f"{value('hw_queue_depth')} commands in the drive, served {order};\n"
            f"as the udev rule sets it: {', '.join(f'{name} {number}' for name, number in queue.items())}")


def load(folder: Path, order: list[str]) -> dict[str, list[dict[str, Any]]]:
    return {name: figures(read_json(folder / f"{name}.json")) for name in order}


def player_row(cell: CellResult, duration_ns: int) -> dict[str, Any]:
    """The reads of all players together, and the rate of the readers of best effort."""
    def of(metric: str, group: str, how: str = "sum") -> float | None:
        return metrics.of_cell(cell, metric, [group], how, duration_ns)

    return {"longest_ms": of("latency_max_ms", "player", "max"), "late": of("misses", "player"),
            "reads": of("expected", "player"), "missed": of("bw_missed", "player"),
            "best_effort_mib_s": (of("bytes_per_s", "reader") or 0) / MIB}


def player_table(rows: Mapping[str, dict[str, Any]]) -> str:
    """A line for each scheduler, with the class of the players."""
    shown = [[PLAYERS_IN[scheduler], f"{row['longest_ms']:.0f}", f"{row['late']:.0f}", f"{row['reads']:.0f}",
              "-" if row["missed"] is None else f"{row['missed']:.0f}", f"{row['best_effort_mib_s']:.1f}"]
             for scheduler, row in rows.items()]
    head = ["scheduler", "longest read, ms", "late reads", "of", "cfq's missed", "best effort, MiB/s"]
    return text.table(head, shown, rule=False)


def camera_row(cell: CellResult, duration_ns: int) -> dict[str, Any]:
    """The longest wait of all cameras, their lost frames, and the rate of copy and backup."""
    def of(metric: str, *groups: str, how: str = "sum") -> float | None:
        return metrics.of_cell(cell, metric, groups, how, duration_ns)

    return {"longest_ms": of("latency_max_ms", "camera", how="max"), "lost": of("lost", "camera"),
            "frames": (of("reads", "camera") or 0) + (of("lost", "camera") or 0),
            "others_mib_s": (of("bytes_per_s", "copy", "backup") or 0) / MIB}


def camera_table(rows: Mapping[str, dict[str, Any]]) -> str:
    """A line for each scheduler, with the share of the cameras."""
    return text.table(["scheduler", "longest write or fsync, ms", "frames lost", "of", "copy and backup, MiB/s"], [
        [CAMERAS_WITH[scheduler], f"{row['longest_ms']:.0f}", f"{row['lost']:.0f}", f"{row['frames']:.0f}",
         f"{row['others_mib_s']:.1f}"] for scheduler, row in rows.items()], rule=False)


def read_json(path: Path) -> dict[str, Any]:
    text = path.read_text()
    # fio prints notes before the JSON
    found: dict[str, Any] = json.loads(text[text.index("{"):])
    return found


def served(counters: str) -> dict[str, int]:
    """The requests that met and missed the deadline of their reservation, by cfq's own counters (debugfs)."""
    number = {name.removeprefix("bw_"): int(value) for name, value in stats.of_counters(counters).items()}
    if not sum(number.values()):
        raise ToolError("cfq has served no read with the reservation")
    return number


def ran(stdout: str, prefix: str) -> list[str]:
    """The schedulers that the guest has run."""
    return [line.removeprefix(prefix) for line in stdout.splitlines() if line.startswith(prefix)]
