# SPDX-License-Identifier: GPL-2.0
"""What the tests of lab share."""

import os
from pathlib import Path

import pytest

from tools.base.paths import TOOLS
from tools.testbed.lab.cli import options
from tools.testbed.lab.model.results import CellResult, ProcessResult, Result
from tools.testbed.lab.run import loadgen
from tools.testbed.lab.run.stats import HISTOGRAM_MS
from tools.testbed.vm import uml

LAB = TOOLS / "testbed/lab"

# Two milliseconds a command, one command at a time: every answer is known.
PLAIN_DISK = "irqmode = 3\nsize = 476940\ncompletion_nsec = 2000000\n"

SCENARIO = """\
title = "test"
disk = "plain"
duration_s = 4
schedulers = ["none", "mq-deadline"]
policy = "rt"

[vary]
N = [1, 2]

[disk_set]
irqmode = 2

[[group]]
name = "stream"
kind = "paced"
count = "$N"
rate = "1MiB/s"
size = "1MiB"
deadline_ms = 1000
direct = true
priority.rt = { class = "rt", level = 4 }
priority.bw = { class = "bw", rate = "1MiB/s", delay_ms = 800 }

[[group]]
name = "random"
kind = "random"
per_s = 50
size = "4KiB"
direct = true
file = "db"

[[view]]
title = "reads"
metric = "reads"

[[expect]]
says = "nothing is missed"
left = { metric = "misses", groups = "stream" }
op = "=="
right = 0
"""


# More of a scenario: a control group with a reservation under cfq.
RECORDER = """
[[config]]
scheduler = "cfq"
cgroup = { recorder = { "io.bw" = "DEV bps=1000000 delay=500000" } }

[[group]]
name = "camera"
kind = "random"
size = "4KiB"
file = "db"
cgroup = "recorder"
"""


def lines_of(source: str, start: str) -> list[int]:
    """The numbers of the lines that begin so."""
    return [n for n, line in enumerate(source.splitlines(), 1) if line.startswith(start)]


def process_result(name: str, rate: int = 0, misses: int = 0) -> ProcessResult:
    """A stream of made-up results, which is its group, too."""
    return {
        "name": name,
        "group": name,
        "kind": "paced",
        "op": "read",
        "priority": "RT 4",
        "regions": [[0, 4096]],
        "start_ns": 0,
        "bytes": rate,
        "bytes_per_s": rate,
        "own_bytes_per_s": rate,
        "reads": 4,
        "misses": misses,
        "latency_ns": {"mean": 1_000_000, "p50": 1, "p90": 1, "p99": 5_000_000, "p999": 1, "max": 9_000_000},
        "histogram": [4] + [0] * len(HISTOGRAM_MS),
        "operations_sha256": "a",
    }


def cell_result(config: str, n: int, processes: list[ProcessResult]) -> CellResult:
    """A run of made-up results."""
    return {
        "name": f"{config} depth1 N={n}",
        "config": config,
        "scheduler": config,
        "depth": 1,
        "vary": {"N": str(n)},
        "policy": "rt",
        "fallback": False,
        "status": "ok",
        "processes": processes,
    }


def result_of(cells: list[CellResult]) -> Result:
    """Made-up results of SCENARIO, on a kernel without the BW class."""
    return {
        "schema": 1,
        "scenario": "test",
        "title": "test",
        "kernel": {"release": "7.3", "bw": False, "schedulers": ["none"]},
        "disk": {"preset": "plain", "attributes": {}},
        "seed": 1,
        "duration_ns": 4_000_000_000,
        "digest": "0123456789abcdef",
        "cells": cells,
        "expect": [],
    }


@pytest.fixture
def disks(tmp_path: Path) -> Path:
    folder = tmp_path / "disks"
    folder.mkdir()
    (folder / "plain.conf").write_text(PLAIN_DISK)
    return folder


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "test.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="session")
def kernel() -> Path:
    path = Path(os.environ.get("LAB_KERNEL", options.KERNEL))
    if not path.exists():
        pytest.skip("no User-Mode Linux: `make uml` builds it")
    return path


@pytest.fixture(scope="session")
def guests(kernel: Path) -> uml.Guests:
    loadgen.build_loadgen()
    return uml.Guests(kernel, loadgen.LOADGEN, 60)
