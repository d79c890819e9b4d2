# SPDX-License-Identifier: GPL-2.0
"""Run fio under each scheduler of a booted kernel and print its figures as tables.

The table of the players is that of six players, which read a second's worth (3 MiB) once a second through
the page cache, beside two greedy readers of best effort. Under cfq each player has a reservation
(class BW) of 3 MiB/s, the data to be there within a second; mq-deadline and bfq have them in
class RT, the nearest that they know; none knows no classes.

The last one is a video recorder on ext4: 16 cameras that append 4 Mbit/s each and sync every two
seconds, beside a backup of the disk and a copy, each of the two sides a control group. Under cfq
the cameras have reserved twice what they write (io.bw), bfq has weights of 1,000 and 10.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools import vm
from tools.base import text
from tools.base.arguments import positive
from tools.base.cli import ToolError
from tools.base.paths import BUILD
from tools.disk import presets
from tools.disk.characteristics import compute

HERE = Path(__file__).resolve().parent
# What players.fio, greedy.fio and fio-guest.sh say too.
PLAYERS = 6
PLAYER_MIB = 3
READ_AHEAD_KB = 128
GREEDY = 2
# A player has a second to play: the next second's data must be there by then.
LATE_MS = 1000
# The best that each scheduler can do for players.
PLAYERS_IN = {"cfq": "cfq, players in BW", "mq-deadline": "mq-deadline, players in RT", "bfq": "bfq, players in RT",
              "none": "none"}
CAMERAS = 16
FRAMES_S = 25
BUFFER_S = 4  # what a camera holds of frames that are not written yet
CAMERAS_WITH = {"cfq": "cfq, 16 MB/s reserved", "mq-deadline": "mq-deadline", "bfq": "bfq, weights 1,000 and 10"}
HEADINGS = ["scheduler", "IOPS", "MiB/s", "mean ms", "99% ms"]
# What jobs.fio says too: reads that are in the drive at the same time, and the job that has one of them.
READS = 5
SEQUENTIAL = "sequential read 128k, sync"
# What fio-guest.sh says where the kernel has the preset's disk.
ROTATING = "disk: the rotating disk "
# Those that wait for the next read of who reads in order.
WAIT = ("cfq", "bfq")
# So much less takes a random read if five are served by position: tools/bench/README.md.
POSITION_GAIN = 1.4


def figures(result: dict[str, Any]) -> list[dict[str, Any]]:
    """fio's own figures of each job, of its one direction."""
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
    """A table for each job, a line for each scheduler; beside measured reads those expected, where some are."""
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
    """Of the sequential reader, without a scheduler that waits for it; None: of this disk nothing is derived.

    Its read is one of those in the drive, and cached data, which the writer always has, takes half of the head's time.
    """
    value = preset.attributes.get
    if value("rot/write_back") != "1" or value("rot/actuators", "1") != "1" or value("zoned", "0") != "0":
        return None
    read_ms = compute(preset.attributes).random_ms(4096)
    if value("rot/sched") == "rpo":
        read_ms /= POSITION_GAIN
    return 1000 / (READS * read_ms * 2)


def add_expected(results: dict[str, list[dict[str, Any]]], preset: presets.Preset) -> None:
    """To the rows of the sequential reader; None under a scheduler that waits for it."""
    expected = expected_reads_per_s(preset)
    for scheduler, rows in results.items():
        for row in rows:
            if row["job"] == SEQUENTIAL:
                row["expected_iops"] = None if scheduler in WAIT else expected


def about_disk(preset: presets.Preset) -> str:
    """What the figures depend on, with the names of null_blk's attributes where they need one."""
    def value(key: str) -> int:
        return int(preset.attributes[key])

    memory = f"{value('rot/cache_kb') / 1024:.0f} MiB of memory for reading (cache_kb)"
    memory += f" and {value('rot/write_kb') / 1024:.0f} MiB for writing (write_kb)" if value("rot/write_back") \
        else ", no write cache"
    order = f"by position, after {value('rot/reorder_ms')} ms by age (reorder_ms)" \
        if preset.attributes["rot/sched"] == "rpo" else "by arrival"
    return (f"disk: {preset.name}, {value('rot/rpm')} rpm, {value('size') / 1024:.0f} GiB, {memory};\n"
            f"{value('hw_queue_depth')} commands of up to {value('max_sectors') / 2:.0f} KiB "
            f"({value('max_sectors')} max_sectors), served {order};\nthe three jobs at the same time")


def load(folder: Path, order: list[str]) -> dict[str, list[dict[str, Any]]]:
    return {name: figures(read_json(folder / f"{name}.json")) for name in order}


def late_reads(bins: dict[str, int], limit_ms: float) -> int:
    """Reads that took longer, by fio's histogram (json+), whose keys are nanoseconds."""
    return sum(count for ns, count in bins.items() if int(ns) > limit_ms * 1e6)


def player_row(players: dict[str, Any], greedy: dict[str, Any]) -> dict[str, Any]:
    """What the players saw, all of them together, and what best effort got."""
    for job in [*players["jobs"], *greedy["jobs"]]:
        if job["error"] or not job["read"]["total_ios"]:
            raise ValueError(f"fio: job '{job['jobname']}' did not read")
    sides = [job["read"] for job in players["jobs"]]
    return {"longest_ms": max(side["clat_ns"]["max"] for side in sides) / 1e6,
            "late": sum(late_reads(side["clat_ns"]["bins"], LATE_MS) for side in sides),
            "reads": sum(side["total_ios"] for side in sides),
            "best_effort_mib_s": sum(job["read"]["bw_bytes"] for job in greedy["jobs"]) / 2**20}


def player_table(rows: dict[str, dict[str, Any]]) -> str:
    """A line for each scheduler, with the class that the players have there."""
    return "\n".join([
        "", f"{PLAYERS} players that read {PLAYER_MIB} MiB once a second, and {GREEDY} greedy readers of best effort, "
        f"all through the page cache",
        text.table(["scheduler", "longest read, ms", "late reads", "of", "best effort, MiB/s"], [
            [PLAYERS_IN[scheduler], f"{row['longest_ms']:.0f}", str(row["late"]), str(row["reads"]),
             f"{row['best_effort_mib_s']:.1f}"] for scheduler, row in rows.items()], rule=False)])


def lost_frames(bins: dict[str, int]) -> float:
    """What came while the buffer was full, by the histogram of one camera's longest pauses."""
    return sum(count * max(0.0, int(ns) / 1e9 - BUFFER_S) * FRAMES_S for ns, count in bins.items())


def bytes_of_dd(said: str) -> int:
    """What dd says at its end: "N bytes (...) copied, ..."."""
    for line in said.splitlines():
        number, _, rest = line.partition(" ")
        if rest.startswith("bytes") and number.isdecimal():
            return int(number)
    raise ValueError(f"dd says no number of bytes: {said.strip() or 'nothing'}")


def camera_row(cameras: dict[str, Any], others: Sequence[str], seconds: float) -> dict[str, Any]:
    """What the cameras waited for, all of them together, and what the others moved."""
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
    """A line for each scheduler, with what the cameras have there."""
    return "\n".join([
        "", f"{CAMERAS} cameras of 4 Mbit/s that sync every 2 s on ext4, beside a copy and a backup",
        text.table(["scheduler", "longest write or fsync, ms", "frames lost", "of", "copy and backup, MiB/s"], [
            [CAMERAS_WITH[scheduler], f"{row['longest_ms']:.0f}", str(row["lost"]), str(row["frames"]),
             f"{row['others_mib_s']:.1f}"] for scheduler, row in rows.items()], rule=False)])


def load_cameras(folder: Path, order: list[str], seconds: float) -> dict[str, dict[str, Any]]:
    return {name: camera_row(read_json(folder / f"cameras-{name}.json"),
                             [(folder / f"{other}-{name}").read_text() for other in ("backup", "copy")], seconds)
            for name in order}


def read_json(path: Path) -> dict[str, Any]:
    text = path.read_text()
    # fio puts its notes before the JSON
    found: dict[str, Any] = json.loads(text[text.index("{"):])
    return found


def load_players(folder: Path, order: list[str]) -> dict[str, dict[str, Any]]:
    return {name: player_row(read_json(folder / f"players-{name}.json"),
                             read_json(folder / f"greedy-{name}.json")) for name in order}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schedulers", default="all", metavar="A,B", help="default: all that the kernel has")
    parser.add_argument("--seconds", type=positive, default=6, help="of each scheduler (default: %(default)s)")
    parser.add_argument("--player-seconds", type=int, default=12,
                        help="of the players under each scheduler; 0: without them (default: %(default)s)")
    parser.add_argument("--camera-seconds", type=int, default=20,
                        help="of the cameras under each of three; 0: without them (default: %(default)s)")
    parser.add_argument("--flavour", default="plain", choices=["plain", "debug"])
    parser.add_argument("--kernel", type=Path, metavar="BZIMAGE")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="of configs/disks, where the kernel has the rotating disk; 'none': a plain null_blk")
    parser.add_argument("--json", action="store_true", help="the figures as JSON on stdout")


def command(args: argparse.Namespace) -> int:
    disk = None if args.disk == "none" else presets.load(args.disk)
    needs_bwctl = args.player_seconds or args.camera_seconds
    if needs_bwctl:
        vm.build_bwctl()
    words = ["bash", str(HERE / "fio-guest.sh"), str(args.seconds), str(args.player_seconds),
             str(args.camera_seconds), str(HERE), "-" if args.disk == "none" else args.disk,
             str(BUILD / "bwctl/bwctl") if needs_bwctl else "-", *args.schedulers.split(",")]
    with tempfile.TemporaryDirectory(prefix="fio-") as work:
        print("booting, then fio under each scheduler", file=sys.stderr, flush=True)
        timeout = 240 + 60 * args.seconds + 30 * (args.player_seconds + args.camera_seconds)
        result = vm.run(shlex.join(words), flavour=args.flavour, kernel=args.kernel, timeout=timeout, out=Path(work),
                        append=["null_blk.nr_devices=0"], live=not args.json)
        if not result.ok:
            raise ToolError(result.why())
        try:
            results = load(Path(work), ran(result.stdout, "run: "))
            players = load_players(Path(work), ran(result.stdout, "players: "))
            cameras = load_cameras(Path(work), ran(result.stdout, "cameras: "), args.camera_seconds)
            if not ran(result.stdout, ROTATING):
                disk = None
            if disk:
                add_expected(results, disk)
        except (ValueError, KeyError) as error:
            raise ToolError(str(error)) from None
    if args.json:
        print(json.dumps({"schedulers": results, "players": players, "cameras": cameras}))
    else:
        print(f"\n{about_disk(disk)}" if disk else "")
        print(table(results))
        if players:
            print(player_table(players))
        if cameras:
            print(camera_table(cameras))
    return 0


def ran(stdout: str, prefix: str) -> list[str]:
    """The schedulers that the guest says it has run."""
    return [line.removeprefix(prefix) for line in stdout.splitlines() if line.startswith(prefix)]
