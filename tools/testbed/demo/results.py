# SPDX-License-Identifier: GPL-2.0
"""What fio measured under each scheduler: rows of numbers, and the tables that show them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.base import text
from tools.testbed.disk import presets
from tools.testbed.disk.characteristics import compute

# The same values are in players.fio, sequential.fio and guest.sh.
PLAYERS = 6
PLAYER_MIB = 3
READERS = 2
# A player has a second to play what it has: the data of the next second must arrive by then.
LATE_MS = 1000
# The best that each scheduler offers for players.
PLAYERS_IN = {"cfq": "cfq, players in BW", "mq-deadline": "mq-deadline, players in RT", "bfq": "bfq, players in RT",
              "none": "none"}
CAMERAS = 16
FRAMES_S = 25
BUFFER_S = 4  # frames that a camera buffers until they are written
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


def late_reads(bins: dict[str, int], limit_ms: float) -> int:
    """The reads that took longer, from fio's histogram (json+), whose keys are nanoseconds."""
    return sum(count for ns, count in bins.items() if int(ns) > limit_ms * 1e6)


def player_row(players: dict[str, Any], readers: dict[str, Any]) -> dict[str, Any]:
    """The latency of all players together, and the rate of the readers of class BE."""
    for job in [*players["jobs"], *readers["jobs"]]:
        if job["error"] or not job["read"]["total_ios"]:
            raise ValueError(f"fio: job '{job['jobname']}' did not read")
    sides = [job["read"] for job in players["jobs"]]
    return {"missed": None, "longest_ms": max(side["clat_ns"]["max"] for side in sides) / 1e6,
            "late": sum(late_reads(side["clat_ns"]["bins"], LATE_MS) for side in sides),
            "reads": sum(side["total_ios"] for side in sides),
            "best_effort_mib_s": sum(job["read"]["bw_bytes"] for job in readers["jobs"]) / 2**20}


def player_table(rows: dict[str, dict[str, Any]]) -> str:
    """A line for each scheduler, with the class of the players."""
    shown = [[PLAYERS_IN[scheduler], f"{row['longest_ms']:.0f}", str(row["late"]), str(row["reads"]),
              "-" if row["missed"] is None else str(row["missed"]), f"{row['best_effort_mib_s']:.1f}"]
             for scheduler, row in rows.items()]
    return "\n".join([
        "", f"{PLAYERS} players that read {PLAYER_MIB} MiB once a second, and {READERS} sequential readers of best "
        f"effort, all through the page cache",
        text.table(["scheduler", "longest read, ms", "late reads", "of", "cfq's missed", "best effort, MiB/s"], shown,
                   rule=False)])


def lost_frames(bins: dict[str, int]) -> float:
    """The frames that arrived while the buffer was full, from the histogram of a camera's writes and fsyncs."""
    return sum(count * max(0.0, int(ns) / 1e9 - BUFFER_S) * FRAMES_S for ns, count in bins.items())


def bytes_of_dd(output: str) -> int:
    """The bytes copied, from dd's last line: "N bytes (...) copied, ..."."""
    for line in output.splitlines():
        number, _, rest = line.partition(" ")
        if rest.startswith("bytes") and number.isdecimal():
            return int(number)
    raise ValueError(f"dd printed no number of bytes: {output.strip() or 'no output'}")


def camera_row(cameras: dict[str, Any], others: Sequence[str], seconds: float) -> dict[str, Any]:
    """The longest wait of all cameras, their lost frames, and the rate of copy and backup."""
    jobs = cameras["jobs"]
    for job in jobs:
        if job["error"] or not job["write"]["total_ios"] or not job["sync"]["total_ios"]:
            raise ValueError(f"fio: job '{job['jobname']}' did not record")
    pauses = [side for job in jobs for side in (job["write"]["clat_ns"], job["sync"]["lat_ns"])]
    return {"longest_ms": max(pause["max"] for pause in pauses) / 1e6,
            "lost": round(sum(lost_frames(pause["bins"]) for pause in pauses)),
            "frames": sum(job["write"]["total_ios"] for job in jobs),
            "others_mib_s": sum(map(bytes_of_dd, others)) / seconds / 2**20}


def camera_table(rows: dict[str, dict[str, Any]]) -> str:
    """A line for each scheduler, with the share of the cameras."""
    return "\n".join([
        "", f"{CAMERAS} cameras of 4 Mbit/s that sync every 2 s on ext4, concurrent with a copy and a backup",
        text.table(["scheduler", "longest write or fsync, ms", "frames lost", "of", "copy and backup, MiB/s"], [
            [CAMERAS_WITH[scheduler], f"{row['longest_ms']:.0f}", str(row["lost"]), str(row["frames"]),
             f"{row['others_mib_s']:.1f}"] for scheduler, row in rows.items()], rule=False)])


def load_cameras(folder: Path, order: list[str], seconds: float) -> dict[str, dict[str, Any]]:
    return {name: camera_row(read_json(folder / f"cameras-{name}.json"),
                             [(folder / f"{other}-{name}").read_text() for other in ("backup", "copy")], seconds)
            for name in order}


def read_json(path: Path) -> dict[str, Any]:
    text = path.read_text()
    # fio prints notes before the JSON
    found: dict[str, Any] = json.loads(text[text.index("{"):])
    return found


def load_players(folder: Path, order: list[str]) -> dict[str, dict[str, Any]]:
    rows = {name: player_row(read_json(folder / f"players-{name}.json"),
                             read_json(folder / f"readers-{name}.json")) for name in order}
    if "cfq" in rows:
        rows["cfq"]["missed"] = missed((folder / "counters").read_text())
    return rows


def missed(counters: str) -> int:
    """The requests with a reservation that were late, by cfq's own counter (debugfs)."""
    found = dict(line.split() for line in counters.splitlines() if len(line.split()) == 2)
    if "bw_deadlines_missed" not in found:
        raise ValueError("cfq's counters lack bw_deadlines_missed")
    return int(found["bw_deadlines_missed"])


def ran(stdout: str, prefix: str) -> list[str]:
    """The schedulers that the guest has run."""
    return [line.removeprefix(prefix) for line in stdout.splitlines() if line.startswith(prefix)]
