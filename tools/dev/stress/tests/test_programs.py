# SPDX-License-Identifier: GPL-2.0
"""The guest's C programs, on files of this machine."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

SIZE = 1 << 20


def ended(worker: subprocess.Popen[str], after: float = 1.5) -> tuple[int, str]:
    time.sleep(after)
    worker.send_signal(signal.SIGTERM)
    said, _ = worker.communicate(timeout=60)
    return worker.returncode, said


def work(programs: Path, tmp_path: Path, how: str = "buffered") -> tuple[int, str]:
    device = tmp_path / "device"
    with device.open("wb") as file:
        file.truncate(2 * SIZE)
    # A file takes no discard: errors are allowed.
    return ended(subprocess.Popen(
        [programs / "worker", how, device, str(SIZE), str(SIZE), "3", tmp_path / "state", "errors"],
        stdout=subprocess.PIPE, text=True))


def verify(programs: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([programs / "worker", "verify", tmp_path / "device", tmp_path / "state"],
                          check=False, capture_output=True, text=True)


@pytest.mark.parametrize("how", ["buffered", "direct", "aio"])
def test_worker_counts_and_what_it_wrote_is_verified(programs: Path, tmp_path: Path, how: str) -> None:
    code, said = work(programs, tmp_path, how)
    if "Invalid argument" in said:
        pytest.skip("the file system has no direct I/O")
    assert code == 0, said
    counts = {line.split("\t")[0] for line in said.splitlines() if line.split("\t")[1] == "done"}
    assert {"read", "write"} <= counts
    done = verify(programs, tmp_path)
    assert done.returncode == 0, done.stdout
    # how many of the 256 blocks have known contents by then depends on the machine
    name, what, blocks = done.stdout.split()
    assert (name, what) == ("verify", "blocks") and 1 <= int(blocks) <= 256
    # beside its region nothing was written
    with (tmp_path / "device").open("rb") as file:
        assert not any(file.read(SIZE))


def test_wrong_data_is_found(programs: Path, tmp_path: Path) -> None:
    work(programs, tmp_path)
    with (tmp_path / "device").open("r+b") as file:
        file.seek(SIZE)
        file.write(b"x" * SIZE)
    done = verify(programs, tmp_path)
    assert done.returncode == 1
    wrong = re.search(r"WRONG: byte (\d+) is not generation", done.stdout)
    assert wrong and SIZE <= int(wrong.group(1)) < 2 * SIZE and int(wrong.group(1)) % 4096 == 0


def test_error_without_leave_is_a_failure(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "device").write_bytes(b"\0" * SIZE)
    done = subprocess.run([programs / "worker", "buffered", tmp_path / "device", "0", str(SIZE), "3",
                           tmp_path / "state"], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ERROR: discard of" in done.stdout


def knobs(programs: Path, tmp_path: Path, text: str) -> tuple[int, str]:
    table = tmp_path / "table"
    table.write_text(text)
    return ended(subprocess.Popen([programs / "knobs", table, "1", "1"], stdout=subprocess.PIPE, text=True))


def test_knobs_writes_values_of_the_range(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, said = knobs(programs, tmp_path, f"# 1\n{tmp_path}/file\t-\t200..900\n")
    assert code == 0, said
    name, result, count = said.split()
    assert (name, result) == ("file", "done") and int(count) > 10
    assert 200 <= int((tmp_path / "file").read_text()[:3]) <= 900


def test_knobs_counts_errors_that_are_allowed(programs: Path, tmp_path: Path) -> None:
    code, said = knobs(programs, tmp_path, f"{tmp_path}/none\tEINVAL,ENOENT\t1\n")
    assert code == 0
    assert said.startswith("none\texpected ENOENT\t")


def test_knobs_fails_by_others(programs: Path, tmp_path: Path) -> None:
    code, said = knobs(programs, tmp_path, f"{tmp_path}/none\tENOENTX\t1\n")
    assert code == 1
    assert "ERROR: " in said and "none\tunexpected ENOENT\t" in said


def test_bad_use_is_told(programs: Path) -> None:
    for program in ("worker", "knobs"):
        done = subprocess.run([programs / program], check=False, capture_output=True, text=True)
        assert done.returncode == 2 and "usage:" in done.stderr
