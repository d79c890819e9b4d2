# SPDX-License-Identifier: GPL-2.0
"""A guest ends with its runner, also with one that is killed, at whatever time that is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.testbed.vm.command import guarded

# It starts a guest, waits for a file if it is told to, and ends without a word to it.
RUNNER = """\
import json, os, subprocess, sys, time
from tools.testbed.vm.command import guarded
before, awaited, command, env = json.loads(sys.argv[1])
subprocess.Popen([*before, *guarded(command, env)], env={**os.environ, "RUNNER": str(os.getpid())})
while awaited and not os.path.exists(awaited):
    time.sleep(0.05)
os.kill(os.getpid(), 9)
"""
LIMIT_S = 60


def run_and_kill(command: list[str], *, awaited: Path | None = None, before: tuple[str, ...] = ()) -> None:
    arguments = json.dumps([before, awaited and str(awaited), command, {"PATH": os.environ["PATH"]}])
    done = subprocess.run([sys.executable, "-c", RUNNER, arguments], cwd=ROOT, check=False, timeout=LIMIT_S)
    assert done.returncode == -9


def says_its_number(path: Path) -> str:
    """Shell: in one step, so that whoever finds the file finds the number."""
    return f"echo $$ > {path}.new; mv {path}.new {path}"


def soon(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT_S
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def gone(process: str) -> bool:
    try:
        return ") Z " in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def test_runner_that_is_killed_before_its_guest_asks_for_the_signal_leaves_none(tmp_path: Path) -> None:
    came, ran = tmp_path / "came", tmp_path / "ran"
    # held back until the runner is gone
    held = ("sh", "-c", f'while kill -0 $RUNNER; do sleep 0.1; done; {says_its_number(came)}; exec "$@"', "sh")
    run_and_kill(["touch", str(ran)], before=held)
    assert soon(came.exists), "the guest was not started"
    assert soon(lambda: gone(came.read_text().strip())), "the guest does not end"
    assert not ran.exists()


def test_runner_that_is_killed_later_takes_its_guest_along(tmp_path: Path) -> None:
    alive = tmp_path / "pid"
    run_and_kill(["sh", "-c", f"{says_its_number(alive)}; exec sleep 1000"], awaited=alive)
    assert soon(lambda: gone(alive.read_text().strip())), "the guest has outlived its runner"


def test_guest_has_the_environment_that_it_is_given_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/elsewhere")
    env = {"PATH": os.environ["PATH"], "LAST": "a b=c", "A": ""}
    done = subprocess.run(guarded(["env"], env), stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == [f"{key}={value}" for key, value in env.items()]
