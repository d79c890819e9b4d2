# SPDX-License-Identifier: GPL-2.0
"""What a command of null_blk's rotating disk costs: commands in a second of the host's CPU time.

Boots User-Mode Linux with one disk and no scheduler and plays one load after the other on it, each
for some virtual time. What counts is the CPU time of the guest and not what else the machine does,
without that of the same guest with a load that ends at once. All of a guest runs on one CPU: where
its processes wake each other on two, the time depends on what else these do. Several kernels
(--kernel, more than once) take turns, and are compared with the first. A kernel that has the
attributes of the disk beside the others and not in a group of their own gets those that it knows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tools.base import text
from tools.base.arguments import positive, seconds
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.progress import Progress
from tools.disk import presets
from tools.lab import stats
from tools.lab.cli import LOADGEN, build_loadgen
from tools.lab.features import probe
from tools.lab.job import CONFIGFS, DEVICE, START_NS, SYSFS
from tools.lab.units import MIB, NSEC_PER_SEC
from tools.vm import uml

DEPTH = 32
# What a process does, in the load generator's words
RANDOM_READS = "random=1 size=4096"
RANDOM_WRITES = f"write=1 {RANDOM_READS}"


@dataclass(frozen=True)
class Load:
    """Processes with one request each."""

    name: str
    virtual_s: int  # some 6 s of CPU time on a machine of 2024
    processes: list[str]


LOADS = [
    Load("random reads", 8000, [RANDOM_READS]),
    Load("sequential reads of 64 KiB", 400, ["size=65536"]),
    Load("sequential writes, cached", 150, ["write=1 size=4096"]),
    Load("random writes, cached", 3500, [RANDOM_WRITES]),
    Load(f"{DEPTH} random reads", 2000, [RANDOM_READS] * DEPTH),
    Load(f"{DEPTH} random reads and writes", 4000, [RANDOM_READS, RANDOM_WRITES] * (DEPTH // 2)),
]


@dataclass
class Cost:
    """The repeats of one load on one kernel."""

    commands: int = 0  # the same in each repeat: time is virtual
    cpu_s: list[float] = field(default_factory=list)

    @property
    def per_s(self) -> float:
        return self.commands / median(self.cpu_s)


Costs = dict[str, dict[str, Cost]]  # by load and kernel


def attributes(preset: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """Those of a disk as a kernel with these of null_blk calls them."""
    if "rot/rpm" in known:
        return dict(preset)
    if "rot_model" not in known:
        raise ToolError("the kernel has no rotating disk in null_blk", EXIT_USAGE)
    flat = {key.replace("rot/", "rot_"): value for key, value in preset.items()}
    if flat.pop("irqmode", "") == presets.ROTATING:
        flat["rot_model"] = "1"
    return {key: value for key, value in flat.items() if key in known}


def job(load: Load, disk: Mapping[str, str], duration_ns: int) -> str:
    """What the load generator does, a line each."""
    return "\n".join([
        *presets.job_lines(CONFIGFS, disk, DEPTH),
        f"write {SYSFS}/scheduler none",
        f"device /dev/{DEVICE}",
        f"start_ns {START_NS}",
        f"duration_ns {duration_ns}",
        *(f"stream direct=1 {process} seed={seed} regions=0:{int(disk['size']) * MIB}"
          for seed, process in enumerate(load.processes, 1)),
    ]) + "\n"


@contextlib.contextmanager
def one_cpu() -> Iterator[None]:
    """What is started meanwhile runs on one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_s() -> float:
    """CPU time of all processes that were waited for, of the guests and of their own processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def played(guests: uml.Guests, load: Load, disk: Mapping[str, str], duration_ns: int) -> tuple[int, float]:
    """Commands of a guest's disk, and the CPU time of the guest."""
    with uml.scratch() as folder:
        before = cpu_s()
        guests.run(job(load, disk, duration_ns), {}, folder, load.name)
        used = cpu_s() - before
        records = [stats.read_records(folder / f"{n}.bin") for n in range(len(load.processes))]
    return sum(map(len, records)) // stats.FIELDS, used


def measured(kernels: list[Path], disk: Mapping[str, str], repeats: int, scale: float, limit_s: float) -> Costs:
    """Kernels take turns, so that what the machine does meanwhile meets all of them."""
    guests = {str(kernel): uml.Guests(kernel, LOADGEN, limit_s) for kernel in kernels}
    disks = {kernel: attributes(disk, probe(guest).attributes) for kernel, guest in guests.items()}
    costs: Costs = {load.name: {kernel: Cost() for kernel in guests} for load in LOADS}
    line = Progress()
    for repeat in range(repeats):
        for load in LOADS:
            for kernel, guest in guests.items():
                line.show(f"repeat {repeat + 1} of {repeats}: {load.name}, {line.seconds():.0f} s")
                commands, used_s = played(guest, load, disks[kernel], round(load.virtual_s * scale * NSEC_PER_SEC))
                cost = costs[load.name][kernel]
                cost.commands = commands
                cost.cpu_s.append(used_s - played(guest, load, disks[kernel], 1)[1])
    line.finish(f"{repeats} repeats, {line.seconds():.0f} s")
    return costs


def table(costs: Costs) -> str:
    """For a person to read."""
    return "\n".join(["Commands in a second of CPU time: median of the repeats; others beside the first kernel",
                      text.table(["load", *next(iter(costs.values()))],
                                 [[load, *_cells(list(kernels.values()))] for load, kernels in costs.items()])])


def _cells(kernels: list[Cost]) -> Iterator[str]:
    first = kernels[0].per_s
    yield f"{first:,.0f}"
    for cost in kernels[1:]:
        yield f"{cost.per_s:,.0f} ({cost.per_s / first:.2f})"


def as_json(costs: Costs) -> str:
    return json.dumps({load: {kernel: {"commands": cost.commands, "cpu_s": cost.cpu_s, "per_s": cost.per_s}
                              for kernel, cost in kernels.items()} for load, kernels in costs.items()}, indent=1)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", type=Path, action="append", metavar="PATH", dest="kernels",
                        help="User-Mode Linux to boot; again for one to compare (default: build/uml/vmlinux)")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="of configs/disks (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=3, metavar="N", help="default: %(default)s")
    parser.add_argument("--scale", type=seconds, default=1, metavar="F",
                        help="of the virtual time of each load (default: %(default)s, 6 s of CPU time each)")
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="for each guest (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="the figures for a program")


def command(args: argparse.Namespace) -> int:
    kernels = args.kernels or [uml.IMAGE]
    disk = presets.load(args.disk).attributes
    build_loadgen()
    with one_cpu():
        costs = measured(kernels, disk, args.repeats, args.scale, args.timeout)
    print(as_json(costs) if args.json else table(costs))
    return 0
