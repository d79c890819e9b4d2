# SPDX-License-Identifier: GPL-2.0
"""The invariants of the scheduler, checked on each sample."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import load
from .load import Bounds
from .samples import Event, Operation, Queue, Reservation, Sample

CLASSES = ("RT", "BW", "BE", "idle")
RESERVING = ("BW", "BE")  # of a process, and of a control group
RATE_UNIT = 128 << 10
TAGS = max(int(number) for number in load.QUEUE["nr_requests"])
LARGEST_REQUEST = max(int(kib) for kib in load.QUEUE["max_sectors_kb"]) << 10
SMALLEST_REQUEST = min(int(kib) for kib in load.QUEUE["max_sectors_kb"]) << 10
# The kernel reads the clock for each line of a file, which takes 128 ns of virtual time.
LINE_US = 0.2
ROUNDING_US = 2
KEPT_EVENTS = 30


@dataclass(frozen=True)
class Violation:
    """The invariant that does not hold, and the details."""

    invariant: str
    detail: str


@dataclass(frozen=True)
class Line:
    """A line written to io.bw; `bps` 0: no reservation."""

    bps: int = 0
    delay_us: int = 0
    burst: int = 0

    @classmethod
    def of(cls, words: list[str]) -> Line:
        values = dict(word.split("=") for word in words if "=" in word)
        return cls(*(int(values.get(key, 0)) for key in ("bps", "delay", "burst")))


@dataclass
class History:
    """What earlier samples and events of a disk have shown."""

    # Completed requests, flushes begun and flushes ended at the time when the scheduler was set;
    # None while it is being switched.
    baseline: tuple[int, int, int] | None = None
    # When the scheduler was set, in ns.
    set_at: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    # The largest values since the scheduler was set.
    bucket_ms: int = 0
    seek_kb: int = 0
    delays_ms: list[int] = field(default_factory=lambda: [0] * 8)
    # The largest and the smallest rate of each process; a key for every process that was a worker.
    rates: dict[int, int] = field(default_factory=dict)
    slowest: dict[int, int] = field(default_factory=dict)
    # The most requests, of SMALLEST_REQUEST, that may wait at the same time, by process.
    waiting: dict[int, int] = field(default_factory=dict)
    # The same for the threads of io_uring, which the kernel starts: the largest of all workers that use it.
    uring_requests: int = 1
    # The indexes of the delays that each process has asked for.
    delays: dict[int, set[int]] = field(default_factory=dict)
    # When a scheduler without a latency bound was last replaced, in ns; infinite while it is set.
    bounded_since: float = -math.inf
    # When a process was last seen waiting for a tag, in ns.
    tag_waits: dict[int, int] = field(default_factory=dict)
    # The lines that each control group has written, by its ID.
    lines: dict[int, list[Line]] = field(default_factory=dict)
    events: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))

    def bounded_ns(self, pid: int, age_ns: int, now_ns: int) -> float:
        """The part of an age during which a bound applied and, as far as is known, the request existed."""
        return min(age_ns, now_ns - max(self.bounded_since, self.tag_waits.get(pid, -math.inf)))

    def new_scheduler(self, time_ns: int, completed: int, begun: int, ended: int) -> None:
        self.set_at = time_ns
        self.baseline = completed, begun, ended
        self.counters = {}
        self.bucket_ms = int(load.TUNABLES["bw_bucket_ms"][0])
        self.seek_kb = int(load.TUNABLES["bw_seek_kb"][0])
        self.delays_ms = [int(delay) for delay in load.TUNABLES["bw_delays_ms"][0].split()]

    def least_tokens(self, pid: int) -> int:
        """The lowest value that the tokens of a process may have, in bytes (negative).

        Requests are charged when they arrive. Parts of a bio have the deadline of the first: a bucket, or the rate
        for the delay. Requests that wait add to that, and one that is in the drive; each may have been merged with
        more. Tunables and rates may have been larger when the debt arose. A change of the rate converts a debt: the
        seconds stay the same, from the smallest rate to the largest.
        """
        rate = self.rates.get(pid, load.RATE_MAX)
        requests = self.waiting.get(pid, self.uring_requests)
        waiting = requests * max(LARGEST_REQUEST, self.seek_kb << 10) + 2 * LARGEST_REQUEST
        times = max(1, -(-rate // (self.slowest.get(pid) or RATE_UNIT)))
        delay_ms = max((self.delays_ms[index] for index in self.delays.get(pid, ())), default=max(self.delays_ms))
        return -(rate * max(self.bucket_ms, delay_ms) // 1000) - waiting * times

    def least_tokens_of_group(self, cgroup: int) -> int:
        """The same for a control group: its requests may have all tags, under any line that it has written."""
        lines = [line for line in self.lines.get(cgroup, []) if line.bps]
        if not lines:
            return 0
        rates = [line.bps for line in lines]
        seconds = max(max(line.delay_us / 1e6, line.burst / line.bps) for line in lines)
        waiting = (TAGS + 1) * max(LARGEST_REQUEST, self.seek_kb << 10)
        return -math.ceil(max(rates) * seconds + waiting * max(rates) / min(rates))

    def has_reservation(self, pid: int, ioprio: int, mixed: bool = False) -> None:
        """Record the priority of a process; if mixed, each of its requests has another one."""
        rate = rate_of(ioprio)
        least, most = (RATE_UNIT, load.RATE_MAX) if mixed else (rate, rate)
        if most:
            self.delays.setdefault(pid, set()).update(range(8) if mixed else (ioprio & 7,))
        self.rates[pid] = max(self.rates.get(pid, 0), most)
        if least:
            self.slowest[pid] = min(self.slowest.get(pid, least), least)


def rate_of(ioprio: int) -> int:
    """The rate that a priority of class BW reserves, in bytes per second; 0 for other classes."""
    return (ioprio >> 3 & 1023) * 128 * 1024 if ioprio >> 13 == 4 else 0


def busy_queues(sample: Sample) -> list[Queue]:
    return ([sample.active] if sample.active else []) + sample.service_tree


def is_fallback(queue: Queue, sample: Sample) -> bool:
    """It has no process and is not listed; that of a control group, which has none either, is."""
    return queue.sync and queue.pid == 0 and queue.key not in {listed.key for listed in sample.queues}


def check_service_order(sample: Sample) -> Iterator[str]:
    for before, after in zip(sample.service_tree, sample.service_tree[1:], strict=False):
        ranks = CLASSES.index(before.cls), CLASSES.index(after.cls)
        if ranks[0] > ranks[1]:
            yield f"class {after.cls} (pid {after.pid}) is behind {before.cls} (pid {before.pid})"
        elif ranks[0] == ranks[1]:
            early = (before.service_in_us or 0) - (after.service_in_us or 0)
            if early > ROUNDING_US + LINE_US * len(sample.service_tree):
                yield f"pid {after.pid} is {early} us ahead of pid {before.pid}, but sorted behind it"


def check_sort_order(sample: Sample) -> Iterator[str]:
    for before, after in zip(sample.sort_tree, sample.sort_tree[1:], strict=False):
        if before.sector > after.sector:
            yield f"sector {after.sector} (pid {after.pid}) is behind {before.sector} (pid {before.pid})"


def check_sort_members(sample: Sample) -> Iterator[str]:
    sorted_pids = Counter(entry.pid for entry in sample.sort_tree)
    waiting = Counter(queue.pid for queue in sample.service_tree if queue.cls in RESERVING)
    if not sorted_pids <= waiting:
        yield f"sort_tree has {sorted(sorted_pids.elements())}, service_tree {sorted(waiting.elements())}"


def check_busy(sample: Sample) -> Iterator[str]:
    listed = Counter(queue.cls for queue in busy_queues(sample))
    for cls, number in sample.busy.items():
        if number != listed[cls]:
            yield f"busy {cls} {number}, but {listed[cls]} queues of this class are listed"


def check_waiting_in_trees(sample: Sample) -> Iterator[str]:
    for queue in sample.service_tree:
        if not queue.queued:
            yield f"pid {queue.pid} {queue.cls} is in the service tree without a request"
    # a process may have one that spends its own reservation, and one that spends its group's
    there = Counter(queue.key for queue in busy_queues(sample))
    waiting = Counter(queue.key for queue in sample.queues if queue.queued)
    listed = Counter(queue.key for queue in sample.queues)
    for queue in sample.queues:
        if there[queue.key] < waiting[queue.key]:
            yield f"pid {queue.pid} {queue.cls} has {queue.queued} requests and is not in the service tree"
    for key, number in there.items():
        if number > max(listed[key], 1):
            yield f"pid {key[0]} {key[2]} is {number} times in the service tree"


def check_counts(sample: Sample) -> Iterator[str]:
    fallback = [queue for queue in busy_queues(sample) if is_fallback(queue, sample)]
    for name in ("queued", "in_drive"):
        total = sample.state.get(name, 0)
        listed = sum(getattr(queue, name) for queue in sample.queues + fallback)
        # a fallback queue that is not busy is not listed, but may have requests in the drive
        hidden = sample.counters.get("fallback", 0) and not fallback and name == "in_drive"
        if total < listed or (total > listed and not hidden):
            yield f"{name} {total}, but {listed} in all queues together"


def check_drive_depth(sample: Sample) -> Iterator[str]:
    if sample.state.get("in_drive", 0) > sample.state.get("drive_depth", 0):
        yield f"{sample.state['in_drive']} requests in a drive of depth {sample.state['drive_depth']}"


def check_references(sample: Sample) -> Iterator[str]:
    for queue in sample.queues:
        held = queue.queued + queue.in_drive + queue.active
        # and one by the process, unless it has ended
        if not held <= queue.refs <= held + 1:
            yield f"pid {queue.pid} {queue.cls} has {queue.refs} references, but {held} or {held + 1} holders"


def check_slices(sample: Sample) -> Iterator[str]:
    ended = sum(value for name, value in sample.counters.items() if name.startswith("expired_"))
    running = sample.active is not None
    if sample.counters and sample.counters["slices"] != ended + running:
        yield f"{sample.counters['slices']} slices, but {ended} ended and {int(running)} active"


def check_events(sample: Sample) -> Iterator[str]:
    """Each request with a reservation counts one deadline, when it completes; each idle wait ends once.

    The queues of control groups are of class BE.
    """
    counters = Counter(sample.counters)
    counted = counters["bw_deadlines_met"] + counters["bw_deadlines_missed"]
    done = sum(counters[f"dispatched_{cls}"] for cls in RESERVING) - sum(
        queue.in_drive for queue in sample.queues if queue.cls in RESERVING)
    if counted > done:
        yield f"{done} requests of classes BW and BE completed, but {counted} deadlines met or missed"
    if counters["idle_hits"] > counters["idle_waits"]:
        yield f"idle_waits {counters['idle_waits']}, but idle_hits {counters['idle_hits']}"


def check_reservation(reservation: Reservation, least: int) -> Iterator[str]:
    if reservation.tokens > reservation.bucket:
        yield f"pid {reservation.pid} has {reservation.tokens} tokens in a bucket of {reservation.bucket}"
    if reservation.tokens < least:
        yield f"pid {reservation.pid} has {reservation.tokens} tokens; the minimum is {least}"


def check_slack(sample: Sample) -> Iterator[str]:
    for reservation in sample.reservations:
        by_slack = sum(reservation.slack)
        if by_slack != reservation.met:
            yield f"pid {reservation.pid} has met {reservation.met} deadlines, but {by_slack} in slack0 to slack7"


def check_tokens(sample: Sample, history: History) -> Iterator[str]:
    for reservation in sample.reservations:
        least = (history.least_tokens_of_group(reservation.cgroup) if reservation.cgroup
                 else history.least_tokens(reservation.pid))
        yield from check_reservation(reservation, least)


def check_deadlines(sample: Sample, history: History) -> Iterator[str]:
    """A deadline is at most the delay away, and for read-ahead also the time that fills the bucket."""
    delays_ms: dict[int, float] = {}
    for reservation in sample.reservations:
        bucket_ms = reservation.bucket * 1000 / reservation.rate if reservation.cgroup else history.bucket_ms
        delays_ms[reservation.pid] = max(delays_ms.get(reservation.pid, 0), reservation.delay_ms + bucket_ms)
    for entry in sample.sort_tree:
        if entry.deadline_us > delays_ms.get(entry.pid, 0) * 1000:
            yield f"pid {entry.pid} has a deadline in {entry.deadline_us} us, later than its delay allows"


def check_counters_grow(sample: Sample, history: History) -> Iterator[str]:
    for name, value in sample.counters.items():
        if value < history.counters.get(name, 0):
            yield f"{name} decreased from {history.counters[name]} to {value}"


def check_completed(sample: Sample, history: History) -> Iterator[str]:
    """Dispatched requests are in the drive or completed; flushes complete without being dispatched."""
    if history.baseline is None or not sample.counters:
        return
    completed, begun, ended = history.baseline
    dispatched = sum(value for name, value in sample.counters.items() if name.startswith("dispatched_"))
    gone = dispatched - sample.state["in_drive"]
    # a flush that has begun may have completed or not
    least, most = sample.flushes_ended - begun, sample.flushes_begun - ended
    if not least <= sample.completed - completed - gone <= most:
        yield (
            f"{dispatched} dispatched, {sample.state['in_drive']} in the drive, {least} to {most} flushes, "
            f"but {sample.completed - completed} completed"
        )


def check_rest(sample: Sample, history: History) -> Iterator[str]:
    """All processes have ended and all data is written: nothing may be left."""
    for name in ("queued", "in_drive"):
        if sample.state.get(name):
            yield f"{name} {sample.state[name]}"
    if sample.service_tree:
        yield f"{len(sample.service_tree)} queues in the service tree"
    if sample.sort_tree:
        yield f"{len(sample.sort_tree)} queues in the sort tree"
    # the last active queue stays so until another queue has a request, even if its process has ended
    last = sample.active.key if sample.active and sample.active.refs == 1 else None
    for queue in sample.queues:
        if queue.sync and queue.pid in history.rates and queue.key != last:
            yield f"the {queue.cls} queue of process {queue.pid}, which has ended"
        elif queue.pid == 0 and queue.cls == "BW" and queue.key != last:
            yield f"a control group's {'sync' if queue.sync else 'async'} queue of no process, without requests"
    for reservation in sample.reservations:
        if reservation.pid in history.rates and (reservation.pid, True, "BW", -1) != last:
            yield f"the reservation of process {reservation.pid}, which has ended"
    if sample.operations:
        yield f"{len(sample.operations)} workers"


def waiting_for_tags(sample: Sample) -> Iterator[Operation]:
    """The operations whose process may be waiting for a tag: it has no request while some process waits for a tag.

    Only cfq shows whose requests it has: under another scheduler it may be any operation.
    """
    if not sample.tag_waiters:
        return
    with_requests = {queue.pid for queue in sample.queues if queue.sync and (queue.queued or queue.in_drive)}
    yield from (operation for operation in sample.operations if operation.age_ns and operation.pid not in with_requests)


def category_of(kind: str, category: str) -> str:
    return "write" if kind.endswith("writer") else category


def spenders(sample: Sample) -> Iterator[str]:
    """The kind of each reservation: a process's own, a control group's used by a process, or without a process."""
    for reservation in sample.reservations:
        if not reservation.cgroup:
            yield "process"
        else:
            yield "group" if reservation.pid else "group, no process"


def check_age(sample: Sample, history: History, bounds: Bounds) -> Iterator[str]:
    for operation in sample.operations:
        category = category_of(operation.kind, operation.category)
        limit = bounds.by_category[category] * operation.requests
        age_ns = history.bounded_ns(operation.pid, operation.age_ns, sample.time_ns)
        if age_ns > limit:
            yield (
                f"pid {operation.pid} ({operation.kind}, {operation.category}) has waited for "
                f"{age_ns / 1e9:.3f} s; the bound of its {operation.requests} requests is {limit / 1e9:.3f} s"
            )
    for worst in sample.worst:
        limit = bounds.by_category[worst.category]
        took_ns = history.bounded_ns(worst.pid, worst.by_request_ns, sample.time_ns)
        if took_ns > limit:
            yield (
                f"pid {worst.pid} ({worst.category}) had a request that took {took_ns / 1e9:.3f} s; "
                f"the bound is {limit / 1e9:.3f} s"
            )


# Each check uses one file only.
OF_ONE_FILE = {
    "service tree in order": check_service_order,
    "sort tree in order": check_sort_order,
    "drive no fuller than its depth": check_drive_depth,
    "references have holders": check_references,
    "slack counted once": check_slack,
}
# Each check compares files, which must be of the same moment.
OF_ONE_MOMENT = {
    "sort tree has waiting BW queues": check_sort_members,
    "busy counts": check_busy,
    "trees have waiting queues": check_waiting_in_trees,
    "requests counted once": check_counts,
    "slices end once": check_slices,
    "events counted once": check_events,
}
WITH_HISTORY = {
    "deadlines in range": check_deadlines,
    "counters grow": check_counters_grow,
    "dispatched requests complete": check_completed,
}


class Checker:
    """Checks the events and samples of a guest, in their order."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.history: dict[str, History] = {}
        self.samples = 0
        self.torn = 0
        self.rests = 0
        self.events = 0
        self.switches = 0
        self.time_ns = 0
        self.completed: dict[str, int] = {}
        self.worst_ns = dict.fromkeys(load.CATEGORIES, 0)
        self.tag_wait_ns = 0
        self.counters: Counter[str] = Counter()
        self.slab: dict[str, int] = {}
        self.spenders: Counter[str] = Counter()

    @property
    def requests(self) -> int:
        return sum(self.completed.values())

    def of_disk(self, disk: str) -> History:
        return self.history.setdefault(disk, History())

    def event(self, event: Event) -> Violation | None:
        history = self.of_disk(event.disk)
        history.events.append(f"{event.time_ns / 1e9:.6f} {' '.join(event.words)}")
        self.events += 1
        match event.words:
            case ["start", "pid", pid, kind, "ioprio", ioprio, "mixed", mixed, "requests", requests, *_]:
                history.rates.pop(int(pid), None)
                history.slowest.pop(int(pid), None)
                history.tag_waits.pop(int(pid), None)
                history.delays.pop(int(pid), None)
                history.waiting[int(pid)] = int(requests)
                if kind == "uring":
                    history.uring_requests = max(history.uring_requests, int(requests))
                history.has_reservation(int(pid), int(ioprio, 16), mixed == "1")
            case ["stop", "pid", pid]:
                # the last process to close a device writes all its dirty pages
                history.waiting[int(pid)] = TAGS
            case ["ioprio", "pid", pid, ioprio]:
                history.has_reservation(int(pid), int(ioprio, 16))
            case ["line", cgroup, *words]:
                history.lines.setdefault(int(cgroup), []).append(Line.of(words))
            case ["set", "bw_bucket_ms", value]:
                history.bucket_ms = max(history.bucket_ms, int(value))
            case ["set", "bw_seek_kb", value]:
                history.seek_kb = max(history.seek_kb, int(value))
            case ["set", "bw_delays_ms", *values]:
                history.delays_ms = [max(pair) for pair in zip(history.delays_ms, map(int, values), strict=True)]
            case ["switch", *_]:
                self.counters.update(history.counters)
                history.counters = {}
                history.baseline = None
                self.switches += 1
            case ["scheduler", name, "completed", completed, "flushes", begun, ended]:
                if name == load.UNBOUNDED:
                    history.bounded_since = math.inf
                elif history.bounded_since == math.inf:
                    history.bounded_since = event.time_ns
                history.new_scheduler(event.time_ns, int(completed), int(begun), int(ended))
            case ["slab", name, value]:
                self.slab[name] = int(value)
                if int(value):
                    return Violation("no leak", f"{value} objects of {name} are left when no disk has a scheduler")
        return None

    def _violations(self, sample: Sample, history: History) -> Iterator[Violation]:
        for name, check in OF_ONE_FILE.items():
            yield from (Violation(name, detail) for detail in check(sample))
        yield from (Violation("tokens in range", detail) for detail in check_tokens(sample, history))
        yield from (Violation("no request too old", detail) for detail in check_age(sample, history, self.bounds))
        if sample.whole:
            for name, check in OF_ONE_MOMENT.items():
                yield from (Violation(name, detail) for detail in check(sample))
            for name, compare in WITH_HISTORY.items():
                yield from (Violation(name, detail) for detail in compare(sample, history))
        if sample.phase != "run":
            yield from (Violation("nothing left at rest", detail) for detail in check_rest(sample, history))

    def sample(self, sample: Sample) -> Violation | None:
        """The first invariant that does not hold, if any."""
        history = self.of_disk(sample.disk)
        # the director has a higher priority: it may switch the scheduler while a sample is taken
        if sample.time_ns < history.set_at:
            self.samples += 1
            self.torn += 1
            return None
        for operation in waiting_for_tags(sample):
            history.tag_waits[operation.pid] = sample.time_ns
            if sample.counters:
                self.tag_wait_ns = max(self.tag_wait_ns, operation.age_ns)
        violation = next(self._violations(sample, history), None)
        history.counters = sample.counters
        if sample.whole:
            self.spenders.update(spenders(sample))
        self.samples += 1
        self.torn += not sample.whole
        self.rests += sample.phase != "run"
        self.time_ns = sample.time_ns
        self.completed[sample.disk] = sample.completed
        for worst in sample.worst:
            took_ns = history.bounded_ns(worst.pid, worst.by_request_ns, sample.time_ns)
            self.worst_ns[worst.category] = int(max(self.worst_ns[worst.category], took_ns))
        return violation

    def totals(self) -> dict[str, int]:
        """The sum of the counters of all schedulers that were set, as last seen."""
        total = Counter(self.counters)
        for history in self.history.values():
            total.update(history.counters)
        return dict(sorted(total.items()))
