# SPDX-License-Identifier: GPL-2.0
"""Parses the bytes of a recording into events sorted by time.

No input makes the parser fail: it leaves out what it cannot read and adds an entry
to a list of problems. Time and memory are linear in the size of the input. Payloads
are not copied: an event has the offset of its payload.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import blktrace_format as fmt

# Headers are copied for decoding; this many at a time.
CHUNK = 1 << 15

# No disk has more sectors (2^55 sectors are 2^64 bytes): a larger number is damage.
SECTOR_LIMIT = 1 << 55

# Limits of time, ns: a jump this far forth and back on one CPU, or a recording this long, is damage.
SPIKE_NS = 10 * 10**9
LONGEST_NS = 30 * 86400 * 10**9

# Maximum number of problems listed for a file; further ones are counted.
MOST_PROBLEMS = 100

# A larger gap between two sequence numbers is not a loss of events but a damaged number.
GAP_LIMIT = 1 << 28


@dataclass(frozen=True)
class Problem:
    """A part of the input that could not be parsed."""

    source: str
    text: str
    offset: int | None = None

    def __str__(self) -> str:
        at = "" if self.offset is None else f" at byte {self.offset}"
        return f"{self.source}{at}: {self.text}"


@dataclass(frozen=True)
class Lost:
    """Dropped events: how many, and between which times (ns)."""

    start: int
    end: int
    count: int
    cpu: int
    device: int


@dataclass
class Scan:
    """The offsets of the records in one buffer."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    layouts: bytearray = field(default_factory=bytearray)
    consumed: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    unnamed_problems: int = 0

    def add_problem(self, offset: int, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((offset, text))
        else:
            self.unnamed_problems += 1


_ORDERED = list(fmt.LAYOUTS.values())
_NUMBERED = {magic: (number, layout.size, layout.payload_length.unpack_from,
                     layout.payload_length_at)
             for number, (magic, layout) in enumerate(fmt.LAYOUTS.items())}


def is_trace(data: bytes) -> bool:
    """Whether the data contains the beginning of a record."""
    return fmt.ANY_MAGIC.search(data) is not None


def scan(data: bytes, final: bool = True) -> Scan:
    """Find the records; without `final` an incomplete record at the end may still grow.

    If a record is not followed by another record (or the end), either of them is
    damaged: its header is kept and the search continues after the header.
    """
    found = Scan()
    offsets, layouts = found.offsets, found.layouts
    position, end = 0, len(data)
    while end - position >= 4:
        known = _NUMBERED.get(data[position:position + 4])
        if known is None:
            position = _skip(data, position, position, found, final)
            if position < 0:
                break
            continue
        number, size, unpack, at = known
        header_end = position + size
        if header_end > end:
            if not final or not _resume_inside(data, position, found):
                break
            position = found.consumed
            continue
        after = header_end + unpack(data, position + at)[0]
        if after + 4 <= end and data[after:after + 4] not in _NUMBERED or after > end:
            if after > end and (not final
                                or fmt.ANY_MAGIC.search(data, header_end) is None):
                break
            offsets.append(position)
            layouts.append(number)
            position = _skip(data, header_end, after, found, final)
            if position < 0:
                break
            continue
        offsets.append(position)
        layouts.append(number)
        position = found.consumed = after
    if final and found.consumed < end:
        left = end - found.consumed
        found.add_problem(found.consumed,
                          f"the recording ends in the middle of a record ({left} bytes are left)")
        found.consumed = end
    return found


def _resume_inside(data: bytes, position: int, found: Scan) -> bool:
    """The header at `position` is truncated: look for a record that starts within it."""
    match = fmt.ANY_MAGIC.search(data, position + 1)
    if match is None:
        found.consumed = position
        return False
    found.add_problem(position, f"{match.start() - position} bytes are not a record")
    found.consumed = match.start()
    return True


def _skip(data: bytes, start: int, expected: int, found: Scan, final: bool) -> int:
    """The position of the next record from `start` on, or -1; adds a problem at `expected`."""
    match = fmt.ANY_MAGIC.search(data, start)
    if match is not None:
        found.add_problem(min(expected, match.start()),
                          f"damaged: the next record is at byte {match.start()}")
        found.consumed = match.start()
        return match.start()
    # The last three bytes may be the beginning of an incomplete magic number.
    keep = len(data) if final else max(start, len(data) - 3)
    found.add_problem(start, f"damaged: the last {len(data) - start} bytes are not a record")
    found.consumed = keep
    return -1


@dataclass
class Source:
    """A piece of a recording: its name for messages, and its bytes."""

    name: str
    data: bytes


@dataclass
class Events:
    """All events, sorted by time; each field is an array of the same length.

    time in ns, sector in sectors of 512 bytes, length in bytes, action one of fmt.LETTERS,
    category as in blktrace_format.py (READ, WRITE, ...), error an errno.
    """

    time: NDArray[np.int64]
    sector: NDArray[np.int64]
    length: NDArray[np.int64]
    action: NDArray[np.uint8]
    category: NDArray[np.uint32]
    pid: NDArray[np.int64]
    device: NDArray[np.uint32]
    cpu: NDArray[np.int32]
    error: NDArray[np.uint16]
    sequence: NDArray[np.uint32]
    source: NDArray[np.uint16]
    payload_at: NDArray[np.int64]
    payload_length: NDArray[np.uint16]
    has_cgroup: NDArray[np.bool_]
    big_endian: NDArray[np.bool_]
    sources: Sequence[Source] = ()

    def __len__(self) -> int:
        return len(self.time)

    def payload(self, index: int) -> bytes:
        """The bytes after the record's header, without the cgroup ID."""
        start = int(self.payload_at[index])
        end = start + int(self.payload_length[index])
        if self.has_cgroup[index]:
            start = min(start + fmt.CGROUP_BYTES, end)
        return self.sources[int(self.source[index])].data[start:end]

    def cgroup(self, index: int) -> int | None:
        """The cgroup ID (its inode number), if the event has one."""
        if not self.has_cgroup[index]:
            return None
        start = int(self.payload_at[index])
        raw = self.sources[int(self.source[index])].data[start:start + fmt.CGROUP_BYTES]
        if len(raw) != fmt.CGROUP_BYTES:
            return None
        return int.from_bytes(raw, "big" if self.big_endian[index] else "little")

    def text(self, index: int) -> str:
        """The payload as text: a message or the name of a process."""
        return self.payload(index).split(b"\0", 1)[0].decode("utf-8", "replace").strip()

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Events:
        """A selection of the events."""
        arrays = {name: getattr(self, name)[which] for name in _ARRAYS}
        return Events(**arrays, sources=self.sources)


_ARRAYS = [name for name in Events.__dataclass_fields__ if name != "sources"]


@dataclass
class Trace:
    """The events of a recording, with problems and losses."""

    events: Events
    problems: list[Problem] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    unknown_actions: int = 0

    def devices(self) -> dict[int, int]:
        """Number of events of each device, the largest first."""
        numbers, counts = np.unique(self.events.device, return_counts=True)
        pairs = sorted(zip(numbers.tolist(), counts.tolist(), strict=True),
                       key=lambda pair: -pair[1])
        return dict(pairs)


def parse(sources: Iterable[Source]) -> Trace:
    """Parse all sources and merge their events by time."""
    sources = list(sources)
    problems: list[Problem] = []
    parts: list[Events] = []
    for number, source in enumerate(sources):
        found = scan(source.data)
        problems += named_problems(source.name, found)
        part, implausible = plausible(decode(source, number, found), source.name)
        problems += implausible
        parts.append(part)
    return merge(parts, sources, problems)


def named_problems(name: str, found: Scan) -> list[Problem]:
    problems = [Problem(name, text, offset) for offset, text in found.problems]
    if found.unnamed_problems:
        problems.append(Problem(name, f"{found.unnamed_problems} more damaged places (not listed)"))
    return problems


def merge(parts: Sequence[Events], sources: Sequence[Source], problems: list[Problem]) -> Trace:
    """Merge parts into one trace: sort by time, find losses."""
    events = _joined(parts, sources)
    events, outliers = _without_outliers(events)
    problems = problems + outliers
    lost = find_lost(events)
    order = np.argsort(events.time, kind="stable")
    events = events.take(order)
    unknown = int(np.count_nonzero(~np.isin(events.action, list(fmt.LETTERS))))
    return Trace(events, problems, lost, unknown)


def add(trace: Trace, source: Source) -> Trace:
    """Add the messages of another source, which have no sequence numbers."""
    sources = [*trace.events.sources, source]
    events = _joined([trace.events, decode(source, len(sources) - 1, scan(source.data))], sources)
    order = np.argsort(events.time, kind="stable")
    return Trace(events.take(order), list(trace.problems), trace.lost, trace.unknown_actions)


def clock(events: Events) -> tuple[int, int] | None:
    """A time of the trace and the wall clock (ns since 1970) at that time, if the trace has it."""
    for index in np.flatnonzero(events.action == fmt.NOTE_TIMESTAMP)[:1].tolist():
        payload = events.payload(index)
        if len(payload) < 8:
            continue
        order = ">" if events.big_endian[index] else "<"
        seconds, nanoseconds = struct.unpack(order + "II", payload[:8])
        return int(events.time[index]), seconds * 10**9 + nanoseconds
    return None


def decode(source: Source, number: int, found: Scan) -> Events:
    """Decode the records of a scan into arrays, in the order of the buffer."""
    raw = np.frombuffer(source.data, dtype=np.uint8)
    offsets = np.frombuffer(found.offsets, dtype=np.uint64).astype(np.int64)
    kinds = np.frombuffer(bytes(found.layouts), dtype=np.uint8)
    events = _empty(len(offsets))
    for kind, layout in enumerate(_ORDERED):
        places = np.flatnonzero(kinds == kind)
        for start in range(0, len(places), CHUNK):
            some = places[start:start + CHUNK]
            _decode_some(raw, offsets[some], layout, events, some)
    events.source[:] = number
    # Limit the payload of a damaged record to the buffer.
    room = np.maximum(len(raw) - events.payload_at, 0)
    np.minimum(events.payload_length, room, out=events.payload_length, casting="unsafe")
    return events


def _decode_some(raw: NDArray[np.uint8], offsets: NDArray[np.int64], layout: fmt.Layout,
                 events: Events, places: NDArray[np.int64]) -> None:
    headers = raw[offsets[:, None] + np.arange(layout.size)].view(layout.dtype)[:, 0]
    action = headers["action"].astype(np.uint64)
    category = (action >> np.uint64(fmt.CATEGORY_SHIFT)).astype(np.uint32)
    act = (action & np.uint64(0xffff)).astype(np.int64)
    cgroup = (act & fmt.CGROUP_BIT) != 0
    act &= ~fmt.CGROUP_BIT
    note = (category & fmt.NOTIFY) != 0
    act[note] += fmt.NOTE
    events.time[places] = np.minimum(headers["time"], np.uint64(2**62)).astype(np.int64)
    sector = np.minimum(headers["sector"], np.uint64(SECTOR_LIMIT)).astype(np.int64)
    # Older kernels do not initialize these fields of a message.
    events.sector[places] = np.where(note, 0, sector)
    events.length[places] = np.where(note, 0, headers["bytes"])
    events.error[places] = np.where(note, 0, headers["error"])
    events.action[places] = np.where(act < 255, act, 255)
    events.category[places] = category
    events.pid[places] = headers["pid"]
    events.device[places] = headers["device"]
    events.cpu[places] = np.minimum(headers["cpu"], np.uint32(2**31 - 1))
    events.sequence[places] = headers["sequence"]
    events.payload_at[places] = offsets + layout.size
    events.payload_length[places] = headers["pdu_len"]
    events.has_cgroup[places] = cgroup
    events.big_endian[places] = layout.order == ">"


def _empty(count: int) -> Events:
    kinds = {"time": np.int64, "sector": np.int64, "length": np.int64, "action": np.uint8,
             "category": np.uint32, "pid": np.int64, "device": np.uint32, "cpu": np.int32,
             "error": np.uint16, "sequence": np.uint32, "source": np.uint16,
             "payload_at": np.int64, "payload_length": np.uint16, "has_cgroup": np.bool_, "big_endian": np.bool_}
    return Events(**{name: np.zeros(count, dtype=kinds[name]) for name in _ARRAYS})  # type: ignore[arg-type]


def _joined(parts: Sequence[Events], sources: Sequence[Source]) -> Events:
    if not parts:
        return _empty(0)
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return Events(**arrays, sources=sources)


def plausible(events: Events, name: str) -> tuple[Events, list[Problem]]:
    """Remove events with impossible times or sectors from those of one buffer."""
    time = events.time
    bad = events.sector >= SECTOR_LIMIT
    if len(time) > 2:
        step = np.diff(time)
        up, down = step > SPIKE_NS, step < -SPIKE_NS
        bad[1:-1] |= (up[:-1] & down[1:]) | (down[:-1] & up[1:])
    count = int(np.count_nonzero(bad))
    if not count:
        return events, []
    problem = Problem(name, f"{count} damaged record{'s' * (count > 1)} left out "
                            "(impossible time or sector)")
    return events.take(~bad), [problem]


def _without_outliers(events: Events) -> tuple[Events, list[Problem]]:
    """Remove events that are months away from the others."""
    if not len(events):
        return events, []
    far = np.abs(events.time - np.int64(np.median(events.time))) > LONGEST_NS
    count = int(np.count_nonzero(far))
    if not count:
        return events, []
    return events.take(~far), [Problem("recording", f"{count} events months away from the others "
                                                    "were left out")]


def find_lost(events: Events) -> list[Lost]:
    """Find gaps in the sequence numbers of the events of each CPU.

    The events are in the order in which each CPU wrote them; messages have no number.
    """
    numbered = np.flatnonzero(events.action < fmt.NOTE)
    if not len(numbered):
        return []
    cpu, device = events.cpu[numbered], events.device[numbered]
    order = np.lexsort((np.arange(len(numbered)), cpu, device))
    numbered, cpu, device = numbered[order], cpu[order], device[order]
    same = (cpu[1:] == cpu[:-1]) & (device[1:] == device[:-1])
    step = np.diff(events.sequence[numbered])  # modulo 2^32, as the counter
    gaps = np.flatnonzero(same & (step > 1) & (step < GAP_LIMIT))
    lost = []
    for gap in gaps.tolist():
        start, end = (int(events.time[numbered[at]]) for at in (gap, gap + 1))
        lost.append(Lost(min(start, end), max(start, end), int(step[gap]) - 1, int(cpu[gap]),
                         int(device[gap])))
    return sorted(lost, key=lambda one: one.start)
