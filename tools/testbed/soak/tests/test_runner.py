# SPDX-License-Identifier: GPL-2.0
"""The command line, and every way a guest can end; kernels are shell scripts here."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tools.testbed.soak import load
from tools.testbed.soak.task import Task
from tools.testbed.soak.tests.conftest import GOOD, TOOL, events, script, soak


def test_help_names_the_exit_codes() -> None:
    done = soak("--help")
    assert done.returncode == 0
    assert "Exit codes" in done.stdout and "--bound-ms" in done.stdout


@pytest.mark.parametrize(
    "args",
    [["--requests", "0"], ["--requests", "x"], ["--hours", "-1"], ["--bound-ms", "0"], ["--schedulers", ""], ["again"]],
)
def test_bad_option_is_refused(args: list[str]) -> None:
    done = soak(*args)
    assert done.returncode == 2
    assert "soak: error:" in done.stderr


def test_kernel_that_does_not_exist_runs_nothing(tmp_path: Path) -> None:
    done = soak("--kernel", tmp_path / "none")
    assert done.returncode == 2
    assert "make uml" in done.stderr


def options(tmp_path: Path, text: str) -> list[str | Path]:
    """The options for a script as the kernel; what it appends to $folder/samples is checked."""
    for name, content in (("events", events()), ("good", GOOD)):
        (tmp_path / name).write_text(content)
    kernel = script(tmp_path / "linux", f"here={tmp_path}\n{text}")
    return ["--kernel", kernel, "--requests", "5", "--report", tmp_path / "out" / "report", "-q"]


def run(tmp_path: Path, text: str, *args: str) -> "subprocess.CompletedProcess[str]":
    return soak(*options(tmp_path, text), *args)


def test_guest_that_ends_well_is_good(tmp_path: Path) -> None:
    done = run(tmp_path, "cat $here/events $here/good > $folder/samples; echo 1 > $folder/done\n")
    assert done.returncode == 0, done.stderr
    assert "171 requests" in done.stdout and "all invariants held" in done.stdout
    assert not (tmp_path / "out").exists()


def test_pipe_that_its_reader_closes_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    text = "cat $here/events $here/good > $folder/samples; echo 1 > $folder/done\n"
    command = [TOOL / "soak", *options(tmp_path, text)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_violation_names_seed_time_and_how_to_repeat_it_and_is_reported(tmp_path: Path) -> None:
    text = "sed s/drive_depth.4/drive_depth\\ 0/ $here/good | cat $here/events - > $folder/samples; sleep 100\n"
    begin = time.monotonic()
    done = run(tmp_path, text, "--seed", "7", "--hours", "0.5")
    assert time.monotonic() - begin < 60, "the guest has not been ended"
    assert done.returncode == 1
    assert "seed 7: at 0.602204 s of virtual time, rot1: drive no fuller than its depth" in done.stderr
    assert "repeat with --seed 7 --requests 5 --hours 0.5 --guests 1" in done.stderr
    report = (tmp_path / "out" / "report").read_text()
    assert "drive_depth 0" in report and "start pid 29" in report


@pytest.mark.parametrize(
    "line", ["WARNING: CPU: 0 PID: 1 at block/cfq-iosched.c:1", "BUG: unable to handle", "Kernel panic - not syncing"]
)
def test_complaint_of_the_kernel_fails_although_the_guest_ends_well(tmp_path: Path, line: str) -> None:
    done = run(tmp_path, f"cat $here/good > $folder/samples; echo '[ 1.0] {line}'; echo 1 > $folder/done\n")
    assert done.returncode == 1
    assert line in done.stderr
    assert line in (tmp_path / "out" / "report").read_text()


def test_error_of_the_guest_is_passed_on(tmp_path: Path) -> None:
    done = run(tmp_path, "echo 'worker 7 ended with status 0x100' > $folder/error\n")
    assert done.returncode == 1
    assert "worker 7 ended" in done.stderr and "repeat with" in done.stderr


def test_guest_that_dies_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, "echo last words; exit 3\n")
    assert done.returncode == 1
    assert "the guest died" in done.stderr and "last words" in done.stderr


def test_guest_that_hangs_is_ended_after_the_limit(tmp_path: Path) -> None:
    done = run(tmp_path, "sleep 1000\n", "--limit", "0.5")
    assert done.returncode == 1
    assert "no end after 0.5 s" in done.stderr


def test_kernel_without_the_class_is_bad_use(tmp_path: Path) -> None:
    done = run(tmp_path, "echo has no class BW > $folder/refused; echo 1 > $folder/done\n")
    assert done.returncode == 2
    assert "this kernel has no class BW" in done.stderr


def test_text_that_is_not_understood_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, "echo hello > $folder/samples; sleep 100\n")
    assert done.returncode == 1
    assert "neither event nor sample" in done.stderr


def test_first_violation_ends_all_guests(tmp_path: Path) -> None:
    bad = "sed s/drive_depth.4/drive_depth\\ 0/ $here/good > $folder/samples\n"
    text = f"grep -q 'seed 2$' $folder/job && {{ {bad} }}\nsleep 1000\n"
    done = run(tmp_path, text.replace("samples\n }", "samples; }"), "--guests", "2", "-j2", "--limit", "300")
    assert done.returncode == 1
    assert "seed 2: at" in done.stderr


def test_interrupt_ends_the_guest(tmp_path: Path) -> None:
    kernel = script(tmp_path / "linux", f"echo $$ > {tmp_path}/pid; sleep 1000\n")
    command = [str(TOOL / "soak"), "--kernel", str(kernel), "-q"]
    # a shell's background commands ignore the signal, and what they start too
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        for _ in range(600):
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                break
            time.sleep(0.05)
        pid = int((tmp_path / "pid").read_text())
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "interrupted" in errors
    assert not Path(f"/proc/{pid}").exists()


def test_task_is_repeated_by_its_own_options() -> None:
    task = Task(seed=9, requests=1000, until_ns=load.SECOND * 3600, schedulers=["cfq"])
    assert task.again() == "--seed 9 --requests 1000 --hours 1 --guests 1"
