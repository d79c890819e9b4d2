# SPDX-License-Identifier: GPL-2.0
"""What is made of the load generator's records."""

import dataclasses
from array import array

import pytest

from tools.testbed.lab.run import metrics, stats
from tools.testbed.lab.run.job import Process

MS = 1_000_000
S = 1000 * MS


def stream(period_ns: int = S, deadline_ns: int = S, start_ns: int = 0) -> Process:
    return Process("p", "g", "paced", False, "BE 4", [(0, 1)], 1, period_ns, start_ns, deadline_ns, {}, [])


def records(*reads: tuple[int, int, int, int]) -> "array[int]":
    return array("Q", [number for read in reads for number in read])


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (90, 90), (99, 99), (99.9, 100), (100, 100)])
def test_percentile_is_the_smallest_value_not_exceeded_by_more(percent: float, value: int) -> None:
    assert stats.percentile(list(range(1, 101)), percent) == value


def test_percentile_of_few_values() -> None:
    assert stats.percentile([], 50) == 0
    assert stats.percentile([7], 99.9) == 7
    assert stats.percentile([1, 2], 50) == 1
    assert stats.percentile(list(range(1, 1001)), 99.9) == 999


def test_histogram_counts_a_value_on_a_bound_below_it() -> None:
    bars = stats.histogram([100_000, 100_001, 1 * MS, 6000 * MS])
    assert bars[0] == 1
    assert bars[1] == 1
    assert bars[stats.HISTOGRAM_MS.index(1)] == 1
    assert bars[-1] == 1
    assert sum(bars) == 4


def test_expected_reads_are_those_whose_deadline_is_before_the_end() -> None:
    assert stats.expected_reads(stream(), 60 * S) == 60
    assert stats.expected_reads(stream(start_ns=1), 60 * S) == 59
    assert stats.expected_reads(stream(start_ns=61 * S), 60 * S) == 0


def test_late_and_never_issued_reads_are_misses() -> None:
    result = stats.summarize(
        stream(),
        records((0, 0, S, 100), (S, S, 2 * S + 1, 100), (2 * S, 2 * S + 1, 3 * S, 100)),
        10 * S,
    )
    # one in time to the nanosecond, one late by one, one in time, seven never issued
    assert result["expected"] == 10
    assert result["misses"] == 8


@pytest.mark.parametrize(("ends", "files_per_s"), [([1, 3, 4], 0.2), ([2, 3], 0.2), ([4, 5], 0), ([1, 2, 3], 0.3)])
def test_files_of_a_tree_are_counted_when_all_of_them_is_read(ends: list[int], files_per_s: float) -> None:
    walk = dataclasses.replace(stream(period_ns=0, deadline_ns=0), file_ends=ends)
    # the fourth read comes back after the end
    reads = records((0, 0, S, 1), (S, S, 2 * S, 1), (2 * S, 2 * S, 3 * S, 1), (3 * S, 3 * S, 11 * S, 1))
    result = stats.summarize(walk, reads, 10 * S)
    assert metrics.of_process(result, "files_per_s", 10 * S) == files_per_s


def test_read_in_flight_at_the_end_counts_in_latency_only() -> None:
    result = stats.summarize(stream(), records((0, 0, MS, 100), (S, S, 11 * S, 100)), 10 * S)
    assert result["bytes"] == 100
    assert result["reads"] == 1
    assert result["latency_ns"]["max"] == 10 * S
    assert result["latency_ns"]["mean"] == (MS + 10 * S) // 2
    assert result["bytes_per_s"] == 10


def test_lost_operation_counts_as_that_only() -> None:
    camera = dataclasses.replace(stream(deadline_ns=0), keys={"buffer_ns": S})
    result = stats.summarize(camera, records((0, 0, 2 * S, 100), (S, 2 * S + 1, 2 * S + 1, 0)), 10 * S)
    assert (result["lost"], result["reads"], result["bytes"]) == (1, 1, 100)
    assert result["latency_ns"]["p50"] == result["latency_ns"]["mean"] == 2 * S
    assert sum(result["histogram"]) == 1


def test_bytes_are_counted_in_the_second_they_came_back() -> None:
    assert stats.per_second([records((0, 0, S - 1, 1), (0, 0, S, 2)), records((0, 0, 2 * S, 4))], 2 * S) == [
        1,
        2,
    ]


def test_metrics_of_a_process() -> None:
    result = stats.summarize(stream(), records((0, 0, 40 * MS, 50), (S, S, S + 300 * MS, 50)), 2 * S)
    assert metrics.of_process(result, "below_50_ms", 2 * S) == 50
    assert metrics.of_process(result, "below_500_ms", 2 * S) == 100
    assert metrics.of_process(result, "latency_max_ms", 2 * S) == 300
    assert metrics.of_process(result, "reads_per_s", 2 * S) == 1


def test_ratio_is_slowest_to_fastest() -> None:
    assert metrics.reduce([97, 100, 99], "ratio") == 0.97
    assert metrics.reduce([], "ratio") == 0


def test_one_value_far_off_does_not_move_the_median() -> None:
    assert metrics.reduce([300, 1, 2, 4], "median") == 3


def test_deadlines_of_a_greedy_reader_are_met_by_the_reads_that_it_makes() -> None:
    reads = records((0, 0, S, 1), (S, S, 2 * S + 1, 1), (3 * S, 3 * S, 3 * S, 1), (3 * S, 3 * S, 3 * S, 1))
    result = stats.summarize(stream(period_ns=0), reads, 10 * S)
    assert metrics.of_process(result, "met_percent", 10 * S) == 75
    assert "misses" not in result
    assert "met_percent" not in stats.summarize(stream(period_ns=0, deadline_ns=0), reads, 10 * S)
    assert stats.summarize(stream(period_ns=0), records(), 10 * S)["met_percent"] == 0


def test_quartiles() -> None:
    result = stats.summarize(stream(), records(*((n * S, n * S, n * S + n * MS, 1) for n in range(1, 9))), 10 * S)
    found = [metrics.of_process(result, f"latency_p{percent}_ms", 10 * S) for percent in (25, 50, 75)]
    assert found == [2, 4, 6]


def test_command_sizes_are_those_of_the_drives_counters() -> None:
    text = "reads 4\nwrites 0\nread_sectors 80\nwrite_sectors 0\nlargest_read 64\nlargest_write 0\nseeks 9\n"
    assert stats.of_commands(text) == {"read_command_mean_kib": 10.0, "read_command_max_kib": 32.0,
                                       "write_command_mean_kib": 0.0, "write_command_max_kib": 0.0}
