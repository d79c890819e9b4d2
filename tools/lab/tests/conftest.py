# SPDX-License-Identifier: GPL-2.0-only
"""What the laboratory's tests share."""

import os
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LAB))

from lablib import cli, guest  # noqa: E402

# Two milliseconds a command, one command at a time: every answer is known.
PLAIN_DISK = "rot_model = 1\nsize = 476940\nirqmode = 2\ncompletion_nsec = 2000000\n"

SCENARIO = """\
title = "test"
disk = "plain"
duration_s = 4
schedulers = ["none", "mq-deadline"]
policy = "rt"

[vary]
N = [1, 2]

[disk_set]
rot_model = 0

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


def lines_of(source: str, start: str) -> list[int]:
    """The numbers of the lines that begin so."""
    return [n for n, line in enumerate(source.splitlines(), 1) if line.startswith(start)]


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
    path = Path(os.environ.get("LAB_KERNEL", cli.KERNEL))
    if not path.exists():
        pytest.skip("no User-Mode Linux: `make uml` builds it")
    return path


@pytest.fixture(scope="session")
def guests(kernel: Path) -> guest.Guests:
    cli.build_loadgen()
    return guest.Guests(kernel, cli.LOADGEN, 60)
