# SPDX-License-Identifier: GPL-2.0
"""What the load generator's records say about a stream."""

from __future__ import annotations

import hashlib
import math
from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

from tools.base.cli import ToolError

from ..model.results import ProcessResult
from ..model.units import NSEC_PER_MSEC, NSEC_PER_SEC
from .job import Process

FIELDS = 4  # due, issue, end, bytes: loadgen.c, struct record
PERCENTILES = {"p25": 25.0, "p50": 50.0, "p75": 75.0, "p90": 90.0, "p99": 99.0, "p999": 99.9}
# upper bounds of the histogram's bars, in ms; the last bar has none
HISTOGRAM_MS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 125, 250, 500, 1000, 2000, 5000)


def percentile(ordered: list[int], percent: float) -> int:
    """The smallest value that percent of all values do not exceed."""
    if not ordered:
        return 0
    # in thousandths: 99.9% of 1000 values is 999 and not 999.0000000001
    rank = -(-len(ordered) * round(percent * 1000) // 100_000)
    return ordered[max(rank, 1) - 1]


def histogram(ordered: list[int]) -> list[int]:
    """How many values are in each bar: below or at its bound, above the last."""
    counts = []
    below = 0
    for bound in HISTOGRAM_MS:
        index = bisect_left(ordered, round(bound * NSEC_PER_MSEC) + 1)
        counts.append(index - below)
        below = index
    counts.append(len(ordered) - below)
    return counts


def read_records(path: Path) -> array[int]:
    records = array("Q")
    with path.open("rb") as file:
        records.frombytes(file.read())
    return records


def expected_reads(process: Process, duration_ns: int) -> int:
    """Reads of a paced stream whose deadline is not after the end."""
    last = duration_ns - process.deadline_ns - process.start_ns
    if not process.deadline_ns or not process.period_ns or last < 0:
        return 0
    return last // process.period_ns + 1


def misses(process: Process, due: array[int], end: array[int], duration_ns: int) -> int:
    """Deadlines that passed before their data was there.

    A read that was never issued, because those before it took too long, has
    missed its deadline like one that came back late.
    """
    expected = expected_reads(process, duration_ns)
    in_time = 0
    for index in range(min(expected, len(due))):
        in_time += end[index] - due[index] <= process.deadline_ns
    return expected - in_time


def met_percent(ordered: list[int], deadline_ns: int) -> float:
    """The share of the operations made that took no longer than their deadline."""
    return round(100.0 * bisect_right(ordered, deadline_ns) / len(ordered), 3) if ordered else 0.0


def own_rate(issue: array[int], end: array[int], size: array[int]) -> float:
    """Bytes a second of the time that the stream ran, as fio counts them."""
    if not len(issue):
        return 0.0
    return round(sum(size) * NSEC_PER_SEC / max(end[-1] - issue[0], 1), 1)


def of_commands(text: str) -> dict[str, float]:
    """Sizes of the commands that the drive has served, in KiB, from its counters; none from those of older kernels."""
    counters = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
    sizes = {}
    for op in ("read", "write"):
        if f"{op}_sectors" not in counters:
            continue
        number = counters[f"{op}s"]
        sizes[f"{op}_command_mean_kib"] = round(counters[f"{op}_sectors"] / 2 / number, 1) if number else 0.0
        sizes[f"{op}_command_max_kib"] = counters[f"largest_{op}"] / 2
    return sizes


def summarize(process: Process, records: array[int], duration_ns: int) -> ProcessResult:
    """One process of the results; times are virtual, and in ns."""
    due, issue, end, size = (records[field::FIELDS] for field in range(FIELDS))
    # what is lost has no bytes, and was not made
    latencies = sorted(e - i for i, e, s in zip(issue, end, size, strict=True) if s)
    # what is in flight at the end counts in the latencies, not in the bytes
    inside = [s for e, s in zip(end, size, strict=True) if s and e <= duration_ns]
    done = sum(inside)
    result: ProcessResult = {
        "name": process.name,
        "group": process.group,
        "kind": process.kind,
        "op": "write" if process.write else "read",
        "priority": process.priority,
        "regions": [list(region) for region in process.regions],
        "start_ns": process.start_ns,
        "bytes": done,
        "bytes_per_s": round(done * NSEC_PER_SEC / duration_ns, 1),
        "own_bytes_per_s": own_rate(issue, end, size),
        "reads": len(inside),
        "latency_ns": {
            "mean": round(sum(latencies) / len(latencies)) if latencies else 0,
            **{name: percentile(latencies, percent) for name, percent in PERCENTILES.items()},
            "max": latencies[-1] if latencies else 0,
        },
        "histogram": histogram(latencies),
        "operations_sha256": hashlib.sha256(records.tobytes()).hexdigest(),
    }
    if process.deadline_ns:
        result["deadline_ns"] = process.deadline_ns
        result["met_percent"] = met_percent(latencies, process.deadline_ns)
    if process.deadline_ns and process.period_ns:
        result["expected"] = expected_reads(process, duration_ns)
        result["misses"] = misses(process, due, end, duration_ns)
    if process.keys.get("buffer_ns"):
        result["lost"] = size.count(0)
    if process.file_ends:
        files = bisect_right(process.file_ends, len(inside))
        result["files_per_s"] = round(files * NSEC_PER_SEC / duration_ns, 3)
    return result


def per_second(group: list[array[int]], duration_ns: int) -> list[int]:
    """Bytes that came back in each second, over all streams given."""
    seconds = [0] * math.ceil(duration_ns / NSEC_PER_SEC)
    for records in group:
        for end, size in zip(records[2::FIELDS], records[3::FIELDS], strict=True):
            if end < duration_ns:
                seconds[end // NSEC_PER_SEC] += size
    return seconds


def of_counters(text: str) -> dict[str, float]:
    """The requests that met and missed the deadline of their reservation, by cfq's own counters."""
    counters = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    try:
        return {f"bw_{what}": float(counters[f"bw_deadlines_{what}"]) for what in ("met", "missed")}
    except KeyError as error:
        raise ToolError(f"cfq's counters lack {error.args[0]}") from None
