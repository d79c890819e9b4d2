# SPDX-License-Identifier: GPL-2.0
"""Kselftests of the queue that need no other hardware than a guest in virtual time has.

All of them run in QEMU (selftests/vm/test_kselftests.py); these, of the VFS messages, of merges, of tags and of
null_blk's priorities, also here, where a guest boots in a second.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from selftests.vm.guests import kernel_headers, linux, skips
from tools.vm import uml
from tools.vm.programs import build_static

PROGRAMS = {"cfq": ("cfq_aio", "cfq_ioprio", "cfq_merge", "cfq_messages", "cfq_vfs"), "null_blk": ("null_blk_reads",)}
TESTS = {"test_depth.sh": "cfq", "test_merges.sh": "cfq", "test_names.sh": "cfq", "test_vfs_events.sh": "cfq",
         "test_vfs_messages.sh": "cfq", "test_vfs_names.sh": "cfq", "test_vfs_traces.sh": "cfq",
         "test_vfs_where.sh": "cfq", "test_writeback.sh": "cfq", "test_sync.sh": "cfq", "test_groups.sh": "cfq",
         "test_tags.sh": "cfq", "test_classes.sh": "cfq",
         "test_priority.sh": "null_blk"}


def kselftests(target: str) -> Path:
    folder = linux() / "tools/testing/selftests" / target
    if not folder.is_dir():
        pytest.skip("no kernel tree: `make tree` makes it")
    return folder


def build_programs(folder: Path, names: Sequence[str], out: Path) -> None:
    headers = kernel_headers()
    for name in names:
        build_static(folder / f"{name}.c", out, "-Wno-unused-parameter", headers)


@pytest.mark.parametrize("name", TESTS)
def test_kselftest(kernel: Path, tmp_path: Path, name: str) -> None:
    target = TESTS[name]
    folder = kselftests(target)
    out = tmp_path / "out"
    (out / target).mkdir(parents=True)
    for script in (name, f"{target}_common.sh"):
        shutil.copy(folder / script, out / target)
    shutil.copytree(folder.parent / "kselftest", out / "kselftest")
    build_programs(folder, PROGRAMS[target], out / target)
    console = uml.run_commands(f"""
mkdir /dev/tmp && mount -t tmpfs tmpfs /dev/tmp && export TMPDIR=/dev/tmp && cd /dev/tmp
mount -t debugfs debugfs /sys/kernel/debug
$OUT/{target}/{name} > $OUT/said 2>&1
echo $? > $OUT/code
""", out, kernel)
    assert (out / "code").is_file(), console
    said = (out / "said").read_text()
    assert (out / "code").read_text().strip() == "0", said
    assert not skips(said), said


def trace_message(text: bytes, action: int | None = None) -> bytes:
    """A message as struct blk_io_trace has it (linux/blktrace_api.h); `action`: in place of a message's."""
    message = 2 | 1 << 10 + 16  # __BLK_TN_MESSAGE, BLK_TC_NOTIFY
    return struct.pack("<IIQQIIIIIHH", 0x65617407, 1, 1_000, 0, 0, message if action is None else action, 7, 0, 0, 0,
                       len(text)) + text


@pytest.mark.parametrize("torn", [trace_message(b"torn", action=0), bytes(48) + b"torn"], ids=["action", "header"])
def test_cfq_messages_says_that_a_message_was_read_while_it_was_written(tmp_path: Path, torn: bytes) -> None:
    build_programs(kselftests("cfq"), ["cfq_messages"], tmp_path)
    whole = trace_message(b"one") + trace_message(b"two")
    for trace, code in ((whole, 0), (trace_message(b"one") + torn + trace_message(b"two"), 2)):
        done = subprocess.run([tmp_path / "cfq_messages"], input=trace, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (code, b"1000 7 one\n1000 7 two\n")


def test_requests_of_a_reservation_that_merge_are_counted_once(kernel: Path, tmp_path: Path) -> None:
    """The gap between two that wait is closed: one remains of three, of six reads of 4 KiB."""
    folder = kselftests("cfq")
    out = tmp_path / "out"
    out.mkdir()
    build_programs(folder, ("cfq_ioprio", "cfq_merge"), out)
    console = uml.run_commands("""
mount -t debugfs debugfs /sys/kernel/debug
. tools/vm/guest/watch.sh
null_disk merged size=256 irqmode=2 completion_nsec=200000000 hw_queue_depth=1 memory_backed=1 power=1
echo cfq > /sys/block/merged/queue/scheduler
echo 64 > /sys/block/merged/queue/nr_requests
$OUT/cfq_ioprio 8,3 $OUT/cfq_merge between /dev/merged && cat /sys/kernel/debug/block/merged/sched/counters > $OUT/said
""", out, kernel)
    assert (out / "said").is_file(), console
    counters = dict(line.split() for line in (out / "said").read_text().splitlines())
    assert int(counters["bw_bytes_in"]) + int(counters["bw_bytes_over"]) == 6 * 4096
    assert int(counters["dispatched_BW"]) == 4
