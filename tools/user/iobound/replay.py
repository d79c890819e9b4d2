# SPDX-License-Identifier: GPL-2.0
"""Replays a list on a modelled disk in virtual time, with the guest, load generator and disks of lab."""

from __future__ import annotations

from collections.abc import Sequence

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.lab.model.disks import Disk
from tools.testbed.lab.model.scenario import Config
from tools.testbed.lab.run import features, job, stats
from tools.testbed.vm.uml import Guests, scratch

from .formats import lab_lines
from .work import Request

# There is one request at a time, so that a scheduler has nothing to sort.
SCHEDULER = Config(at=(), name="none", scheduler="none", policy="none", depth=(1,), only={})
LONGEST_NS = 10**9 * 86400 * 30


def check(requests: Sequence[Request], disk: Disk, guests: Guests) -> None:
    """Raise ToolError if the requests do not fit on the disk, or the kernel does not support the disk."""
    end = max(request.end for request in requests) * 512
    if end > disk.bytes:
        raise ToolError(f"--disk {disk.name}: too small: it has {disk.bytes >> 20} MiB, the trace requires "
                        f"{-(-end >> 20)} MiB: choose a larger disk, or --set size={-(-end >> 20)}", EXIT_USAGE)
    if any(one.sector * 512 % disk.block_bytes or one.bytes % disk.block_bytes for one in requests):
        raise ToolError(f"--disk {disk.name}: blocks of {disk.block_bytes} bytes are larger than those in the trace",
                        EXIT_USAGE)
    found = features.probe(guests)
    if not found.rotating:
        raise ToolError(f"kernel {found.release} has no rotating disk in null_blk: build one with make uml",
                        EXIT_USAGE)
    if unknown := [key for key in disk.attributes if key not in found.attributes]:
        raise ToolError(f"--set {unknown[0]}: null_blk of kernel {found.release} has no such attribute", EXIT_USAGE)


def seconds(name: str, requests: Sequence[Request], disk: Disk, guests: Guests) -> float:
    """Replay the requests one at a time. Returns the virtual time from the first request to the last completion.

    The replay has a disk of its own, with an empty cache. Raises GuestFailed. @name: for messages
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
        raise ToolError(f"{name}: {len(issued)} of {len(requests)} requests completed in 30 days of virtual time")
    return (returned[-1] - issued[0]) / 1e9
