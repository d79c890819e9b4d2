# SPDX-License-Identifier: GPL-2.0
"""A guest ends with its runner, also with one that is killed, at whatever time that is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.vm.command import guarded

# It starts a guest, waits if it is told to, and ends without a word to it.
RUNNER = """\
import json, os, subprocess, sys, time
from tools.vm.command import guarded
before, stay, command, env = json.loads(sys.argv[1])
subprocess.Popen([*before, *guarded(command, env)], env={**os.environ, "RUNNER": str(os.getpid())})
time.sleep(stay)
os.kill(os.getpid(), 9)
"""


def run_and_kill(command: list[str], *, stay: float = 0.0, before: tuple[str, ...] = ()) -> None:
    arguments = json.dumps([before, stay, command, {"PATH": os.environ["PATH"]}])
    done = subprocess.run([sys.executable, "-c", RUNNER, arguments], cwd=ROOT, check=False)
    assert done.returncode == -9


def appears(path: Path, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return path.exists()


def test_runner_that_is_killed_before_its_guest_asks_for_the_signal_leaves_none(tmp_path: Path) -> None:
    came, ran = tmp_path / "came", tmp_path / "ran"
    # held back until the runner is gone
    held = ("sh", "-c", f'while kill -0 $RUNNER; do sleep 0.1; done; touch {came}; exec "$@"', "sh")
    run_and_kill(["touch", str(ran)], before=held)
    assert appears(came, 30), "the guest was not started"
    assert not appears(ran, 1)


def test_runner_that_is_killed_later_takes_its_guest_along(tmp_path: Path) -> None:
    alive = tmp_path / "pid"
    run_and_kill(["sh", "-c", f"echo $$ > {alive}; exec sleep 1000"], stay=2)
    process = Path(f"/proc/{alive.read_text().strip()}")
    for _ in range(100):
        if not process.exists() or ") Z " in (process / "stat").read_text():
            return
        time.sleep(0.1)
    raise AssertionError("the guest has outlived its runner")


def test_guest_has_the_environment_that_it_is_given_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/elsewhere")
    env = {"PATH": os.environ["PATH"], "LAST": "a b=c", "A": ""}
    done = subprocess.run(guarded(["env"], env), stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == [f"{key}={value}" for key, value in env.items()]
