# SPDX-License-Identifier: GPL-2.0
"""Samples, scripts and the kernel that several tests of the soak use."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools.base.paths import TOOLS
from tools.testbed.soak import cli

TOOL = TOOLS / "testbed/soak"

# A sample in which everything holds: an active queue of BE, two of BW that wait,
# one of BE, an asynchronous one, and one that has nothing to do.
GOOD = """\
@sample 602204160 rot1 run whole 1 completed 171 flushes 2 1 tag_waiters 0 schedulers none mq-deadline [cfq] bfq
@counters
dispatched_RT 0
dispatched_BW 4
dispatched_BE 67
dispatched_idle 0
slices 9
expired_time 0
expired_budget 0
expired_empty 1
expired_idle 3
expired_preempt 0
expired_tokens 3
expired_due 0
expired_debt 1
idle_waits 65
idle_hits 61
fallback 0
bw_deadlines_met 3
bw_deadlines_missed 1
@state
pid 27 sync class BE level 3 queued 0 in_drive 1 refs 3 active slice_left_us 80016 dispatched 47 residual_us 0 \
think_us 1 seek_sectors 0
queued 6 in_drive 1 drive_depth 4 head 135044992
hold yes waiting no
busy RT 0
busy BW 2
busy BE 3
busy idle 0
@queues
pid 30 sync class BE level 5 queued 1 in_drive 0 refs 2 busy service_in_us 59650 residual_us 0 think_us 1599 \
seek_sectors 0
pid 27 sync class BE level 3 queued 0 in_drive 1 refs 3 active slice_left_us 80016 dispatched 47 residual_us 0 \
think_us 1 seek_sectors 0
pid 28 sync class BW level 4 queued 0 in_drive 0 refs 1 residual_us 0 think_us 0 seek_sectors 0
pid 29 sync class BW level 4 queued 1 in_drive 0 refs 2 busy service_in_us 300411 residual_us 0 think_us 4000 \
seek_sectors 0
pid 31 sync class BW level 4 queued 2 in_drive 0 refs 2 busy service_in_us 30000 residual_us 0 think_us 0 \
seek_sectors 9881 seeky
pid 0 async class BE level 4 queued 2 in_drive 0 refs 3 busy service_in_us 267567 residual_us 0 think_us 0 \
seek_sectors 0
@service_tree
pid 31 sync class BW level 4 queued 2 in_drive 0 refs 2 busy service_in_us 30000 residual_us 0 think_us 0 \
seek_sectors 9881 seeky
pid 29 sync class BW level 4 queued 1 in_drive 0 refs 2 busy service_in_us 300411 residual_us 0 think_us 4000 \
seek_sectors 0
pid 30 sync class BE level 5 queued 1 in_drive 0 refs 2 busy service_in_us 59650 residual_us 0 think_us 1599 \
seek_sectors 0
pid 0 async class BE level 4 queued 2 in_drive 0 refs 3 busy service_in_us 267567 residual_us 0 think_us 0 \
seek_sectors 0
@sort_tree
sector 1024 pid 29 tokens 373614 deadline_us 20411
sector 264956928 pid 31 tokens 4096 deadline_us 30000
@reservations
pid 28 rate 524288 delay_ms 100 bucket 1572864 tokens 1572864 bytes_in 65536 bytes_over 0 met 1 missed 0 \
slack0 0 slack1 0 slack2 0 slack3 1 slack4 0 slack5 0 slack6 0 slack7 0
pid 29 rate 1048576 delay_ms 25 bucket 3145728 tokens 373614 bytes_in 1572864 bytes_over 0 met 3 missed 0 \
slack0 0 slack1 0 slack2 0 slack3 3 slack4 0 slack5 0 slack6 0 slack7 0
pid 31 rate 1048576 delay_ms 50 bucket 3145728 tokens -288790 bytes_in 1572864 bytes_over 0 met 0 missed 0 \
slack0 0 slack1 0 slack2 0 slack3 0 slack4 0 slack5 0 slack6 0 slack7 0
@operations
pid 30 random class be requests 1 age_ns 84389888
pid 29 writer class bw requests 64 age_ns 88833024
worst be pid 30 by_request_ns 71731456
worst write pid 29 by_request_ns 618308
@end
"""


def events(disk: str = "rot1") -> str:
    """The events of the director before GOOD."""
    return (
        f"@event 22302000 {disk} switch cfq\n"
        f"@event 22302128 {disk} scheduler cfq completed 100 flushes 1 1\n"
        f"@event 22302256 {disk} start pid 29 writer ioprio 0x8040 mixed 0 requests 1 size 4096 depth 1 offset 0 "
        "length 4096\n"
        f"@event 22302384 {disk} start pid 28 paced ioprio 0x8020 mixed 0 requests 1 size 4096 depth 1 offset 0 "
        "length 4096\n"
        f"@event 22302512 {disk} start pid 31 random ioprio 0x8041 mixed 0 requests 2 size 4096 depth 1 offset 0 "
        "length 4096\n"
    )


def soak(*args: str | Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    command: list[str | Path] = [TOOL / "soak", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **options)


def script(path: Path, text: str) -> Path:
    """A kernel that is a shell script; $folder is what it shares with the host."""
    find = "for word; do case $word in uml_dir=*) folder=${word#uml_dir=};; esac; done\n"
    path.write_text("#!/bin/sh\n" + find + text)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A User-Mode Linux with the class BW."""
    path = Path(os.environ.get("SOAK_KERNEL", cli.KERNEL))
    if not path.exists():
        pytest.skip("no User-Mode Linux: `make uml` builds it")
    report = tmp_path_factory.mktemp("kernel") / "report"
    tried = soak("--kernel", path, "--requests", "1", "--limit", "60", "--report", report, "-q")
    if tried.returncode == 2 and "this kernel" in tried.stderr:
        pytest.skip(tried.stderr.strip())
    return path
