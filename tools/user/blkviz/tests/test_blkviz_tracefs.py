# SPDX-License-Identifier: GPL-2.0
"""Events of tracefs: recording them, reading them, and whose files the system calls are of."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.base.cli import ToolError
from tools.user.blkviz import blktrace_format as fmt
from tools.user.blkviz import (
    capture,
    model,
    parse,
    synth,
    syscall_table,
    trace_files,
    tracefs_calls,
    tracefs_capture,
    tracefs_parse,
)
from tools.user.blkviz.parse import Problem, Source, Trace
from tools.user.blkviz.tracefs_parse import Event, Text

TOOL = Path(__file__).resolve().parents[1] / "blkviz"
HEAD = "# blkviz tracefs x86_64\n# device 8:48 8:49\n"
US, MS, S = 1000, 1_000_000, 1_000_000_000
READ, WRITE, CLOSE, OPEN, DUP2, PREAD, IO_SUBMIT, IO_GETEVENTS, STATX, CLOSE_RANGE = (
    syscall_table.X86_64[name] for name in ("read", "write", "close", "openat", "dup2", "pread64", "io_submit",
                                       "io_getevents", "statx", "close_range"))


def line(micros: int, pid: int, name: str, text: str, group: int = 0, cpu: int = 0, comm: str = "fio") -> str:
    """As trace_pipe writes it."""
    seconds, micros = divmod(micros, 10**6)
    return f"{comm:>16}-{pid:<7} ({group or pid:>7}) [{cpu:03}] ..... {seconds:>5}.{micros:06}: {name}: {text}\n"


def enter(micros: int, pid: int, number: int, *values: int, **more: Any) -> str:
    words = ", ".join(f"{value:x}" for value in [*values, 0, 0, 0, 0, 0, 0][:6])
    return line(micros, pid, "sys_enter", f"NR {number} ({words})", **more)


def leave(micros: int, pid: int, number: int, result: int, **more: Any) -> str:
    return line(micros, pid, "sys_exit", f"NR {number} = {result}", **more)


def pages(micros: int, pid: int, inode: int = 0x1f, device: str = "8:49", **more: Any) -> str:
    return line(micros, pid, "mm_filemap_get_pages", f"dev={device} ino={inode:x} ofs=0-4095", **more)


def read(text: str, end: str = "# end\n") -> Text:
    return tracefs_parse.read("sdx.tracefs", (HEAD + text + end).encode())


def block_trace(*queued: tuple[int, int], wall: int = 1_700_000_000, last: int = 60) -> Trace:
    """From second 1 to `last`, with what threads queue: pairs of us and a thread."""
    writer = synth.Writer()
    writer.clock(S, wall)
    for number, (micros, pid) in enumerate(queued):
        writer.event(micros * US, fmt.QUEUE, number * 8, 4096, pid=pid)
    writer.event(last * S, fmt.UNPLUG_IO, pid=1)
    return parse.parse([Source("sdx.blktrace.0", writer.together())])


def messages_of(trace: Trace) -> list[str]:
    """The messages, with the time in us and the thread."""
    events = trace.events
    return [f"{int(events.time[i]) // US} {events.pid[i]} {events.text(i)}" for i in range(len(events))
            if events.action[i] == fmt.NOTE_MESSAGE]


def converted(text: str, *queued: tuple[int, int]) -> list[str]:
    trace = tracefs_calls.merge(block_trace(*queued), read(text))
    assert trace.problems == []
    return messages_of(trace)


def built(text: str, *queued: tuple[int, int]) -> model.Model:
    return model.build(tracefs_calls.merge(block_trace(*queued), read(text)))


# --- lines ---------------------------------------------------------------------------


PARTITION = 8 << 20 | 49
LINES = [
    (("sys_enter", "NR 0 (3, 7ffd00001000, 1000, 0, 0, ffffffffffffffff)"),
     ("enter", "read", (3, 0x7ffd00001000, 4096, 0, 0, 2**64 - 1), "")),
    (("sys_exit", "NR 0 = 4096"), ("leave", "read", (4096,), "")),
    (("sys_exit", "NR 257 = -2"), ("leave", "openat", (-2,), "")),
    (("sys_exit", "NR -1 = 0"), ("leave", "", (0,), "")),
    (("mm_filemap_fault", "dev=8:49 ino=1f ofs=8192"),
     ("fault", "mm_filemap_fault", (PARTITION, 0x1f, 8192, 4096), "")),
    (("mm_filemap_get_pages", "dev=8:49 ino=1f ofs=4096-12287"),
     ("cache", "mm_filemap_get_pages", (PARTITION, 0x1f, 4096, 8192), "")),
    (("mm_filemap_add_to_page_cache", "dev 8:49 ino 1f pfn=0x12a3 ofs=4096 order=0"),
     ("cache", "mm_filemap_add_to_page_cache", (PARTITION, 0x1f, 4096, 0), "")),
    # as it was with pages
    (("mm_filemap_add_to_page_cache", "dev 8:49 ino 1f page=00000000c0ffee00 pfn=74722 ofs=4096"),
     ("cache", "mm_filemap_add_to_page_cache", (PARTITION, 0x1f, 4096, 0), "")),
    (("page_cache_sync_ra", "dev=8:49 ino=1f index=2 req_count=3 order=0 size=32 async_size=16 ra_pages=32 "
                            "mmap_miss=0 prev_pos=-1"),
     ("ahead", "page_cache_sync_ra", (PARTITION, 0x1f, 8192, 12288), "")),
    (("io_uring_submit_req", "ring 00000000d1, req 00000000a1, user_data 0x7, opcode READ_FIXED, flags 0x200000, "
                             "sq_thread 0"), ("submit", "read_fixed", (), "00000000a1 0x7")),
    (("io_uring_submit_sqe", "ring 00000000d1, req 00000000a1, user_data 0x7, opcode READV, flags 0x0, non block 1, "
                             "sq_thread 0"), ("submit", "readv", (), "00000000a1 0x7")),
    (("io_uring_file_get", "ring 00000000d1, req 00000000a1, user_data 0x7, fd 5"),
     ("file", "", (5,), "00000000a1 0x7")),
    (("io_uring_complete", "ring 00000000d1, req 00000000a1, user_data 0x7, result -5, cflags 0x0 extra1 0 extra2 0 "),
     ("complete", "", (-5,), "00000000a1 0x7")),
]


@pytest.mark.parametrize(("words", "expected"), LINES, ids=lambda value: value[0])
def test_each_event_is_read(words: tuple[str, str], expected: tuple[Any, ...]) -> None:
    found = read(line(2_000_001, 812, *words, group=810, cpu=3))
    assert found.problems == []
    assert found.events == [Event(2_000_001 * US, 812, 810, 3, "fio", *expected)]


@pytest.mark.parametrize(("prefix", "comm", "pid", "group"), [
    ("             fio-812     (    810) [001] ..... ", "fio", 812, 810),
    ("kworker/u8:2-ev-812     (    812) [001] d..2. ", "kworker/u8:2-ev", 812, 812),
    ("    a b (c)-1-2-812     (-------) [001] .... ", "a b (c)-1-2", 812, 812),
    ("           <...>-4194304 [001] ..... ", "<...>", 4194304, 4194304),
    ("             fio-812     [001] ", "fio", 812, 812),
])
def test_names_and_threads_in_all_forms(prefix: str, comm: str, pid: int, group: int) -> None:
    found = read(f"{prefix}   12.000345: sys_exit: NR 0 = 1\n")
    assert found.problems == []
    event, = found.events
    assert (event.comm, event.pid, event.group, event.cpu, event.time) == (comm, pid, group, 1, 12_000_345 * US)


def test_lines_that_the_cpus_wrote_late_are_put_in_order() -> None:
    found = read(leave(20, 7, READ, 1, cpu=1) + enter(10, 7, READ, 3))
    assert [event.what for event in found.events] == ["enter", "leave"]


@pytest.mark.parametrize("damaged", [
    "not a line of a trace\n", "fio-812 [001] .....  12.000: sys_exit: NR 0 = 1\n", line(1, 7, "sys_enter", "NR 0 (3,"),
    line(1, 7, "sys_exit", "NR 0 = "), line(1, 7, "mm_filemap_fault", "dev=8:49 ino="), "# something else\n",
    line(1, 7, "io_uring_complete", "ring 1, req 2, user_data 0x7, cflags"), "\x00\xff\x00\n",
])
def test_damaged_lines_are_left_out_and_told(damaged: str) -> None:
    good = enter(10, 7, READ, 3) + leave(20, 7, READ, 1)
    text = damaged + good if damaged.startswith("#") else good + damaged
    found = read(text) if not damaged.startswith("#") else tracefs_parse.read(
        "sdx.tracefs", (damaged + HEAD + good + "# end\n").encode())
    assert [event.what for event in found.events] == ["enter", "leave"]
    number = 1 if damaged.startswith("#") else 5
    assert [str(one) for one in found.problems] == [
        f"sdx.tracefs: 1 damaged line left out, the first is line {number}"]


def test_a_truncated_file_has_what_is_whole_and_says_so() -> None:
    body = "".join(enter(n, 7, READ, 3) + leave(n + 5, 7, READ, 4096) for n in range(100, 200, 10))
    data = (HEAD + body + "# end\n").encode()
    whole = tracefs_parse.read("t", data).events
    assert len(whole) == 20 and tracefs_parse.read("t", data).problems == []
    for cut in range(len(data) - 1):
        found = tracefs_parse.read("t", data[:cut])
        assert found.events == whole[:len(found.events)]
        assert any("before the recording did" in str(problem) for problem in found.problems), cut


def test_no_damage_makes_reading_fail() -> None:
    chance = random.Random(7)
    body = "".join(line(1000 + n, 7, *words) for n, (words, _) in enumerate(LINES))
    data = (HEAD + body + "CPU:1 [LOST 5 EVENTS]\n# end\n").encode()
    for _ in range(300):
        wrong = bytearray(data)
        for _ in range(chance.randrange(1, 20)):
            wrong[chance.randrange(len(wrong))] = chance.choice(b"\x00\xff\n -:,=()[]09a#")
        merged = tracefs_calls.merge(block_trace(), tracefs_parse.read("t", bytes(wrong)))
        model.build(merged)


def test_a_file_of_another_kind_of_machine_says_that_it_has_no_calls() -> None:
    found = tracefs_parse.read("t", (HEAD.replace("x86_64", "vax") + enter(1, 7, READ, 3) + "# end\n").encode())
    assert any("machine type" in str(problem) for problem in found.problems)


def test_lost_events_are_told_and_are_where_their_cpu_goes_on() -> None:
    found = read(enter(10, 7, READ, 3, cpu=1) + "CPU:1 [LOST 12 EVENTS]\n" + leave(15, 8, READ, 1, cpu=0)
                 + leave(20, 7, READ, 1, cpu=1) + "CPU:0 [LOST EVENTS]\n")
    assert [(event.what, event.cpu, event.time // US) for event in found.events] == [
        ("enter", 1, 10), ("leave", 0, 15), ("lost", 1, 20), ("leave", 1, 20)]
    assert [str(one) for one in found.problems] == [
        "sdx.tracefs: 13 events were lost while recording: system calls are missing"]


@pytest.mark.parametrize(("machine", "header"), [("x86_64", "asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")])
def test_the_numbers_are_those_of_the_headers(machine: str, header: str) -> None:
    # what a machine of 64 bits asks the second for
    wanted = ["-D__ARCH_WANT_NEW_STAT", "-D__ARCH_WANT_RENAMEAT"]
    done = subprocess.run(["gcc", "-E", "-dM", "-xc", *wanted, "-"], input=f"#include <{header}>\n", text=True,
                          capture_output=True, check=True)
    words = dict(re.findall(r"#define (__NR\w+) (\w+)", done.stdout))
    table = syscall_table.MACHINES[machine]
    known = {name: words[f"__NR_{name}"] for name in table}
    # of calls that have another name on machines of 32 bits one word stands for the other
    assert {name: int(words.get(word, word)) for name, word in known.items()} == table


def test_every_number_has_a_call_and_every_call_a_number() -> None:
    assert set(syscall_table.X86_64) == set(syscall_table.CALLS)
    assert set(syscall_table.GENERIC) < set(syscall_table.CALLS)


# --- whose files ------------------------------------------------------------------------


def test_a_read_that_has_pages_of_the_device_in_hand_is_told_with_its_inode() -> None:
    text = enter(2_000_000, 7, PREAD, 3, 0x7f00, 65536, 8192) + pages(2_000_010, 7) + leave(2_000_500, 7, PREAD, 65536)
    assert converted(text) == ["2000000 7 enter vfs_read ino 31 off 8192 len 65536",
                          "2000500 7 leave vfs_read ino 31 ret 65536"]


def test_other_calls_on_the_same_open_file_are_told_and_those_on_others_are_not() -> None:
    text = (enter(2_000_000, 7, READ, 3, 0, 10) + leave(2_000_001, 7, READ, 10)
            + enter(2_000_010, 7, READ, 4, 0, 10) + leave(2_000_011, 7, READ, 10)
            + enter(2_000_020, 7, READ, 3, 0, 10) + pages(2_000_021, 7) + leave(2_000_022, 7, READ, 10)
            + enter(2_000_030, 8, READ, 3, 0, 10) + leave(2_000_031, 8, READ, 10))
    assert [one.split()[0] for one in converted(text)] == ["2000000", "2000001", "2000020", "2000022"]


def test_threads_of_a_process_share_their_descriptors() -> None:
    text = (enter(2_000_000, 7, READ, 3, 0, 10, group=6) + pages(2_000_001, 7, group=6)
            + leave(2_000_002, 7, READ, 10, group=6)
            + enter(2_000_010, 8, WRITE, 3, 0, 10, group=6) + leave(2_000_011, 8, WRITE, 10, group=6))
    assert "2000010 8 enter vfs_write ino 31 len 10" in converted(text)


def test_the_process_of_a_thread_is_known_from_any_of_its_lines() -> None:
    unknown = enter(2_000_010, 8, WRITE, 3, 0, 10).replace("(      8)", "(-------)")
    assert "(-------)" in unknown
    text = (enter(2_000_000, 7, READ, 3, 0, 10, group=6) + pages(2_000_001, 7, group=6)
            + leave(2_000_002, 7, READ, 10, group=6) + unknown + leave(2_000_011, 8, WRITE, 10, group=6))
    assert "2000010 8 enter vfs_write ino 31 len 10" in converted(text)


@pytest.mark.parametrize("ends", [
    enter(2_000_005, 7, CLOSE, 3) + leave(2_000_006, 7, CLOSE, 0),
    enter(2_000_005, 7, DUP2, 9, 3) + leave(2_000_006, 7, DUP2, 3),
    enter(2_000_005, 7, CLOSE_RANGE, 3, 0xffffffff) + leave(2_000_006, 7, CLOSE_RANGE, 0),
    enter(2_000_005, 7, OPEN, 0) + leave(2_000_006, 7, OPEN, 3),
])
def test_what_is_closed_or_opened_anew_is_another_file(ends: str) -> None:
    text = (enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7) + leave(2_000_002, 7, READ, 10) + ends
            + enter(2_000_020, 7, READ, 3, 0, 10) + leave(2_000_021, 7, READ, 10))
    assert [one.split()[0] for one in converted(text)] == ["2000000", "2000002"]


def test_a_copy_of_a_descriptor_is_the_same_open_file() -> None:
    """As a shell's redirection, and what dd does with its files."""
    text = (enter(2_000_000, 7, OPEN, 0) + leave(2_000_001, 7, OPEN, 3) + enter(2_000_002, 7, DUP2, 3, 1)
            + leave(2_000_003, 7, DUP2, 1) + enter(2_000_004, 7, CLOSE, 3) + leave(2_000_005, 7, CLOSE, 0)
            + enter(2_000_020, 7, WRITE, 1, 0, 10) + pages(2_000_021, 7) + leave(2_000_022, 7, WRITE, 10))
    assert converted(text)[:2] == ["2000000 7 enter vfs_open ino 31", "2000001 7 leave vfs_open ino 31 ret 3"]


def test_an_open_is_told_when_its_file_turns_out_to_be_on_the_device() -> None:
    text = (enter(2_000_000, 7, OPEN, 0) + leave(2_000_001, 7, OPEN, 3)
            + enter(2_000_002, 7, OPEN, 0) + leave(2_000_003, 7, OPEN, 4)
            + enter(2_000_020, 7, READ, 3, 0, 10) + pages(2_000_021, 7) + leave(2_000_022, 7, READ, 10))
    assert converted(text)[:2] == ["2000000 7 enter vfs_open ino 31", "2000001 7 leave vfs_open ino 31 ret 3"]
    assert len(converted(text)) == 4


def test_a_call_within_which_its_thread_queues_a_request_is_told() -> None:
    """As with O_DIRECT, and with a stat() whose inode has to be read."""
    text = (enter(2_000_000, 7, READ, 3, 0, 10) + leave(2_000_002, 7, READ, 10)
            + enter(2_000_010, 7, STATX, 3) + leave(2_000_012, 7, STATX, 0)
            + enter(2_000_020, 7, STATX, 3) + leave(2_000_022, 7, STATX, 0))
    assert converted(text, (2_000_001, 7), (2_000_011, 7), (2_000_021, 8)) == [
        "2000000 7 enter vfs_read len 10", "2000002 7 leave vfs_read ret 10",
        "2000010 7 enter vfs_stat", "2000012 7 leave vfs_stat ret 0"]


def test_pages_of_another_device_and_of_the_device_itself() -> None:
    own = 8 << 20 | 48
    text = (enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7, device="8:1") + leave(2_000_002, 7, READ, 10)
            + enter(2_000_010, 7, READ, 4, 0, 10) + pages(2_000_011, 7, own, "0:9") + leave(2_000_012, 7, READ, 10))
    assert converted(text) == ["2000010 7 enter vfs_read len 10", "2000012 7 leave vfs_read ret 10"]


def test_a_fault_within_a_call_does_not_make_its_file_one_of_the_device() -> None:
    fault = line(2_000_001, 7, "mm_filemap_fault", "dev=8:49 ino=1f ofs=8192")
    text = enter(2_000_000, 7, WRITE, 5, 0, 10) + fault + pages(2_000_002, 7) + leave(2_000_005, 7, WRITE, 10)
    assert converted(text, (2_000_003, 7)) == ["2000001 7 at vfs_fault ino 31 off 8192 len 4096"]


def test_who_waits_for_asynchronous_io_of_the_device_is_told() -> None:
    text = (enter(2_000_000, 7, IO_SUBMIT, 0x7f12, 1) + leave(2_000_002, 7, IO_SUBMIT, 1)
            + enter(2_000_010, 7, IO_GETEVENTS, 0x7f12, 1) + leave(2_000_900, 7, IO_GETEVENTS, 1)
            + enter(2_001_000, 7, IO_GETEVENTS, 0x8888, 1) + leave(2_001_001, 7, IO_GETEVENTS, 1))
    assert [one.split()[3] for one in converted(text, (2_000_001, 7))] == [
        "io_submit", "io_submit", "io_getevents", "io_getevents"]


def uring(micros: int, word: str, number: int, rest: str, pid: int = 7) -> str:
    return line(micros, pid, f"io_uring_{word}", f"ring 0c, req 0a{number}, user_data 0x{number}, {rest}")


def test_requests_of_io_uring_end_in_any_order_in_any_thread() -> None:
    text = (uring(2_000_000, "submit_req", 1, "opcode READ, flags 0x0, sq_thread 0")
            + uring(2_000_001, "file_get", 1, "fd 5") + uring(2_000_010, "submit_req", 2, "opcode READ, flags 0x0, s")
            + uring(2_000_011, "file_get", 2, "fd 5") + uring(2_000_020, "submit_req", 3, "opcode NOP, flags 0x0, s")
            + uring(2_000_100, "complete", 2, "result 4096, cflags 0x0", pid=99)
            + uring(2_000_200, "complete", 3, "result 0, cflags 0x0", pid=99)
            + uring(2_000_300, "complete", 1, "result 512, cflags 0x0", pid=0))
    calls = built(text, (2_000_002, 7)).calls
    assert calls.operations == ["uring_read"] and calls.pid.tolist() == [7, 7]
    assert (calls.end - calls.start).tolist() == [300 * US, 90 * US]
    assert calls.result.tolist() == [512, 4096] and calls.depth.tolist() == [1, 1] and not calls.flags.any()


# --- beginning, end, losses -------------------------------------------------------------


def test_a_call_from_before_the_recording_begins_with_it() -> None:
    text = pages(2_000_001, 7) + leave(2_000_002, 7, READ, 10) + leave(2_000_003, 8, READ, 10)
    assert converted(text) == ["2000002 7 leave vfs_read ino 31 ret 10"]
    calls = built(text).calls
    assert (calls.start.tolist(), calls.end.tolist(), calls.flags.tolist()) == (
        [S], [2_000_002 * US], [model.NO_ENTER])


def test_a_call_that_began_before_the_block_trace_begins_with_it() -> None:
    text = (enter(500_000, 7, READ, 3, 0, 10) + pages(500_001, 7) + leave(500_002, 7, READ, 10)
            + enter(600_000, 7, READ, 3, 0, 10) + leave(2_000_000, 7, READ, 10))
    calls = built(text).calls
    assert (calls.start.tolist(), calls.end.tolist(), calls.flags.tolist()) == (
        [S], [2_000_000 * US], [model.NO_ENTER])


def test_a_call_that_goes_on_at_the_end_ends_with_the_trace() -> None:
    calls = built(enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7)).calls
    assert (calls.start.tolist(), calls.end.tolist(), calls.flags.tolist()) == (
        [2_000_000 * US], [60 * S], [model.NO_LEAVE])


LOST = "CPU:0 [LOST 4 EVENTS]\n"


@pytest.mark.parametrize("lossy", [
    # the end of one and the beginning of another
    enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7) + LOST + leave(2_900_000, 7, READ, 10),
    # the end alone
    enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7) + LOST + enter(2_900_000, 7, READ, 9, 0, 10)
    + leave(2_900_001, 7, READ, 10),
])
def test_a_call_across_a_loss_is_left_out_and_counted(lossy: str) -> None:
    after = enter(3_000_000, 7, READ, 3, 0, 10) + pages(3_000_000, 7) + leave(3_000_001, 7, READ, 10)
    trace = tracefs_calls.merge(block_trace(), read(lossy + after))
    assert [one.split()[0] for one in messages_of(trace)] == ["3000000", "3000001"]
    assert [problem.text for problem in trace.problems] == [
        "4 events were lost while recording: system calls are missing",
        "1 system calls whose beginning or end was lost are left out"]


def test_after_a_loss_a_descriptor_may_be_of_another_file() -> None:
    text = (enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7) + leave(2_000_002, 7, READ, 10) + LOST
            + enter(2_000_010, 7, READ, 3, 0, 10) + leave(2_000_012, 7, READ, 10))
    assert len(messages_of(tracefs_calls.merge(block_trace(), read(text)))) == 2


def test_a_loss_elsewhere_takes_no_call() -> None:
    text = (enter(2_000_000, 7, READ, 3, 0, 10, cpu=1) + pages(2_000_001, 7, cpu=1) + LOST
            + leave(2_000_500, 8, READ, 1, cpu=0) + leave(2_900_000, 7, READ, 10, cpu=1))
    trace = tracefs_calls.merge(block_trace(), read(text))
    assert len(messages_of(trace)) == 2 and len(trace.problems) == 1


def test_a_beginning_that_is_lost_makes_no_call_from_before_the_recording() -> None:
    text = LOST + pages(2_000_001, 7) + leave(2_000_002, 7, READ, 10)
    assert messages_of(tracefs_calls.merge(block_trace(), read(text))) == []


# --- clocks ------------------------------------------------------------------------------


ONE = enter(2_000_000, 7, READ, 3, 0, 10) + pages(2_000_001, 7) + leave(2_000_002, 7, READ, 10)


def marked(micros: int, wall: int) -> str:
    return line(micros, 900, "tracing_mark_write", f"blkviz wall {wall}")


@pytest.mark.parametrize("wall_s", [1.5, 1.5000009, 1.489, 0.6])
def test_one_clock_needs_no_shift_and_gets_none(wall_s: float) -> None:
    """The wall clock is noted by a program, which may have to wait; the block trace begins at 1 s."""
    text = marked(1_500_000, 1_700_000_000 * S + int((wall_s - 1) * S)) + ONE
    assert messages_of(tracefs_calls.merge(block_trace(), read(text)))[0].split()[0] == "2000000"


@pytest.mark.parametrize("shift_s", [1000, -1_000_000])
def test_another_clock_is_shifted_by_what_the_wall_clock_says(shift_s: int) -> None:
    writer = synth.Writer()
    start = (2_000_000 + shift_s) * S
    writer.clock(start, 1_700_000_000, 250)
    writer.event(start + 9 * S, fmt.QUEUE, 0, 4096, pid=7)
    trace = parse.parse([Source("sdx.blktrace.0", writer.together())])
    # the block trace begins 1 s after the mark
    mark = marked(2_000_000 * 10**6 - 10**6, 1_699_999_999 * S + 250)
    text = mark + enter(2_000_000 * 10**6 + 700, 7, READ, 3, 0, 10) + pages(2_000_000 * 10**6 + 701, 7)
    merged = tracefs_calls.merge(trace, read(text))
    assert messages_of(merged) == [f"{start // US + 700} 7 enter vfs_read ino 31 len 10"]
    assert [problem.text for problem in merged.problems] == [
        "its clock differs from that of the block trace: system calls are placed by the wall clock, to within some "
        "milliseconds"]


def test_a_wall_clock_that_was_set_meanwhile_shifts_nothing() -> None:
    text = marked(900_000, 1_600_000_000 * S) + ONE + marked(3_000_000, 1_700_000_002 * S)
    assert converted(text)[0].split()[0] == "2000000"


def test_events_of_another_time_are_left_out() -> None:
    late = enter(99_000_000, 7, READ, 3, 0, 10) + pages(99_000_001, 7)
    trace = tracefs_calls.merge(block_trace(), read(late))
    assert messages_of(trace) == []
    assert [problem.text for problem in trace.problems] == ["recorded at another time than the block trace: left out"]


def test_who_has_no_request_gets_its_name_from_the_events() -> None:
    text = ONE + enter(2_100_000, 8, READ, 3, 0, 9, comm="<...>") + pages(2_100_001, 8, comm="<...>")
    assert {process.pid: process.name for process in built(text).processes} == {7: "fio", 8: "?"}


def test_losses_of_the_block_trace_stay_as_they_were() -> None:
    writer = synth.Writer()
    writer.event(S, fmt.QUEUE, 0, 4096)
    writer.lose(0, 5)
    writer.event(9 * S, fmt.QUEUE, 8, 4096)
    trace = parse.parse([Source("sdx.blktrace.0", writer.together())])
    merged = tracefs_calls.merge(trace, read(ONE))
    assert merged.lost == trace.lost and len(merged.lost) == 1
    assert parse.add(merged, Source("none", b"")).problems == merged.problems


# --- recording --------------------------------------------------------------------------


# Stands for the kernel in the process that records: a new instance has files, and can be removed with them.
KERNEL = r'''
import os, shutil
ROOT = os.environ["BLKVIZ_TRACEFS"]
make, remove = os.mkdir, os.rmdir
def is_instance(path):
    return os.path.dirname(os.fspath(path)) == ROOT + "/instances"
def mkdir(path, *more, **named):
    make(path, *more, **named)
    if is_instance(path):
        shutil.copytree(ROOT + "/events", os.fspath(path) + "/events")
        make(os.fspath(path) + "/options")
        for name in ("trace_clock", "buffer_size_kb", "trace_marker", "tracing_on", "options/record-tgid"):
            if not os.path.exists(ROOT + "/without/" + name):
                open(os.fspath(path) + "/" + name, "w").close()
        shutil.copy(ROOT + "/text", os.fspath(path) + "/trace_pipe")
def rmdir(path, *more, **named):
    if is_instance(path):
        os.rename(path, ROOT + "/removed")
    else:
        remove(path, *more, **named)
os.mkdir, os.rmdir = mkdir, rmdir
'''
BLKTRACE = r"""#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in -D) folder=$2; shift ;; -o) name=$2; shift ;; -d) device=$2; shift ;; esac
	shift
done
[ "$device" = /dev/none ] && { echo "Invalid path $device specified" >&2; exit 1; }
[ ! -e "$BLKVIZ_SYSFS/class/block/sdx/trace/vfs" ] || cat "$BLKVIZ_SYSFS/class/block/sdx/trace/vfs" > "$FAKE/during"
trap 'cp "$FAKE/trace" "$folder/$name.blktrace.0"; kill $!; exit 0' INT
: > "$folder/$name.blktrace.0"
sleep 100 > /dev/null 2>&1 &
wait
"""
EVENTS = (*tracefs_capture.CALLS, *tracefs_capture.OF_DEVICE, *tracefs_capture.OF_URING)


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """A machine with tracefs, blktrace and the disk sdx, whose kernel is not of this queue; no root needed."""
    for event in EVENTS:
        folder = tmp_path / "tracing/events" / event
        folder.mkdir(parents=True)
        for name in ("enable", "filter"):
            (folder / name).write_text("0\n")
        (folder / "format").write_text("\tfield:void * req;\toffset:16;\n")
    (tmp_path / "tracing/instances").mkdir()
    (tmp_path / "tracing/text").write_text(ONE)
    for name, number in (("sdx", "8:48"), ("sdx/sdx1", "8:49"), ("none", "8:64")):
        (tmp_path / "sys/class/block" / name / "trace").mkdir(parents=True)
        (tmp_path / "sys/class/block" / name / "dev").write_text(f"{number}\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sitecustomize.py").write_text(KERNEL)
    (tmp_path / "bin/blktrace").write_text(BLKTRACE)
    (tmp_path / "bin/blktrace").chmod(0o755)
    writer = synth.Writer()
    writer.clock(S, 1_700_000_000)
    writer.event(60 * S, fmt.UNPLUG_IO, pid=1)
    (tmp_path / "trace").write_bytes(writer.together())
    return {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path / "bin"),
            "BLKVIZ_SYSFS": str(tmp_path / "sys"), "BLKVIZ_TRACEFS": str(tmp_path / "tracing"), "FAKE": str(tmp_path)}


def recorded(machine: dict[str, str], *words: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([TOOL, "record", "-o", Path(machine["FAKE"]) / "base", *map(str, words)], check=False,
                          capture_output=True, env={**os.environ, **machine})


def left(tmp_path: Path) -> list[str]:
    """Files of a recording other than those of blktrace, and tracefs instances."""
    return sorted([path.name for path in tmp_path.glob("*base*") if ".blktrace." not in path.name]
                  + [f"instance {path.name}" for path in (tmp_path / "tracing/instances").iterdir()])


def put(tmp_path: Path, name: str) -> str:
    """What was written to a file of the instance, which is gone."""
    return (tmp_path / "tracing/removed" / name).read_text()


def test_a_kernel_without_messages_is_recorded_by_tracefs_which_is_told(
    machine: dict[str, str], tmp_path: Path
) -> None:
    done = recorded(machine, "sdx", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7, done.stderr
    assert b"system calls: tracefs events (raw_syscalls, filemap, readahead, io_uring)" in done.stderr
    assert left(tmp_path) == ["base.blkviz.json", "base.tracefs"]
    text = (tmp_path / "base.tracefs").read_text()
    assert text == f"# blkviz tracefs {os.uname().machine}\n# device 8:48 8:49\n{ONE}# end\n"
    shown = json.loads(subprocess.run([TOOL, tmp_path / "base", "--json"], check=True, capture_output=True).stdout)
    assert (shown["calls"], shown["problems"]) == (1, [])


def test_events_are_switched_on_for_the_device_with_the_monotonic_clock(
    machine: dict[str, str], tmp_path: Path
) -> None:
    assert recorded(machine, "-w", "0.1", "sdx").returncode == 0
    assert put(tmp_path, "trace_clock") == "mono" and put(tmp_path, "tracing_on") == "0"
    assert put(tmp_path, "options/record-tgid") == "1"
    assert abs(int(put(tmp_path, "trace_marker").removeprefix("blkviz wall ")) - time.time_ns()) < 3600 * S
    assert {put(tmp_path, f"events/{event}/enable") for event in EVENTS} == {"1"}
    own, numbers = re.fullmatch(r"common_pid != (\d+) && \((.*)\)",
                                put(tmp_path, "events/raw_syscalls/sys_exit/filter")).groups()  # type: ignore[union-attr]
    assert int(own) > 0
    table = syscall_table.MACHINES[os.uname().machine]
    assert sorted(numbers.split(" || ")) == sorted(f"id == {number}" for number in table.values())
    disk, part = 8 << 20 | 48, 8 << 20 | 49
    assert put(tmp_path, "events/filemap/mm_filemap_fault/filter") == \
        f"s_dev == {disk} || i_ino == {disk} || s_dev == {part} || i_ino == {part}"


@pytest.mark.parametrize("event", [*tracefs_capture.OF_DEVICE, *tracefs_capture.OF_URING])
def test_what_a_kernel_has_not_is_not_needed(machine: dict[str, str], tmp_path: Path, event: str) -> None:
    folder = tmp_path / "tracing/events" / event
    folder.rename(tmp_path / "away")
    assert recorded(machine, "-w", "0.1", "sdx").returncode == 0
    assert (tmp_path / "base.tracefs").exists()


def test_completions_of_io_uring_that_name_no_request_are_not_recorded(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tracing/events/io_uring/io_uring_complete/format").write_text("\tfield:u64 user_data;\n")
    assert recorded(machine, "-w", "0.1", "sdx").returncode == 0
    assert put(tmp_path, "events/io_uring/io_uring_complete/enable") == "0\n"


def wait_for(there: Callable[[], bool]) -> None:
    for _ in range(400):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_it_leaves_a_recording_and_no_instance(
    machine: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    began = tmp_path / "began"
    running = subprocess.Popen(
        [TOOL, "record", "-o", tmp_path / "base", "sdx", "--", "sh", "-c", f": > {began}; exec sleep 100"],
        env={**os.environ, **machine}, stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, signal.SIGHUP)])
    try:
        wait_for(began.exists)
        assert left(tmp_path)[-1] == f"instance blkviz-{running.pid}"
        running.send_signal(number)
        _, text = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, text
    assert left(tmp_path) == ["base.blkviz.json", "base.tracefs"]
    assert (tmp_path / "base.tracefs").read_text().endswith(f"{ONE}# end\n")


def test_without_a_trace_there_are_no_events_and_no_instance(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "base.tracefs").write_text("of an older one")
    done = recorded(machine, "-w", "0.1", "none")
    assert done.returncode == 1 and b"Invalid path /dev/none" in done.stderr
    assert left(tmp_path) == []


def test_a_file_that_the_kernel_has_not_is_one_line_and_leaves_no_instance(
    machine: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "tracing/without").mkdir()
    (tmp_path / "tracing/without/trace_clock").touch()
    done = recorded(machine, "-w", "0.1", "sdx")
    assert done.returncode == 1 and b"trace_clock: No such file" in done.stderr.splitlines()[-1]
    assert left(tmp_path) == []


@pytest.mark.parametrize(("lacks", "why"), [
    ("tracing/instances", "mount -t tracefs"), ("tracing/events/raw_syscalls/sys_enter", "no system call events")])
def test_a_machine_without_either_says_why_and_records_requests(
    machine: dict[str, str], tmp_path: Path, lacks: str, why: str
) -> None:
    (tmp_path / lacks).rename(tmp_path / "away")
    done = recorded(machine, "-w", "0.1", "sdx")
    assert done.returncode == 0 and b"the trace will have requests only" in done.stderr and why.encode() in done.stderr
    forced = recorded(machine, "--events", "tracefs", "-w", "0.1", "sdx")
    assert forced.returncode == 1 and why.encode() in forced.stderr


@pytest.mark.parametrize(("which", "during", "events"), [
    ("auto", "1", False), ("vfs", "1", False), ("tracefs", "0", True), ("none", "0", False)])
def test_a_kernel_with_messages_can_be_recorded_as_one_without(
    machine: dict[str, str], tmp_path: Path, which: str, during: str, events: bool
) -> None:
    switch = tmp_path / "sys/class/block/sdx/trace/vfs"
    switch.write_text("read\n")
    done = recorded(machine, "--events", which, "-w", "0.1", "sdx")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "during").read_text().strip() == during
    assert switch.read_text() == "read\n"
    assert (tmp_path / "base.tracefs").exists() == events
    assert len(done.stderr.splitlines()) == 2


def test_a_full_disk_ends_the_copying_and_is_kept_to_be_told(tmp_path: Path) -> None:
    (tmp_path / "trace_pipe").write_text(ONE)
    with Path("/dev/full").open("wb", buffering=0) as out:
        copier = tracefs_capture.Copier(tmp_path / "trace_pipe", out)
        copier.start()
        copier.end()
    assert copier.error and copier.error.strerror == "No space left on device"


def test_an_interrupt_while_it_ends_waits_for_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an open trace_pipe the kernel does not let the instance be removed."""
    for name in ("trace_pipe", "trace_marker", "tracing_on"):
        (tmp_path / name).write_text("")

    def interrupted(file: Path, text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tracefs_capture, "put", interrupted)
    with (tmp_path / "out").open("wb", buffering=0) as out:
        copier = tracefs_capture.Copier(tmp_path / "trace_pipe", out)
        copier.start()
        with pytest.raises(KeyboardInterrupt):
            tracefs_capture.finish(tmp_path, copier)
        assert not copier.is_alive()
    assert (tmp_path / "out").read_text() == "# end\n"


def test_an_instance_that_is_left_of_a_killed_recording_is_named(
    tmp_path: Path, machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLKVIZ_TRACEFS", machine["BLKVIZ_TRACEFS"])
    old = tmp_path / f"tracing/instances/blkviz-{os.getpid()}"
    old.mkdir()
    with pytest.raises(ToolError, match="rmdir it"), tracefs_capture.recorded(tmp_path / "base", ["8:48"]):
        raise AssertionError("it began")
    assert old.is_dir() and not (tmp_path / ".base.tracefs.part").exists()


def test_events_are_found_beside_every_form_of_a_recording(tmp_path: Path) -> None:
    (tmp_path / "sdx.tracefs").write_text(f"{HEAD}{ONE}# end\n")
    trace = block_trace()
    (tmp_path / "sdx.blktrace.0").write_bytes(trace.events.sources[0].data)
    for argument in (tmp_path, tmp_path / "sdx", tmp_path / "sdx.blktrace.0"):
        found, _ = trace_files.read([str(argument)])
        assert messages_of(found) == converted(ONE) and found.problems == []
    (tmp_path / "sdx.tracefs").write_text(f"{HEAD}{ONE}")
    found, _ = trace_files.read([str(tmp_path)])
    assert found.problems == [Problem(str(tmp_path / "sdx.tracefs"),
                                      "the file ends before the recording did: later system calls are missing")]


def test_devices_of_what_is_none_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "SYSFS", tmp_path)
    with pytest.raises(ToolError, match="is sdq a block device"):
        capture.devices_of("sdq")
