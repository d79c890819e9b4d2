# SPDX-License-Identifier: GPL-2.0
"""Count the commands of null_blk's rotating disk per second of the host's CPU time.

Boots User-Mode Linux with one disk and no scheduler, and runs one load after the other on it, each
for some virtual time. Only the CPU time of the guest counts, less that of the same guest with a
load that ends immediately. A guest is pinned to one CPU: on two, the time would depend on other
load. Several kernels (--kernel, repeated) run in turn, and are compared with the first. A kernel
that has the attributes of the disk in the device's own folder, and not in rot/, gets those that it
has.
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
from tools.testbed.disk import presets
from tools.testbed.lab.model.units import MIB, NSEC_PER_SEC
from tools.testbed.lab.run import stats
from tools.testbed.lab.run.features import probe
from tools.testbed.lab.run.job import CONFIGFS, DEVICE, START_NS, SYSFS
from tools.testbed.lab.run.loadgen import LOADGEN, build_loadgen
from tools.testbed.vm import uml

DEPTH = 32
# What a process does, in the language of the load generator
RANDOM_READS = "random=1 size=4096"
RANDOM_WRITES = f"write=1 {RANDOM_READS}"


@dataclass(frozen=True)
class Load:
    """Processes with one request each."""

    name: str
    virtual_s: int  # about 6 s of CPU time on a machine of 2024
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
    """The attributes of a disk under the names that a kernel has; @known are its attributes of null_blk."""
    if "rot/rpm" in known:
        return dict(preset)
    if "rot_model" not in known:
        raise ToolError("--kernel: the kernel has no rotating disk in null_blk", EXIT_USAGE)
    flat = {key.replace("rot/", "rot_"): value for key, value in preset.items()}
    if flat.pop("irqmode", "") == presets.ROTATING:
        flat["rot_model"] = "1"
    return {key: value for key, value in flat.items() if key in known}


def job(load: Load, disk: Mapping[str, str], duration_ns: int) -> str:
    """The job of the load generator, line by line."""
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
    """Processes that are started within the context run on one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_s() -> float:
    """The CPU time of all child processes that have ended, the guests and their processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def played(guests: uml.Guests, load: Load, disk: Mapping[str, str], duration_ns: int) -> tuple[int, float]:
    """Run a guest; returns the commands of its disk and its CPU time."""
    with uml.scratch() as folder:
        before = cpu_s()
        guests.run(job(load, disk, duration_ns), {}, folder, load.name)
        used = cpu_s() - before
        records = [stats.read_records(folder / f"{n}.bin") for n in range(len(load.processes))]
    return sum(map(len, records)) // stats.FIELDS, used


def measured(kernels: list[Path], disk: Mapping[str, str], repeats: int, scale: float, limit_s: float) -> Costs:
    """Run the kernels in turn, so that other load affects all of them alike."""
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
    """The results as a table."""
    return "\n".join(["Commands per second of CPU time: median of the repeats, and factor to the first kernel",
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
                        help="User-Mode Linux to boot; repeat it to compare kernels (default: build/uml/vmlinux)")
    parser.add_argument("--disk", default="barracuda-7200.11", metavar="PRESET",
                        help="preset of configs/disks (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=3, metavar="N",
                        help="repeats of each load (default: %(default)s)")
    parser.add_argument("--scale", type=seconds, default=1, metavar="F",
                        help="factor for the virtual time of each load (default: %(default)s, 6 s of CPU time each)")
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="limit of real time for each guest (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def command(args: argparse.Namespace) -> int:
    kernels = args.kernels or [uml.IMAGE]
    disk = presets.load(args.disk).attributes
    build_loadgen()
    with one_cpu():
        costs = measured(kernels, disk, args.repeats, args.scale, args.timeout)
    print(as_json(costs) if args.json else table(costs))
    return 0
