# SPDX-License-Identifier: GPL-2.0
"""The knobs of the guest: paths, values, and the errors that are expected."""

from __future__ import annotations

from dataclasses import dataclass, field

NULLB = "/sys/kernel/config/nullb"
DEBUG = "/sys/kernel/debug"

# Permanent disks, and those that are created and removed.
DISKS = ("clean", "files", "turns", "faulty")
COMING = ("comes0", "comes1")
SCHEDULERS = ("none", "mq-deadline", "bfq", "cfq")
# kyber only on disks whose number of hardware queues does not change: running a removed queue calls
# kyber_has_work(), which uses freed memory (in the base; an oops once in dozens of runs).
OF_COMING = (*SCHEDULERS, "kyber")

# Documentation/block/cfq-iosched.rst, "Tunables". Only a part of the range where the rest would stall
# the disk.
CFQ: dict[str, list[str]] = {
    "slice_sync_ms": ["100", "1..300"],
    "slice_async_rq": ["1..1000"],
    "slice_idle_us": ["0", "8000", "0..30000"],
    "prio_aging_ms": ["100..500"],
    "bw_bucket_ms": ["10..10000"],
    "bw_seek_kb": ["0..1024"],
    "bw_share_percent": ["10..100"],
    "bw_depth": ["0..1"],
    "bw_delays_ms": ["25 50 100 200 500 800 1000 2000", "1 2 3 4 5 6 7 8",
                     "100000 1 100000 1 100000 1 100000 1"],
}

# Some tunables of other schedulers.
OTHER: dict[str, list[str]] = {
    "read_expire": ["1..1000"],
    "write_expire": ["1..1000"],
    "fifo_batch": ["1..64"],
    "prio_aging_expire": ["100..1000"],
    "read_lat_nsec": ["1000..10000000"],
    "write_lat_nsec": ["1000..10000000"],
    "low_latency": ["0", "1"],
    "slice_idle": ["0..10"],
}

OPERATIONS = ("0", "1", "1", "read,write", "lookup,create,open", "fsync", "truncate,unlink,evict,rename",
              "fault,readahead")


@dataclass(frozen=True)
class Knob:
    """A file of the kernel to write to."""

    path: str
    values: tuple[str, ...]
    allowed: tuple[str, ...] = ()

    def line(self) -> str:
        return "\t".join([self.path, ",".join(self.allowed) or "-", *self.values])


@dataclass(frozen=True)
class Table:
    """The knobs of one process, which writes to one every `mean_ms` on average."""

    mean_ms: int
    knobs: list[Knob] = field(default_factory=list)

    def text(self, slower: int = 1) -> str:
        return "\n".join([f"# {self.mean_ms * slower}", *(knob.line() for knob in self.knobs)]) + "\n"


# Expected while the hardware queues change.
BUSY = ("EBUSY",)
# Expected for a disk that does not exist, yet or any more.
GONE = ("ENOENT", "ENODEV", "EINVAL", "EBUSY", "ENOMEM", "EACCES")


def schedulers() -> Table:
    knobs = [Knob(f"/sys/block/{disk}/queue/scheduler", (*SCHEDULERS, "cfq", "cfq", "cfq"), BUSY)
             for disk in DISKS]
    knobs += [Knob(f"/sys/block/{disk}/queue/scheduler", OF_COMING, GONE) for disk in COMING]
    return Table(400, knobs)


def queues() -> Table:
    """Most of these freeze the queue."""
    knobs = []
    for disk in (*DISKS, *COMING):
        gone = GONE if disk in COMING else ()
        knobs += [
            Knob(f"/sys/block/{disk}/queue/{name}", values, (*allowed, *gone))
            for name, values, allowed in (
                # EINVAL: without a scheduler the limit is the driver's
                ("nr_requests", ("256", "4..512", "4..32"), ("EBUSY", "EINVAL")),
                ("async_depth", ("1..512",), ("EINVAL",)),
                ("rotational", ("0", "1", "1"), ()),
                ("max_sectors_kb", ("4..512", "512"), ("EINVAL",)),
                ("nomerges", ("0", "1", "2"), ()),
                ("rq_affinity", ("0", "1", "2"), ()),
                ("add_random", ("0", "1"), ("EINVAL",)),
                ("read_ahead_kb", ("0", "128", "4..512"), ()),
                ("wbt_lat_usec", ("-1", "0", "75000"), ("EINVAL",)),
            )
        ]
    return Table(200, knobs)


def tunables() -> Table:
    """The scheduler may have changed before its file is written."""
    gone = ("ENOENT", "ENODEV", "EACCES")
    return Table(30, [
        Knob(f"/sys/block/{disk}/queue/iosched/{name}", tuple(values),
             (*gone, "EINVAL") if name in OTHER else gone)
        for disk in DISKS for name, values in {**CFQ, **OTHER}.items()])


def cpus() -> Table:
    return Table(5000, [Knob("/sys/devices/system/cpu/cpu1/online", ("0", "1"), ("EBUSY",))])


def hardware_queues() -> Table:
    """Changing their number needs memory, which may fail."""
    return Table(2000, [Knob(f"{NULLB}/{disk}/submit_queues", ("1", "2"), ("ENOMEM",))
                        for disk in ("clean", "turns", "faulty")])


def traces() -> Table:
    """Rare: a change switches static keys, and QEMU translates all code again."""
    knobs = []
    for disk in ("clean", "files", "turns"):
        knobs.append(Knob(f"/sys/block/{disk}/trace/vfs", OPERATIONS))
    return Table(1000, knobs)


def faults(injected: bool) -> Table:
    """Faults of the disk `faulty` only; bad blocks require no fault injection."""
    knobs = [Knob(f"{NULLB}/faulty/badblocks", ("+64-71", "-64-71", "+4096-4200", "-0-32767"), ("EINVAL",))]
    if injected:
        knobs += [
            Knob(f"{NULLB}/faulty/timeout_inject/probability", ("0", "0", "1")),
            Knob(f"{NULLB}/faulty/requeue_inject/probability", ("0", "1..30")),
            Knob(f"{DEBUG}/fail_io_timeout/probability", ("0", "0", "1")),
            Knob(f"{DEBUG}/fail_make_request/probability", ("0", "1..10")),
            Knob("/sys/block/faulty/io-timeout-fail", ("0", "1")),
            Knob("/sys/block/faulty/make-it-fail", ("0", "1")),
            Knob("/sys/block/faulty/queue/io_timeout", ("500", "1000", "2000")),
        ]
    return Table(500, knobs)


def tables(injected: bool) -> dict[str, Table]:
    """@injected: the kernel can inject faults"""
    return {
        "schedulers": schedulers(),
        "queues": queues(),
        "tunables": tunables(),
        "cpus": cpus(),
        "hardware-queues": hardware_queues(),
        "traces": traces(),
        "faults": faults(injected),
    }
