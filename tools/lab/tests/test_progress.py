# SPDX-License-Identifier: GPL-2.0-only
"""What is said while runs go on: a bar on a terminal, lines elsewhere."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LAB
from lablib import cli

ONE = re.compile(r"\r\[(#*)(\.*)\] (\d)/4 \d+ s, \d+ s left  (test \S+ depth1 N=[12]) *")
SUMMARY = re.compile(r"lab: 4 runs in \d+ s, \d+\.\d s each, the longest \d+\.\d s \(test .*\); results in")


def on_a_terminal(*args: str | Path) -> list[tuple[str, bool]]:
    """What the laboratory writes to its terminal, piece by piece, and if it still ran then."""
    ours, theirs = pty.openpty()
    command = [sys.executable, str(LAB / "lab"), *map(str, args)]
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


def test_bar_advances_on_a_terminal(kernel: Path, scenario_file: Path, disks: Path, tmp_path: Path) -> None:
    pieces = on_a_terminal(*run_args(kernel, scenario_file, disks, tmp_path / "out"))
    said = "".join(text for text, _ in pieces)
    bars = ONE.findall(said)
    assert [int(done) for _, _, done, _ in bars] == [1, 2, 3, 4]
    assert [len(filled) for filled, *_ in bars] == [7, 15, 22, 30]
    assert {len(filled + rest) for filled, rest, *_ in bars} == {30}
    assert len({name for *_, name in bars}) == 4
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
    assert all(re.fullmatch(r"\d/4 runs, \d+ s \(test \S+ depth1 N=[12]: \d+\.\d s\)", line) for line in lines)
    assert SUMMARY.match(summary)


def test_a_reader_who_has_enough_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, str(LAB / "lab"), "list"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
