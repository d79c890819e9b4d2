# SPDX-License-Identifier: GPL-2.0
"""Kselftests of the queue that need no other hardware than a guest in virtual time has.

All of them run in QEMU (selftests/vm/test_kselftests.py). Those of VFS messages, of merges, tags and messages of the
scheduler, of commands that hang, and of null_blk's priorities run here as well, where a guest boots in a second.
"""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from selftests.uml.kselftests import TESTS, build_programs, run_kselftest, selftests
from selftests.vm.guests import skips
from tools.testbed.vm import uml


@pytest.mark.parametrize("name", TESTS)
def test_kselftest(kernel: Path, tmp_path: Path, name: str) -> None:
    code, said = run_kselftest(selftests(), name, kernel, tmp_path)
    assert code == 0, said
    assert not skips(said), said


def trace_message(text: bytes, action: int | None = None) -> bytes:
    """A message as struct blk_io_trace has it (linux/blktrace_api.h); `action`: in place of a message's."""
    message = 2 | 1 << 10 + 16  # __BLK_TN_MESSAGE, BLK_TC_NOTIFY
    return struct.pack("<IIQQIIIIIHH", 0x65617407, 1, 1_000, 0, 0, message if action is None else action, 7, 0, 0, 0,
                       len(text)) + text


@pytest.mark.parametrize("torn", [trace_message(b"torn", action=0), bytes(48) + b"torn"], ids=["action", "header"])
def test_blktrace_messages_says_that_a_message_was_read_while_it_was_written(tmp_path: Path, torn: bytes) -> None:
    build_programs(selftests() / "blktrace", ["blktrace_messages"], tmp_path)
    whole = trace_message(b"one") + trace_message(b"two")
    for trace, code in ((whole, 0), (trace_message(b"one") + torn + trace_message(b"two"), 2)):
        done = subprocess.run([tmp_path / "blktrace_messages"], input=trace, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (code, b"1000 7 one\n1000 7 two\n")


def test_requests_of_a_reservation_that_merge_are_counted_once(kernel: Path, tmp_path: Path) -> None:
    """The gap between two that wait is closed: one remains of three, of six reads of 4 KiB."""
    folder = selftests() / "cfq"
    out = tmp_path / "out"
    out.mkdir()
    build_programs(folder, ("cfq_ioprio", "cfq_merge"), out)
    console = uml.run_commands("""
mount -t debugfs debugfs /sys/kernel/debug
. tools/testbed/vm/guest/watch.sh
null_disk merged size=256 irqmode=2 completion_nsec=200000000 hw_queue_depth=1 memory_backed=1 power=1
echo cfq > /sys/block/merged/queue/scheduler
echo 64 > /sys/block/merged/queue/nr_requests
$OUT/cfq_ioprio 8,3 $OUT/cfq_merge between /dev/merged && cat /sys/kernel/debug/block/merged/sched/counters > $OUT/said
""", out, kernel)
    assert (out / "said").is_file(), console
    counters = dict(line.split() for line in (out / "said").read_text().splitlines())
    assert int(counters["bw_bytes_in"]) + int(counters["bw_bytes_over"]) == 6 * 4096
    assert int(counters["dispatched_BW"]) == 4
