# SPDX-License-Identifier: GPL-2.0
"""The parser: formats, order, losses, and every kind of damage."""

import random
import struct
import tracemalloc
from pathlib import Path

import pytest

from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import parse, synth, trace_files
from tools.user.blkviz.errors import NoTraceError
from tools.user.blkviz.parse import Source

FORMATS = [(version, order) for version in (1, 2) for order in "<>"]


def parsed(data: bytes) -> parse.Trace:
    return parse.parse([Source("test", data)])


def small(version: int = 1, order: str = "<") -> synth.Writer:
    writer = synth.Writer(version, order)
    writer.process(10, 100, "reader")
    writer.message(20, "enter vfs_read ino 7 off 0 len 4096", cgroup=77)
    writer.request((30, 2_000, 9_000), 4096, 8192)
    writer.message(9_500, "leave vfs_read ret 4096")
    return writer


@pytest.mark.parametrize(("version", "order"), FORMATS)
def test_every_field_survives(version: int, order: str) -> None:
    writer = synth.Writer(version, order, device=259 << 20 | 7)
    writer.event(123456789012345, fmt.COMPLETE, 2**40 + 1, 2**32 - 512, pid=4194304, cpu=300,
                 category=fmt.WRITE | fmt.SYNC, error=65531, payload=b"xyz")
    events = parsed(writer.together()).events
    assert len(events) == 1
    assert events.time[0] == 123456789012345
    assert events.sector[0] == 2**40 + 1
    assert events.length[0] == 2**32 - 512
    assert events.action[0] == fmt.COMPLETE
    assert fmt.kind_of_io(int(events.category[0])) == "WS"
    assert (events.pid[0], events.cpu[0], events.error[0]) == (4194304, 300, 65531)
    assert fmt.device_name(int(events.device[0])) == "259:7"
    assert events.payload(0) == b"xyz"


def test_version_2_has_categories_beyond_32_bits() -> None:
    writer = synth.Writer(2)
    writer.event(1, fmt.ISSUE, 8, 4096, category=fmt.WRITE | 1 << 16)
    assert fmt.kind_of_io(int(parsed(writer.together()).events.category[0])) == "Z"


@pytest.mark.parametrize(("version", "order"), FORMATS)
@pytest.mark.parametrize("cgroup", [None, 4711])
def test_a_message_is_read_with_and_without_a_cgroup(version: int, order: str,
                                                     cgroup: int | None) -> None:
    writer = synth.Writer(version, order)
    writer.message(5, "cfq 1S BE4 slice start length_us 100000 queued 1", cgroup=cgroup)
    events = parsed(writer.together()).events
    assert events.action[0] == fmt.NOTE_MESSAGE
    assert events.text(0) == "cfq 1S BE4 slice start length_us 100000 queued 1"
    assert events.cgroup(0) == cgroup


def test_the_sector_of_a_note_is_not_believed() -> None:
    """Older kernels leave it uninitialized."""
    data = bytearray(small().together())
    struct.pack_into("<Q", data, 16, 2**63)
    trace = parsed(bytes(data))
    assert not trace.problems
    assert trace.events.sector[0] == 0


def test_several_cpus_are_merged_by_time(tmp_path: Path) -> None:
    writer = synth.Writer()
    rng = random.Random(3)
    times = rng.sample(range(1, 100_000), 600)
    for start in range(0, 600, 200):
        for time in sorted(times[start:start + 200]):
            writer.event(time, fmt.QUEUE, time * 8, 4096, cpu=start // 200)
    trace, _ = trace_files.read([str(writer.save(tmp_path))])
    assert trace.events.time.tolist() == sorted(times)
    assert (trace.events.sector == trace.events.time * 8).all()
    assert not trace.lost


def test_events_of_one_time_stay_in_the_order_of_their_cpu() -> None:
    writer = synth.Writer()
    for action in (fmt.QUEUE, fmt.GETRQ, fmt.INSERT, fmt.ISSUE):
        writer.event(50, action, 8, 4096)
    assert parsed(writer.together()).events.action.tolist() == [
        fmt.QUEUE, fmt.GETRQ, fmt.INSERT, fmt.ISSUE]


def test_versions_and_byte_orders_may_meet_in_one_pipe() -> None:
    data = b"".join(small(version, order).together() for version, order in FORMATS)
    trace = parsed(data)
    assert len(trace.events) == 4 * 8
    assert not trace.problems


def test_dropped_events_are_found_where_they_happened() -> None:
    writer = synth.Writer()
    for number in range(20):
        if number == 7:
            writer.lose(cpu=0, count=41)
        writer.event(1000 * number, fmt.QUEUE, 8 * number, 4096)
        writer.message(1000 * number + 1, "a note has no number")
        writer.event(1000 * number + 500, fmt.QUEUE, 8 * number, 4096, cpu=1)
    lost = parsed(writer.together()).lost
    assert lost == [parse.Lost(6000, 7000, 41, 0, synth.DEVICE)]


def test_the_counter_of_events_may_wrap() -> None:
    writer = synth.Writer()
    writer.numbers[0] = 2**32 - 3
    for time in (1, 2):
        writer.event(time, fmt.QUEUE)
    writer.numbers[0] = -1
    for time in (3, 4):
        writer.event(time, fmt.QUEUE)
    assert not parsed(writer.together()).lost


@pytest.mark.parametrize(("version", "order"), FORMATS)
def test_truncation_at_every_byte(version: int, order: str) -> None:
    data = small(version, order).together()
    whole = parsed(data).events
    ends = []
    position = 0
    for index in range(len(whole)):
        payload = int(whole.payload_length[index])
        position += (48 if version == 1 else 64) + payload
        ends.append(position)
    assert position == len(data)
    for cut in range(len(data) + 1):
        trace = parsed(data[:cut])
        complete = sum(end <= cut for end in ends)
        assert trace.events.time.tolist() == whole.time[:complete].tolist(), cut
        assert [trace.events.payload(i) for i in range(complete)] == \
            [whole.payload(i) for i in range(complete)]
        assert bool(trace.problems) == (cut not in (0, *ends)), cut


def test_garbage_between_records_costs_no_other_record() -> None:
    first, second = small().together(), small(2, ">").together()
    rng = random.Random(5)
    for size in (1, 3, 4, 47, 48, 1000):
        trace = parsed(first + rng.randbytes(size) + second)
        assert len(trace.events) == 16, size
        assert len(trace.problems) == 1
        assert trace.problems[0].offset == len(first)


def test_a_damaged_payload_length_costs_one_payload() -> None:
    writer = small()
    data = bytearray(writer.together())
    second = 48 + 16
    for wrong in (0, 1, 60000, 65535):
        struct.pack_into("<H", data, second + 46, wrong)
        trace = parsed(bytes(data))
        assert len(trace.events) == 8, wrong
        assert trace.problems, wrong


def test_a_time_that_cannot_be_is_left_out() -> None:
    writer = small()
    data = bytearray(writer.together())
    struct.pack_into("<Q", data, len(data) - 48 - len("leave vfs_read ret 4096") - 48 + 8, 2**61)
    trace = parsed(bytes(data))
    assert len(trace.events) == 7
    assert int(trace.events.time.max()) < 10**6
    assert any("impossible time or sector" in problem.text for problem in trace.problems)


def test_fuzzed_recordings_never_stop_the_parser() -> None:
    """Bits, bytes and blocks of a recording replaced, cut out, doubled."""
    rng = random.Random(20)
    seeds = [synth.make(120, version=version, order=order).together() for version, order in FORMATS]
    for turn in range(1500):
        data = bytearray(seeds[turn % 4])
        for _ in range(rng.randrange(1, 12)):
            at = rng.randrange(len(data))
            match rng.randrange(5):
                case 0:
                    data[at] ^= 1 << rng.randrange(8)
                case 1:
                    data[at:at + 8] = rng.randbytes(8)
                case 2:
                    del data[at:at + rng.randrange(1, 200)]
                case 3:
                    data[at:at] = data[max(0, at - 100):at]
                case 4:
                    data[at:at + 4] = rng.choice(list(fmt.LAYOUTS))
            if not data:
                break
        trace = parsed(bytes(data))
        events = trace.events
        assert (events.time[1:] >= events.time[:-1]).all()
        assert len(events) <= len(data) // 4
        for index in range(len(events)):
            events.payload(index)
            events.cgroup(index)


def test_random_bytes_never_stop_the_parser() -> None:
    rng = random.Random(21)
    for _ in range(300):
        data = b"".join(rng.choice([rng.randbytes(rng.randrange(70)), *fmt.LAYOUTS])
                        for _ in range(rng.randrange(30)))
        parsed(data)


@pytest.mark.parametrize("data", [
    b"\x07tae" * 400_000,
    b"\x07ta" * 400_000,
    (b"\x07tae" + b"\xff" * 44) * 30_000,
    b"\0" * 1_000_000,
])
def test_hostile_input_is_bounded(data: bytes) -> None:
    """Work and memory follow the size of the input, not what it claims."""
    tracemalloc.start()
    try:
        trace = parsed(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(data) + 20_000_000
    assert len(trace.problems) <= parse.MOST_PROBLEMS + 3


def test_memory_follows_the_size_of_a_good_recording() -> None:
    data = synth.make(40_000).together()
    tracemalloc.start()
    try:
        parsed(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(data) + 10_000_000


@pytest.mark.parametrize("piece", [1, 7, 48, 1000])
def test_a_pipe_is_read_in_pieces(piece: int) -> None:
    data = small(2).together()
    buffer, count = b"", 0
    for start in range(0, len(data), piece):
        buffer += data[start:start + piece]
        found = parse.scan(buffer, final=False)
        assert not found.problems
        count += len(found.offsets)
        buffer = buffer[found.consumed:]
    assert (count, buffer) == (8, b"")


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"#!/bin/sh\necho hello\n", bytes(1000)):
        file = tmp_path / "x.blktrace.0"
        file.write_bytes(content)
        with pytest.raises(NoTraceError) as refused:
            trace_files.read([str(file)])
        assert str(file) in str(refused.value)
        assert "\n" not in str(refused.value)
        assert refused.value.code == 2


def test_a_recording_is_found_by_folder_prefix_and_file(tmp_path: Path) -> None:
    writer = synth.Writer()
    for cpu in range(12):
        writer.event(cpu, fmt.QUEUE, cpu=cpu)
    prefix = writer.save(tmp_path / "a[1]")
    for argument in (tmp_path / "a[1]", prefix, f"{prefix}.blktrace"):
        assert len(trace_files.read([str(argument)])[0].events) == 12
    assert len(trace_files.read([f"{prefix}.blktrace.3", f"{prefix}.blktrace.3"])[0].events) == 1
    with pytest.raises(NoTraceError):
        trace_files.read([str(tmp_path / "nothing")])


def test_a_file_that_is_no_trace_does_not_hide_the_others(tmp_path: Path) -> None:
    prefix = small().save(tmp_path)
    (tmp_path / "sdx.blktrace.1").write_bytes(b"something else")
    (tmp_path / "sdx.blktrace.2").write_bytes(b"")
    trace, _ = trace_files.read([str(prefix)])
    assert len(trace.events) == 8
    assert [str(problem) for problem in trace.problems] == [
        f"{prefix}.blktrace.1: not a block trace: left out"]


def test_notes_beside_a_recording_are_read_and_damage_to_them_ignored(tmp_path: Path) -> None:
    prefix = small().save(tmp_path)
    notes = tmp_path / "sdx.blkviz.json"
    notes.write_text('{"dropped": 3, "reserved": {"100": 5}, "command": "cat"}')
    found = trace_files.read([str(prefix)])[1]
    assert (found.dropped, found.reserved, found.command) == (3, {100: 5}, "cat")
    notes.write_text('{"dropped": [7]}')
    assert trace_files.read([str(prefix)])[1].dropped == 0
