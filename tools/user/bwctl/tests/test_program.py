# SPDX-License-Identifier: GPL-2.0
"""Help, manual, build, and the real system calls as far as any kernel has them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.user.bwctl.tests.conftest import TOOL, World, one_line

COMMANDS = ["run", "set", "group", "model", "show", "check", "encode", "decode"]


# --- help


@pytest.mark.parametrize("args", [["--help"], ["-h"]])
def test_help_names_every_command(world: World, args: list[str]) -> None:
    result = world.run(*args)
    assert (result.code, result.err) == (0, "")
    assert [line.split()[0] for line in result.out.splitlines() if line.startswith("  ")] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_each_command_has_help_that_fits_a_terminal(world: World, command: str, option: str) -> None:
    result = world.run(command, option)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"usage: bwctl {command} ")
    assert max(len(line) for line in result.out.splitlines()) <= 90


def test_version(world: World) -> None:
    assert world.run("--version").out == "bwctl test\n"


@pytest.mark.parametrize("args, text", [
    ([], "no command given"), (["fly"], "unknown command 'fly':"), (["--fly"], "unknown command '--fly':"),
    ([""], "unknown command '':"), (["runs"], "unknown command 'runs':"), (["a\nb"], "unknown command 'a?b':"),
])
def test_unknown_commands_are_refused(world: World, args: list[str], text: str) -> None:
    line = one_line(world.run(*args), 2)
    assert text in line and all(command in line for command in COMMANDS)


# --- manual


def test_manual_has_every_option_of_the_help_and_no_other(world: World) -> None:
    source = (TOOL / "bwctl.8").read_text()
    in_manual = set(re.findall(r"^\.It Fl -([a-z]+)", source, re.MULTILINE))
    in_help = {option for command in COMMANDS
               for option in re.findall(r"^  --([a-z]+)", world.run(command, "--help").out, re.MULTILINE)}
    assert in_manual == in_help
    assert set(re.findall(r"^\.It Cm ([a-z]+)$", source, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize(("command", "missing"), [
    (["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "bwctl.8"], "no man here"),
    (["groff", "-mdoc", "-ww", "-z", "bwctl.8"], "no groff here"),
    (["mandoc", "-T", "lint", "-W", "style", "bwctl.8"], "no mandoc here"),
])
def test_manual_is_clean(command: list[str], missing: str) -> None:
    if not shutil.which(command[0]):
        pytest.skip(missing)
    done = subprocess.run(command, cwd=TOOL, capture_output=True, text=True, errors="replace",
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    said = [line for line in (done.stderr + (done.stdout if command[0] == "mandoc" else "")).splitlines()
            if "outdated mandoc.db" not in line and "referenced manual not found" not in line]
    assert said == []


# --- build


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `make install` put everything."""
    folder = tmp_path_factory.mktemp("make")
    subprocess.run(["make", "-s", "install", f"BUILD={folder}/build", f"DESTDIR={folder}/root", "PREFIX=/usr"],
                   cwd=TOOL, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return folder / "root/usr"


def test_install_puts_everything_in_its_place(installed: Path) -> None:
    files = sorted(str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file())
    assert files == ["sbin/bwctl", "share/bash-completion/completions/bwctl", "share/man/man8/bwctl.8"]
    assert os.access(installed / "sbin/bwctl", os.X_OK)


def test_clean_leaves_nothing(tmp_path: Path) -> None:
    for target in ("all", "clean"):
        subprocess.run(["make", "-s", target, f"BUILD={tmp_path}/build"], cwd=TOOL, check=True,
                       env={**os.environ, "MAKEFLAGS": ""})
    assert list((tmp_path / "build").iterdir()) == []


def test_installed_tool_has_no_test_kernel(installed: Path) -> None:
    assert b"BWCTL_FAKE" not in (installed / "sbin/bwctl").read_bytes()


# --- the real system calls, with classes that any kernel has


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that sleeps in three threads, all in class idle."""
    code = ("import threading, time\n"
            "for _ in range(2): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
            "print('ready', flush=True); time.sleep(600)")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout and child.stdout.readline() == "ready\n"
        for task in Path(f"/proc/{child.pid}/task").iterdir():
            subprocess.run(["ionice", "-c3", "-p", task.name], check=True)
        yield child.pid
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def classes(tool: Path, pid: int) -> dict[int, str]:
    done = subprocess.run([tool, "show", "--json", str(pid)], capture_output=True, text=True, check=True)
    return {thread["tid"]: thread["class"] for thread in json.loads(done.stdout)["processes"][0]["threads"]}


def test_real_priorities_are_shown_and_taken_from_every_thread(installed: Path, sleeper: int) -> None:
    tool = installed / "sbin/bwctl"
    before = classes(tool, sleeper)
    assert list(before.values()) == ["idle"] * 3
    subprocess.run([tool, "set", "--none", "--thread", str(sleeper)], check=True)
    assert classes(tool, sleeper) == before | {sleeper: "none"}
    subprocess.run([tool, "set", "--none", str(sleeper)], check=True)
    assert list(classes(tool, sleeper).values()) == ["none"] * 3


def test_real_kernel_has_the_class_or_refuses_it(installed: Path) -> None:
    tool = installed / "sbin/bwctl"
    checked = subprocess.run([tool, "check", "--json", "no-such-device"], capture_output=True, text=True)
    kernel = json.loads(checked.stdout)["checks"][0]
    ran = subprocess.run([tool, "run", "--rate", "3M", "--delay", "200ms", "echo", "ran"], capture_output=True,
                         text=True)
    if kernel["status"] == "ok" and not kernel["advice"]:
        assert (ran.returncode, ran.stdout) == (0, "ran\n")
    else:
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ("no bandwidth class" if kernel["status"] == "no" else "CAP_SYS_NICE") in ran.stderr


def test_real_proc_and_sysfs_can_be_shown(installed: Path) -> None:
    done = subprocess.run([installed / "sbin/bwctl", "show", "--json"], capture_output=True, text=True)
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) == {"processes", "devices", "missing"}
