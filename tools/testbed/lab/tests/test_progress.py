# SPDX-License-Identifier: GPL-2.0
"""What is said while runs go on: one line that is written over on a terminal, lines elsewhere."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tools.testbed.lab import cli
from tools.testbed.lab.tests.conftest import LAB

LINE = r"(\d)/4 runs, \d+ s, \d+ s left \((test \S+ depth1 N=[12]): \d+\.\d s\)"
ONE = re.compile(rf"\r{LINE} *")
SUMMARY = re.compile(r"lab: 4 runs in \d+ s, \d+\.\d s each, the longest \d+\.\d s \(test .*\); results in")


def on_a_terminal(*args: str | Path) -> list[tuple[str, bool]]:
    """What lab writes to its terminal, piece by piece, and if it still ran then."""
    ours, theirs = pty.openpty()
    command: list[str | Path] = [LAB / "lab", *args]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as running:
        os.close(theirs)
        pieces = []
        try:
            while piece := os.read(ours, 4096):
                pieces.append((piece.decode(), running.poll() is None))
        except OSError:
            pass  # nobody has the other end open any more
        finally:
            os.close(ours)
    assert running.returncode == 0, pieces
    return pieces


def run_args(kernel: Path, scenario: Path, disks: Path, out: Path) -> list[str | Path]:
    return ["run", scenario, "--kernel", kernel, "--disks", disks, "--out", out]


def test_line_advances_on_a_terminal(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    pieces = on_a_terminal(*run_args(kernel, scenario_file, disks, tmp_path / "out"), "--again")
    said = "".join(text for text, _ in pieces)
    lines = ONE.findall(said)
    assert [int(done) for done, _ in lines] == [1, 2, 3, 4]
    assert len({name for _, name in lines}) == 4
    # not all at once in the end
    assert len([text for text, ran in pieces if ran and ONE.search(text)]) >= 2
    assert SUMMARY.search(said)


def test_quiet_run_says_nothing_on_a_terminal(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    assert on_a_terminal(*run_args(kernel, scenario_file, disks, tmp_path / "out"), "--quiet") == []


def test_each_run_is_a_line_elsewhere(
    kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(list(map(str, run_args(kernel, scenario_file, disks, tmp_path / "out")))) == 0
    *lines, summary = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["1/4", "2/4", "3/4", "4/4"]
    assert all(re.fullmatch(LINE, line) for line in lines)
    assert SUMMARY.match(summary)


def test_a_pipe_that_its_reader_closes_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [str(LAB / "lab"), "list"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
