# SPDX-License-Identifier: GPL-2.0
"""Replays a list on a modelled disk, in virtual time: the laboratory's guest, load generator and presets."""

from __future__ import annotations

from collections.abc import Sequence

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.lab.model.disks import Disk
from tools.testbed.lab.model.scenario import Config
from tools.testbed.lab.run import features, job, stats
from tools.testbed.vm.uml import Guests, scratch

from .formats import lab_lines
from .work import Request

# The requests follow each other, so that there is nothing to schedule.
SCHEDULER = Config(at=(), name="none", scheduler="none", policy="none", depth=(1,), only={})
LONGEST_NS = 10**9 * 86400 * 30


def check(requests: Sequence[Request], disk: Disk, guests: Guests) -> None:
    """Whether the disk has room for them, and the kernel such a disk; ToolError if not."""
    end = max(request.end for request in requests) * 512
    if end > disk.bytes:
        raise ToolError(f"--disk {disk.name}: it has {disk.bytes >> 20} MiB, and the trace reaches to {-(-end >> 20)}: "
                        f"choose a larger one, or --set size={-(-end >> 20)}", EXIT_USAGE)
    if any(one.sector * 512 % disk.block_bytes or one.bytes % disk.block_bytes for one in requests):
        raise ToolError(f"--disk {disk.name}: it has blocks of {disk.block_bytes} bytes, and the trace smaller ones",
                        EXIT_USAGE)
    found = features.probe(guests)
    if not found.rotating:
        raise ToolError(f"kernel {found.release} has no rotating disk in null_blk: build one with `make uml`",
                        EXIT_USAGE)
    if unknown := [key for key in disk.attributes if key not in found.attributes]:
        raise ToolError(f"--set {unknown[0]}: null_blk of kernel {found.release} has no such attribute", EXIT_USAGE)


def seconds(name: str, requests: Sequence[Request], disk: Disk, guests: Guests) -> float:
    """Virtual time from the first request to the last answer, each asked for when the one before is there.

    Of a disk of its own, with nothing in its memory. Raises GuestFailed. @name: for messages
    """
    process = job.Process(
        name="replay", group="replay", kind="tree", write=False, priority="default", regions=[], size=0, period_ns=0,
        start_ns=0, deadline_ns=0, keys={"direct": 1}, list_lines=lab_lines(requests))
    lines = [*job.device_lines(disk, {}, 1), *job.scheduler_lines(SCHEDULER, False), f"device /dev/{job.DEVICE}",
             f"start_ns {job.START_NS}", f"duration_ns {LONGEST_NS}", job.stream_line(process, 0)]
    with scratch() as folder:
        guests.run("\n".join(lines) + "\n", {"0.list": "\n".join(process.list_lines) + "\n"}, folder, name)
        records = stats.read_records(folder / "0.bin")
    issued, returned = records[1::stats.FIELDS], records[2::stats.FIELDS]
    if len(issued) != len(requests):
        raise ToolError(f"{name}: {len(issued)} of {len(requests)} requests were made in 30 days of the disk's time")
    return (returned[-1] - issued[0]) / 1e9
