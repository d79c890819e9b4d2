# SPDX-License-Identifier: GPL-2.0
"""Run one of the queue's kselftests in a guest in virtual time."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from selftests.vm.guests import kernel_headers, linux
from tools.dev.queue.kselftests import BELOW
from tools.testbed.vm import uml
from tools.testbed.vm.programs import build_static

PROGRAMS = {"blktrace": ("blktrace_messages", "blktrace_vfs"),
            "cfq": ("cfq_aio", "cfq_ioprio", "cfq_merge", "cfq_request"),
            "null_blk": ("null_blk_reads",)}
# Those that need no other hardware than such a guest has, and their folders.
TESTS = {"test_depth.sh": "cfq", "test_merges.sh": "cfq", "test_messages.sh": "cfq", "test_writeback.sh": "cfq",
         "test_sync.sh": "cfq", "test_groups.sh": "cfq", "test_swap.sh": "cfq", "test_tags.sh": "cfq",
         "test_classes.sh": "cfq", "test_hang.sh": "cfq", "test_names.sh": "blktrace", "test_vfs_events.sh": "blktrace",
         "test_vfs_messages.sh": "blktrace", "test_vfs_names.sh": "blktrace", "test_vfs_traces.sh": "blktrace",
         "test_vfs_where.sh": "blktrace", "test_priority.sh": "null_blk"}


def selftests() -> Path:
    """The folder of the kselftests of the kernel's tree."""
    folder = linux() / BELOW
    if not folder.is_dir():
        pytest.skip("no kernel tree: `make tree` makes it")
    return folder


def build_programs(folder: Path, names: Iterable[str], out: Path) -> None:
    headers = kernel_headers()
    for name in names:
        build_static(folder / f"{name}.c", out, "-Wno-unused-parameter", headers)


def run_kselftest(folder: Path, name: str, kernel: Path, work: Path) -> tuple[int, str]:
    """Of the folder of all kselftests, one of TESTS, with what of PROGRAMS is there; its exit code and what it says."""
    target = TESTS[name]
    out = work / "out"
    (out / target).mkdir(parents=True)
    for script in (name, f"{target}_common.sh"):
        shutil.copy(folder / target / script, out / target)
    shutil.copytree(folder / "kselftest", out / "kselftest")
    programs = [program for program in PROGRAMS[target] if (folder / target / f"{program}.c").is_file()]
    build_programs(folder / target, programs, out / target)
    console = uml.run_commands(f"""
mkdir /dev/tmp && mount -t tmpfs tmpfs /dev/tmp && export TMPDIR=/dev/tmp && cd /dev/tmp
mount -t debugfs debugfs /sys/kernel/debug
$OUT/{target}/{name} > $OUT/said 2>&1
echo $? > $OUT/code
""", out, kernel)
    assert (out / "code").is_file(), console
    return int((out / "code").read_text()), (out / "said").read_text()
