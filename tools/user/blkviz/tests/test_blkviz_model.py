# SPDX-License-Identifier: GPL-2.0
"""Requests, system calls, slices and processes, from events."""

import random
import re
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import cfq, messages, model, parse, process_stats, requests, synth, tables, vfs_calls
from tools.user.blkviz.blktrace_format import (
    BACKMERGE,
    COMPLETE,
    FRONTMERGE,
    GETRQ,
    INSERT,
    ISSUE,
    QUEUE,
    REQUEUE,
    SPLIT,
)
from tools.user.blkviz.errors import NoTraceError
from tools.user.blkviz.parse import Source
from tools.user.blkviz.trace_files import Notes

MS = 1_000_000
ROOT = Path(__file__).resolve().parents[4]


def built(writer: synth.Writer, **options: Any) -> model.Model:
    return model.build(parse.parse([Source("test", writer.together())]), **options)


def said_of(found: model.Model, request: int) -> list[str]:
    return [found.events.text(event) for event in found.requests.events_of(request)
            if found.events.action[event] == fmt.NOTE_MESSAGE]


def values_of(found: model.Model, *names: str) -> list[list[int]]:
    return [found.series[name].value.tolist() for name in names]


def letters(found: model.Model, request: int) -> str:
    return "".join(fmt.LETTERS[int(found.events.action[event])]
                   for event in found.requests.events_of(request))


def test_a_request_belongs_to_who_queued_it() -> None:
    writer = synth.Writer()
    writer.event(1, QUEUE, 8, 4096, pid=7)
    writer.event(2, GETRQ, 8, 4096, pid=7)
    writer.event(3, INSERT, 8, 4096, pid=7)
    writer.event(4, ISSUE, 8, 4096, pid=55)
    writer.event(9, COMPLETE, 8, 4096, pid=0, cpu=3)
    found = built(writer)
    assert found.requests.pid.tolist() == [7]
    assert (found.requests.queued[0], found.requests.dispatched[0]) == (1, 4)
    assert found.requests.completed[0] == 9
    assert letters(found, 0) == "QGIDC"
    assert [one.pid for one in found.processes] == [7]


def test_the_kinds_are_cut_at_one_and_five_milliseconds() -> None:
    writer = synth.Writer()
    for number, d2c in enumerate((MS - 1, MS, 5 * MS, 5 * MS + 1)):
        start = number * 100 * MS
        writer.request((start, start + 1000, start + 1000 + d2c), number * 1000, 4096)
    found = built(writer)
    assert found.requests.kind().tolist() == [model.CACHED, model.SEQUENTIAL, model.SEQUENTIAL,
                                              model.SEEK]


def test_merged_bios_are_one_request_with_all_their_events() -> None:
    writer = synth.Writer()
    writer.event(1, QUEUE, 100, 4096, pid=7)
    writer.event(2, GETRQ, 100, 4096, pid=7)
    writer.event(3, QUEUE, 108, 4096, pid=8)
    writer.event(4, BACKMERGE, 108, 4096, pid=8)
    writer.event(5, QUEUE, 92, 4096, pid=9)
    writer.event(6, FRONTMERGE, 92, 4096, pid=9)
    writer.event(7, ISSUE, 92, 3 * 4096)
    writer.event(8, COMPLETE, 92, 3 * 4096)
    found = built(writer)
    assert len(found.requests) == 1
    assert letters(found, 0) == "QGQMQFDC"
    assert found.requests.queued[0] == 1
    assert found.requests.length[0] == 3 * 4096


def test_a_split_bio_is_several_requests_of_one_owner() -> None:
    writer = synth.Writer()
    writer.event(1, QUEUE, 0, 3 * 4096, pid=7)
    writer.event(2, SPLIT, 0, 4096, pid=7)
    writer.event(3, ISSUE, 0, 4096, pid=1)
    writer.event(4, ISSUE, 8, 2 * 4096, pid=1)
    writer.event(5, COMPLETE, 8, 2 * 4096)
    writer.event(6, COMPLETE, 0, 4096)
    found = built(writer)
    assert found.requests.pid.tolist() == [7, 7]
    assert [letters(found, 0), letters(found, 1)] == ["QXDC", "QXDC"]
    assert found.requests.completed.tolist() == [6, 5]


def test_a_part_that_no_split_announced_is_found_as_well() -> None:
    writer = synth.Writer()
    writer.event(1, QUEUE, 0, 2 * 4096, pid=7)
    for time, sector in ((3, 0), (4, 8)):
        writer.event(time, ISSUE, sector, 4096, pid=1)
    assert built(writer).requests.pid.tolist() == [7, 7]


def test_a_requeued_request_is_dispatched_again() -> None:
    writer = synth.Writer()
    for time, action in ((1, QUEUE), (2, ISSUE), (3, REQUEUE), (50, ISSUE), (60, COMPLETE)):
        writer.event(time, action, 8, 4096)
    found = built(writer)
    assert letters(found, 0) == "QDRDC"
    assert (found.requests.dispatched[0], found.requests.d2c()[0]) == (50, 10)


def test_a_requeued_write_is_not_the_read_of_its_sector() -> None:
    writer = synth.Writer()
    writer.event(1, ISSUE, 8, 4096, category=fmt.WRITE)
    writer.event(2, REQUEUE, 8, 4096, category=fmt.WRITE)
    writer.event(3, ISSUE, 8, 4096)
    writer.event(4, ISSUE, 8, 4096, category=fmt.WRITE)
    found = built(writer)
    assert [letters(found, 0), letters(found, 1)] == ["D", "DRD"]


def test_a_request_that_completes_in_parts_ends_with_the_last() -> None:
    writer = synth.Writer()
    writer.event(1, ISSUE, 0, 4 * 4096)
    writer.event(5, COMPLETE, 0, 4096)
    writer.event(6, COMPLETE, 8, 4096)
    writer.event(9, COMPLETE, 16, 2 * 4096)
    found = built(writer)
    assert len(found.requests) == 1
    assert found.requests.d2c().tolist() == [8]
    assert letters(found, 0) == "DCCC"


def test_an_error_ends_a_request() -> None:
    writer = synth.Writer()
    writer.event(1, ISSUE, 0, 4096)
    writer.event(5, COMPLETE, 0, 0, error=65531)
    found = built(writer)
    assert found.requests.error[0] == 65531
    assert found.requests.finished().all()


def test_reads_and_writes_of_one_sector_are_kept_apart() -> None:
    writer = synth.Writer()
    writer.event(1, QUEUE, 8, 4096, pid=1, category=fmt.READ)
    writer.event(2, QUEUE, 8, 4096, pid=2, category=fmt.WRITE)
    writer.event(3, ISSUE, 8, 4096, category=fmt.WRITE)
    writer.event(4, ISSUE, 8, 4096, category=fmt.READ)
    writer.event(5, COMPLETE, 8, 4096, category=fmt.READ)
    writer.event(9, COMPLETE, 8, 4096, category=fmt.WRITE)
    found = built(writer)
    assert found.requests.pid.tolist() == [2, 1]
    assert found.requests.completed.tolist() == [9, 5]


def test_what_is_in_flight_at_the_end_stays_open() -> None:
    writer = synth.Writer()
    writer.event(1, ISSUE, 8, 4096)
    writer.event(100, QUEUE, 16, 4096)
    found = built(writer)
    assert found.requests.kind().tolist() == [model.UNFINISHED]
    assert found.requests.d2c().tolist() == [model.UNKNOWN]
    assert found.processes[0].requests == 0


def test_a_completion_from_before_the_trace_still_moves_the_head() -> None:
    writer = synth.Writer()
    writer.event(1, COMPLETE, 8, 4096)
    found = built(writer)
    assert found.requests.flags.tolist() == [model.NO_DISPATCH]
    assert found.requests.kind().tolist() == [model.UNFINISHED]
    assert found.requests.completed.tolist() == [1]


def test_a_device_without_requests_shows_its_bios() -> None:
    """A stacked device has queueing and completion only."""
    writer = synth.Writer()
    writer.event(1, QUEUE, 8, 4096, pid=7)
    writer.event(50, COMPLETE, 8, 4096, pid=0)
    found = built(writer)
    assert found.requests.pid.tolist() == [7]
    assert letters(found, 0) == "QC"


def test_a_lost_completion_does_not_shift_the_others() -> None:
    writer = synth.Writer()
    writer.event(1, ISSUE, 8, 4096)
    writer.lose(0, 1)
    writer.event(1000, ISSUE, 8, 4096)
    writer.event(1100, COMPLETE, 8, 4096)
    found = built(writer)
    assert found.requests.d2c().tolist() == [model.UNKNOWN, 100]
    assert found.requests.flags[0] & model.LOST_COMPLETION


def test_a_flush_belongs_to_who_sent_it() -> None:
    writer = synth.Writer()
    category = fmt.WRITE | fmt.FLUSH
    writer.event(1, ISSUE, 0, 0, pid=9, category=category)
    writer.event(5, COMPLETE, 0, 0, pid=0, category=category)
    found = built(writer)
    assert found.requests.pid.tolist() == [9]
    assert found.requests.d2c().tolist() == [4]


def test_calls_nest_and_carry_their_numbers() -> None:
    writer = synth.Writer()
    writer.message(10, "enter vfs_read ino 12 off 4096 len 65536", pid=7)
    writer.message(20, "enter vfs_fault ino 13", pid=7)
    writer.message(25, "enter vfs_read ino 99 off 0 len 1", pid=8)
    writer.message(30, "leave vfs_fault ret 0", pid=7)
    writer.message(40, "leave vfs_read ret -5", pid=7)
    calls = built(writer).calls
    rows = [(int(calls.pid[i]), calls.operations[calls.op[i]], int(calls.start[i]),
             int(calls.end[i]), int(calls.depth[i]), int(calls.flags[i])) for i in range(len(calls))]
    assert rows == [(7, "vfs_read", 10, 40, 0, 0), (7, "vfs_fault", 20, 30, 1, 0),
                    (8, "vfs_read", 25, 40, 0, model.NO_LEAVE)]
    assert (calls.inode[0], calls.offset[0], calls.length[0], calls.result[0]) == \
        (12, 4096, 65536, -5)


def test_calls_of_the_seeds_short_form_are_understood() -> None:
    writer = synth.Writer()
    writer.message(10, "enter vfs_read")
    writer.message(40, "leave vfs_read")
    calls = built(writer).calls
    assert (calls.start[0], calls.end[0], calls.inode[0]) == (10, 40, model.UNKNOWN)


def test_a_call_that_was_entered_before_the_trace_begins_with_it() -> None:
    writer = synth.Writer()
    writer.event(5, QUEUE, 8, 4096)
    writer.message(40, "leave vfs_read ret 5")
    calls = built(writer).calls
    assert (calls.start[0], calls.end[0], calls.flags[0]) == (5, 40, model.NO_ENTER)


def test_a_call_that_was_entered_before_its_operation_was_told_begins_with_that() -> None:
    writer = synth.Writer()
    writer.event(5, QUEUE, 8, 4096)
    writer.message(20, "vfs messages read,write")
    writer.message(40, "leave vfs_read ino 12 ret 5")
    calls = built(writer).calls
    assert (calls.start[0], calls.end[0], calls.inode[0], calls.flags[0]) == (20, 40, 12, model.NO_ENTER)


def test_a_call_ends_with_the_last_that_is_told_of_its_operation() -> None:
    writer = synth.Writer()
    writer.message(1, "vfs messages read,write")
    writer.message(2, "enter vfs_read ino 12 off 0 len 4096")
    writer.message(3, "enter vfs_write ino 13 off 0 len 4096", pid=8)
    writer.message(10, "vfs messages write")
    writer.message(30, "leave vfs_write ino 13 ret 4096", pid=8)
    writer.event(90, QUEUE, 8, 4096)
    calls = built(writer).calls
    assert calls.end.tolist() == [10, 30]
    assert calls.flags.tolist() == [model.NO_LEAVE, 0]


def test_a_lost_leave_does_not_swallow_the_calls_after_it() -> None:
    writer = synth.Writer()
    for time, text in ((1, "enter vfs_read"), (2, "enter vfs_fault"), (9, "leave vfs_read"),
                       (10, "enter vfs_open"), (12, "leave vfs_open")):
        writer.message(time, text)
    calls = built(writer).calls
    assert calls.end.tolist() == [9, 9, 12]
    assert calls.flags.tolist() == [0, model.NO_LEAVE, 0]
    assert calls.depth.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("text", "verb", "values"), [
    ("cfq 4711S BE4 slice start length_us 100000 queued 1", "slice start",
     {"length_us": 100000, "queued": 1}),
    ("cfq 4711A RT0 idle window_us 8000 think_us 120 seek 0", "idle",
     {"window_us": 8000, "think_us": 120, "seek": 0}),
    ("cfq 4711S BW2 dispatch 81920+1024 queued 0 in drive 1 tokens -4096 deadline_us 250",
     "dispatch", {"tokens": -4096, "deadline_us": 250, "drive": 1}),
    ("cfq 4711S BW2 tokens 5 rate 3145728 deadline_us -9", "tokens", {"tokens": 5, "rate": 3145728, "deadline_us": -9}),
    ("cfq 4711S BW2 tokens 5 deadline_us -9", "tokens", {"tokens": 5, "deadline_us": -9}),
    ("cfq 4711S idle7 preempted by 12 BE4", "preempted", {"by": 12}),
    ("cfq 4711S BE4 expired request 12345", "expired", {"request": 12345}),
    ("cfq 4711S BE4", "", {}),
])
def test_messages_of_cfq_are_understood(text: str, verb: str, values: dict[str, int]) -> None:
    said = messages.cfq(text)
    assert said is not None
    assert (said.pid, said.verb) == (4711, verb)
    assert values.items() <= said.values.items()


def test_every_end_of_a_slice_is_known() -> None:
    """Those that the scheduler's document lists: why slices ended (time, budget of requests, ...)."""
    text = " ".join((ROOT / "Documentation/block/cfq-iosched.rst").read_text().split())
    listed = re.search(r"why they ended \(([^)]*)\)", text)
    assert listed
    words = [re.split("[ :]", one.strip())[0] for one in listed[1].split(",")]
    assert list(messages.EXPIRED) == ["", *words]
    writer = synth.Writer()
    for number, why in enumerate(messages.EXPIRED[1:]):
        writer.message(100 * number, "cfq 7S BW2 slice start length_us 100000 queued 1")
        writer.message(100 * number + 50, f"cfq 7S BW2 slice end {why} dispatched 3 residual_us 0")
    slices = built(writer).slices
    assert [messages.EXPIRED[why] for why in slices.why] == list(messages.EXPIRED[1:])
    assert set(slices.dispatched.tolist()) == {3}


def test_messages_of_others_are_passed_over() -> None:
    rng = random.Random(4)
    words = ["cfq", "enter", "leave", "vfs_read", "ret", "1S", "BE4", "-", "9" * 30, "slice",
             "end", "dispatch", "1+", "\x00", "é"]
    for _ in range(3000):
        text = " ".join(rng.choice(words) for _ in range(rng.randrange(8)))
        messages.cfq(text)
        messages.vfs(text)
    assert messages.cfq("bfq 4711S BE4 slice start") is None
    assert messages.vfs("enterprise vfs_read") is None


def test_slices_and_what_cfq_tells_of_them() -> None:
    writer = synth.Writer()
    writer.message(100, "cfq 7S BW2 slice start length_us 100000 queued 1", cgroup=5)
    writer.message(110, "cfq 7S BW2 dispatch 8+8 queued 0 in drive 1 tokens 100 deadline_us -7")
    writer.event(120, ISSUE, 8, 4096, pid=7)
    writer.event(150, COMPLETE, 8, 4096, pid=7)
    writer.message(160, "cfq 7S BW2 idle window_us 8000 think_us 1 seek 0")
    writer.message(200, "cfq 7S BW2 preempted by 9 RT0")
    writer.message(201, "cfq 7S BW2 slice end preempt dispatched 1 residual_us 5")
    writer.message(210, "cfq 9S RT0 slice start length_us 1 queued 1")
    writer.event(300, QUEUE, 800, 4096)
    found = built(writer)
    slices = found.slices
    assert slices.pid.tolist() == [7, 9]
    assert list(zip(slices.start.tolist(), slices.end.tolist(), strict=True)) == [(100, 201),
                                                                                 (210, 300)]
    assert [messages.EXPIRED[why] for why in slices.why] == ["preempt", ""]
    assert [messages.CLASSES[one] for one in slices.cls] == ["BW", "RT"]
    assert [messages.CLASSES[one] for one in found.requests.cls] == ["BW"]
    assert letters(found, 0) == "mDC"
    assert values_of(found, "tokens", "slack") == [[100], [-8]]
    assert (found.series["idles"].time.tolist(), found.series["preemptions"].value.tolist()) == ([160], [9])
    assert found.processes[0].cls == "BW2"


def test_tokens_rate_and_deadline_of_a_request() -> None:
    writer = synth.Writer()
    writer.process(1, 7, "player")
    for start, said in ((100, "tokens 5 rate 3145728 deadline_us 40"), (200, "tokens -6 deadline_us -3")):
        writer.event(start, QUEUE, start, 4096, pid=7)
        writer.message(start + 10, f"cfq 7S BW2 dispatch {start}+8 queued 0 in drive 1")
        writer.message(start + 10, "cfq 9S BE4 preempted by 7 BW2")
        writer.message(start + 10, f"cfq 7S BW2 {said}")
        writer.event(start + 20, ISSUE, start, 4096)
        writer.event(start + 50, COMPLETE, start, 4096)
    writer.message(300, "cfq 7S BW2 tokens 1 rate 3145728 deadline_us 1")
    found = built(writer)
    assert [letters(found, 0), letters(found, 1)] == ["QmmDC", "QmmDC"]
    assert [said_of(found, request)[1] for request in (0, 1)] == [
        "cfq 7S BW2 tokens 5 rate 3145728 deadline_us 40", "cfq 7S BW2 tokens -6 deadline_us -3"]
    assert values_of(found, "tokens", "slack") == [[5, -6, 1], [39, -4]]
    assert [(one.met, one.missed) for one in found.processes] == [(1, 1)]
    assert (found.requests.left() < 0).tolist() == [False, True]
    assert [(one.name, one.reserved) for one in found.processes] == [("player", 3145728)]


def test_nobody_knows_whether_a_request_was_late_whose_end_is_missing() -> None:
    writer = synth.Writer()
    for sector, end in ((100, ISSUE), (200, COMPLETE)):
        writer.event(sector, QUEUE, sector, 4096, pid=7)
        writer.message(sector + 1, f"cfq 7S BW2 dispatch {sector}+8 queued 0 in drive 1")
        writer.message(sector + 1, "cfq 7S BW2 tokens 5 rate 9000 deadline_us -1")
        writer.event(sector + 2, end, sector, 4096)
    writer.event(9000, QUEUE, 300, 4096, pid=7)
    found = built(writer)
    assert (found.requests.left() < 0).tolist() == [False, False]
    assert (len(found.series["slack"]), found.processes[0].met, found.processes[0].missed) == (0, 0, 0)


def test_the_deadline_of_a_merged_request() -> None:
    writer = synth.Writer()
    writer.event(1, QUEUE, 108, 4096, pid=7)
    writer.event(2, GETRQ, 108, 4096, pid=7)
    writer.event(3, QUEUE, 100, 4096, pid=7)
    writer.event(4, FRONTMERGE, 100, 4096, pid=7)
    writer.message(5, "cfq 7S BW2 dispatch 100+16 queued 0 in drive 1")
    writer.message(6, "cfq 7S BW2 tokens 5 rate 9000 deadline_us 40")
    writer.message(7, "cfq 7S BW2 idle window_us 8000 think_us 1 seek 0")
    writer.event(8, ISSUE, 100, 2 * 4096)
    writer.event(9, COMPLETE, 100, 2 * 4096)
    found = built(writer)
    assert letters(found, 0) == "QGQFmmDC"
    assert said_of(found, 0)[1].endswith("deadline_us 40")
    assert found.processes[0].reserved == 9000


def test_a_played_reservation_is_known_by_its_messages() -> None:
    players = synth.default_players()
    found = built(synth.make(5000, players=players))
    assert {one.pid: one.reserved for one in found.processes} == {one.pid: one.reserved for one in players}


def test_the_end_of_a_slice_that_began_before_the_trace() -> None:
    writer = synth.Writer()
    writer.event(5, QUEUE, 8, 4096)
    writer.message(50, "cfq 7S BE4 slice end time dispatched 9 residual_us 0")
    slices = built(writer).slices
    assert (slices.start.tolist(), slices.end.tolist(), slices.dispatched.tolist()) == \
        ([5], [50], [9])


def test_the_figures_of_a_process() -> None:
    writer = synth.Writer()
    writer.process(0, 7, "old")
    writer.process(1, 7, "reader")
    for number in range(10):
        start = number * 100 * MS
        writer.request((start, start + 1, start + MS), number * 8, 4096, pid=7)
        writer.message(start + 2 * MS, "enter vfs_open ino 1", pid=7)
        writer.message(start + 3 * MS, f"leave vfs_open ret {0 if number else -2}", pid=7)
    writer.event(1000 * MS, QUEUE, 8, 4096, pid=7)
    found = built(writer, notes=Notes(reserved={7: 5000}))
    one = found.processes[0]
    assert (one.name, one.requests, one.bytes, one.calls, one.files) == ("reader", 10, 40960, 10, 9)
    assert one.bandwidth == pytest.approx(40960)
    assert one.files_per_second == pytest.approx(9)
    assert (one.request_bytes, one.reserved) == (4096, 5000)
    assert built(writer, reserved={"reader": 99}).processes[0].reserved == 99


def test_a_bandwidth_is_of_the_time_that_the_process_was_there() -> None:
    """Streams of 3 MiB each second that begin one after the other, 5 s after the trace."""
    found = built(synth.paced(begin_s=5))
    assert found.seconds > 16 and found.begin - found.start == 5000 * MS
    for process in found.processes:
        assert process.bandwidth == pytest.approx(3 << 20, rel=0.02), process.name
    # one that ended long before the trace did
    writer = synth.paced(begin_s=5)
    writer.event(100_000 * MS, QUEUE, 8, 4096, pid=7)
    assert [one.bandwidth for one in built(writer).processes[:5]] == pytest.approx([3 << 20] * 5, rel=0.02)


def test_a_recording_of_two_devices_shows_one() -> None:
    first, second = synth.Writer(), synth.Writer(device=8 << 20)
    first.process(0, 7, "reader")
    second.lose(0, 5)
    for number in range(3):
        first.event(10 + number, ISSUE, 8, 4096, pid=7)
        second.event(10 + number, ISSUE, 8, 4096, pid=7)
    first.event(20, ISSUE, 8, 4096, pid=7)
    second.lose(0, 3)
    second.event(30, COMPLETE, 8, 4096)
    trace = parse.parse([Source("a", first.together()), Source("b", second.together())])
    found = model.build(trace)
    assert fmt.device_name(found.device) == "8:48"
    assert (len(found.requests), found.lost) == (4, [])
    assert "8:0" in found.hints[0]
    other = model.build(trace, device=8 << 20)
    assert len(other.requests) == 3
    assert [one.count for one in other.lost] == [3]
    assert other.processes[0].name == "reader"
    with pytest.raises(NoTraceError):
        model.build(trace, device=1)


def test_the_wall_clock_of_both_byte_orders() -> None:
    for order in "<>":
        writer = synth.Writer(order=order)
        writer.event(1000, QUEUE)
        writer.clock(2_000_001_000, 1_700_000_000, 500_000_000)
        assert built(writer).clock == pytest.approx(1_699_999_998.5)


def test_drops_that_blktrace_counted_are_told() -> None:
    """Messages have no number: their loss is in blktrace's count only."""
    writer = synth.Writer()
    writer.event(10, QUEUE)
    assert model.problems_of(built(writer, notes=Notes(dropped=30)))[0].startswith(
        "30 events were dropped while recording, at unknown places")
    writer.lose(0, 12)
    writer.event(1000, QUEUE)
    assert model.problems_of(built(writer, notes=Notes(dropped=30)))[0].startswith(
        "30 events were dropped while recording, 12 of them at 1 place (hatched")
    assert model.problems_of(built(writer, notes=Notes(dropped=12)))[0].startswith("12 events were lost")
    assert model.problems_of(built(writer))[0].startswith("12 events were lost")


# --- the effort ---


def dispatches_of_one_sector(count: int) -> synth.Writer:
    writer = synth.Writer()
    for number in range(count):
        writer.event(number, ISSUE, 8, 4096)
    return writer


def a_bio_split_many_times(count: int) -> synth.Writer:
    writer = synth.Writer()
    writer.event(0, QUEUE, 0, 512 * count)
    for number in range(count // 2):
        writer.event(number, SPLIT, number, 512)
    for number in range(count // 2):
        writer.event(count + number, ISSUE, number, 512)
    return writer


def writes_over_reads_in_flight(count: int) -> synth.Writer:
    writer = synth.Writer()
    for number in range(count // 3):
        writer.event(number, ISSUE, 8, 4096)
    for number in range(count // 3):
        writer.event(count + number, ISSUE, 8, 4096, category=fmt.WRITE)
        writer.event(count + number, COMPLETE, 8, 4096, category=fmt.WRITE)
    return writer


def small_bios_of_one_sector_with_splits(count: int) -> synth.Writer:
    writer = synth.Writer()
    for action in (QUEUE, SPLIT):
        for number in range(count // 2):
            writer.event(number, action, 8, 4096)
    return writer


def calls_that_were_never_entered(count: int) -> synth.Writer:
    writer = synth.Writer()
    for text in ("enter vfs_read", "leave vfs_open"):
        for number in range(count // 2):
            writer.message(number, text)
    return writer


LONG = [dispatches_of_one_sector, a_bio_split_many_times, writes_over_reads_in_flight,
        small_bios_of_one_sector_with_splits, calls_that_were_never_entered]


def steps(work: Callable[[], object]) -> int:
    """Instructions of the model's modules that are executed: the same number on any machine."""
    count, files = 0, {module.__file__ for module in (model, vfs_calls, cfq, process_stats, requests, tables)}

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("kind", LONG)
def test_effort_is_linear_in_the_events(kind: Callable[[int], synth.Writer]) -> None:
    small, large = (parse.parse([Source("test", kind(count).together())]) for count in (300, 1200))
    assert steps(lambda: model.build(large)) < 5 * steps(lambda: model.build(small))


@pytest.mark.parametrize("kind", LONG)
def test_memory_is_linear_in_the_events(kind: Callable[[int], synth.Writer]) -> None:
    data = kind(4000).together()
    trace = parse.parse([Source("test", data)])
    tracemalloc.start()
    try:
        found = model.build(trace)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 25 * len(data)
    assert len(found.requests.events) < 4 * len(found.events)


def test_every_part_of_a_bio_has_its_queueing_and_its_splits() -> None:
    found = built(a_bio_split_many_times(20))
    assert [letters(found, i) for i in range(10)] == ["QXD", *["QXXD"] * 9]
    assert found.requests.pid.tolist() == [100] * 10


def test_many_gaps_leave_what_is_in_flight_after_them() -> None:
    writer = synth.Writer()
    writer.event(1, ISSUE, 8, 4096)
    for time in (10, 20, 30):
        writer.lose(0, 1)
        writer.event(time, ISSUE, 800 + time, 4096)
    writer.event(40, ISSUE, 8, 4096)
    writer.event(50, ISSUE, 8, 4096)
    found = built(writer)
    assert [bool(flags & model.LOST_COMPLETION) for flags in found.requests.flags] == [True] + 5 * [False]


def test_an_empty_trace_has_a_model() -> None:
    found = model.build(parse.parse([]))
    assert (len(found.requests), len(found.calls), found.processes) == (0, 0, [])
    assert model.problems_of(found)


def test_damaged_recordings_have_a_model() -> None:
    rng = random.Random(8)
    whole = synth.make(400).together()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 30)):
            at = rng.randrange(len(data))
            if rng.random() < 0.5:
                data[at] ^= 1 << rng.randrange(8)
            else:
                del data[at:at + rng.randrange(100)]
        found = model.build(parse.parse([Source("test", bytes(data))]))
        assert (found.requests.completed >= found.requests.dispatched).all()
        assert (found.calls.end >= found.calls.start).all()


def test_every_request_of_a_played_disk_is_found_whole() -> None:
    found = built(synth.make(5000))
    assert len(found.requests) > 500
    assert found.requests.finished().all()
    assert {letters(found, i) for i in range(len(found.requests))} == {"AQGImDC", "AQGImmDC"}
    assert found.requests.cls.all()
    assert not found.problems
    assert not found.lost
