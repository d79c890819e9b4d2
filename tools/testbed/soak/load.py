# SPDX-License-Identifier: GPL-2.0
"""The lists that the load is drawn from, and the latency bounds that follow from them.

The guest draws from these lists; invariants.py computes the bounds from the same lists.
"""

from dataclasses import dataclass

from tools.testbed.disk import device, presets

MSEC = 1_000_000
SECOND = 1_000_000_000

SLOTS = 8
PHASE_NS = 180 * SECOND
SAMPLE_NS = SECOND
EVENT_NS = 50 * MSEC

# The disks of a guest: preset and queue depth.
DRIVES = (
    ("barracuda-7200.11", 32),
    ("desktop-7200", 1),
    ("cheetah-15k", 32),
    ("laptop-5400", 4),
)

# Values to draw for queue/iosched/NAME; the first is the default.
TUNABLES: dict[str, list[str]] = {
    "slice_sync_ms": ["100", "1", "10", "40", "150"],
    "slice_async_rq": ["2", "1", "8", "100"],
    "slice_idle_us": ["8000", "0", "1000", "20000"],
    "prio_aging_ms": ["500", "100", "250"],
    "bw_bucket_ms": ["3000", "10", "200", "5000"],
    "bw_seek_kb": ["64", "0", "1024"],
    "bw_share_percent": ["95", "10", "100"],
    "bw_depth": ["1", "0"],
    "bw_delays_ms": ["25 50 100 200 500 800 1000 2000", "1 2 3 4 5 6 7 8", "100 1 1000 1 5000 1 30 1"],
}

# Values to draw for queue/NAME. max_sectors_kb is never below the guest's SMALLEST_REQUEST.
QUEUE: dict[str, list[str]] = {
    "nr_requests": ["256", "8", "32", "64"],
    "rotational": ["1", "0"],
    "max_sectors_kb": ["512", "128", "256"],
    "read_ahead_kb": ["128", "0", "512"],
}

# Control groups that are created and removed, and the lines that are written to io.bw. A line sets
# every key: a key that is left out would keep its value. Most lines reserve.
GROUPS = 4
LINES = [
    "bps=4096 delay=1000000 burst=65536",
    "bps=1048576 delay=100000 burst=65536",
    "bps=2097152 delay=500000 burst=6291456",
    "bps=8388608 delay=50000 burst=1048576 streams=4",
    "bps=16777216 delay=5000 burst=100000000",
    "bps=524288 delay=2000000 burst=1048576",
    "none",
]

SCHEDULERS = ["cfq", "mq-deadline", "none", "bfq"]
# Its classes are strict: a request waits as long as a better class has requests.
UNBOUNDED = "bfq"
# With this aging, requests under the scheduler keep the bound, too.
OTHERS = [("mq-deadline", "prio_aging_expire", "500")]

# The largest rate that the guest draws, in bytes a second.
RATE_MAX = 16 << 20

# How long a drive that reorders may serve other requests: it lets a request wait for REORDER_MS,
# and then first serves up to 32 that have waited as long, at 18 ms each on the slowest disk with
# so many tags.
REORDER_MS = 100
DRIVE_NS = (REORDER_MS + 32 * 18) * MSEC
# Changing the scheduler or nr_requests freezes the queue until all requests are served. Two
# changes of one disk rarely follow each other immediately.
FREEZE_NS = 10 * SECOND
# Asynchronous queues in class BE: writers use the levels 0, 4 and 7.
ASYNC_QUEUES = 3

CATEGORIES = ("rt", "bw", "be", "idle", "write")


def _most(name: str) -> int:
    return max(int(value) for value in TUNABLES[name])


@dataclass(frozen=True)
class Bounds:
    """The most nanoseconds that a request of a category may take.

    An operation of n requests may take n times as long: aging serves the requests of a starved
    queue one at a time.
    """

    by_category: dict[str, int]

    @classmethod
    def of_load(cls, slots: int = SLOTS) -> "Bounds":
        # each control group may have two queues without a process
        queues = slots + ASYNC_QUEUES + 2 * GROUPS
        # level 0 has 1.8 times the slice of level 4
        turn = _most("slice_sync_ms") * MSEC * 9 // 5 + DRIVE_NS
        first = queues * turn + FREEZE_NS
        # RT only waits for requests that have aged, one of each class
        aged = queues * (turn + _most("prio_aging_ms") * MSEC) + FREEZE_NS
        return cls({name: first if name == "rt" else aged for name in CATEGORIES})

    @classmethod
    def uniform(cls, bound_ns: int) -> "Bounds":
        return cls({name: bound_ns for name in CATEGORIES})


def disk_lines(name: str, preset: str, depth: int) -> list[str]:
    disk = presets.load(preset)
    attributes = {**disk.attributes, "rot/reorder_ms": str(REORDER_MS)}
    return [*presets.job_lines(f"{device.CONFIGFS}/{name}", attributes, depth),
            f"disk {name} {disk.attributes['size']}"]


def job_text(seed: int, requests: int, until_ns: int, schedulers: list[str]) -> str:
    """The guest's job: the disks, the lists to draw from, and when to end."""
    lines = ["# job of the soak's guest"]
    for number, (preset, depth) in enumerate(DRIVES):
        lines += disk_lines(f"rot{number}", preset, depth)
    lines += [f"tunable {name} {'|'.join(values)}" for name, values in TUNABLES.items()]
    lines += [f"queue {name} {'|'.join(values)}" for name, values in QUEUE.items()]
    lines += [f"groups {GROUPS}", f"line {'|'.join(LINES)}"]
    lines.append(f"scheduler {'|'.join(schedulers)}")
    lines += [f"other {' '.join(words)}" for words in OTHERS if words[0] in schedulers]
    lines += [
        f"slots {SLOTS}",
        f"phase_ns {PHASE_NS}",
        f"sample_ns {SAMPLE_NS}",
        f"event_ns {EVENT_NS}",
        f"seed {seed}",
        f"requests {requests}",
        f"until_ns {until_ns}",
    ]
    return "\n".join(lines) + "\n"
