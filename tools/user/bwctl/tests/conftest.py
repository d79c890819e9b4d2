# SPDX-License-Identifier: GPL-2.0
"""Builds of bwctl, and a set of fake kernel files for it to read."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).resolve().parents[1]
TESTS = TOOL / "tests"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"]
BUILDS = {
    "plain": ["-O2"],
    "sanitized": ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
DEFAULT_DELAYS = [25, 50, 100, 200, 500, 800, 1000, 2000]
UNIT = 131072


def value(units: int, level: int) -> int:
    """The priority of a reservation, from its definition."""
    return 4 * 2**13 + units * 2**3 + level


def compile_c(output: Path, flags: list[str], sources: list[Path]) -> Path:
    header = output.with_name("recommended.h")
    made = subprocess.run(["make", "-s", "-C", TOOL, f"BUILD={output.parent}", header], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    command = ["gcc", f"-I{output.parent}", *WARNINGS, *flags, "-DBWCTL_TEST", '-DBWCTL_VERSION="test"',
               "-o", str(output), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "cannot find -lasan" in done.stderr.replace("libasan", "-lasan"):
        pytest.skip("gcc has no sanitizers here")
    assert done.returncode == 0, done.stderr
    return output


@dataclass
class Builds:
    """Where one build is: the tool, and the harness around its parser."""

    tool: Path
    harness: Path

    def ask(self, lines: list[bytes], env: dict[str, str] | None = None) -> list[str]:
        """The answers of the harness to each line."""
        done = subprocess.run([self.harness], input=b"".join(line + b"\n" for line in lines),
                              capture_output=True, env={**os.environ, **(env or {})})
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        answers = done.stdout.decode().splitlines()
        assert len(answers) == len(lines)
        return answers


@pytest.fixture(scope="session", params=sorted(BUILDS))
def builds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Builds:
    folder = tmp_path_factory.mktemp(request.param)
    flags = BUILDS[request.param]
    parts = [*sorted(TOOL.glob("*.c")), TESTS / "fake_ioprio.c"]
    without_main = [part for part in parts if part.name != "bwctl.c"]
    return Builds(compile_c(folder / "bwctl", flags, parts),
                  compile_c(folder / "harness", flags, [*without_main, TESTS / "harness.c"]))


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class World:
    """Fake /sys, /sys/kernel/debug, /proc and /sys/fs/cgroup, and the tool run on these only."""

    def __init__(self, tool: Path, root: Path) -> None:
        self.tool = tool
        self.root = root
        self.sysfs, self.debugfs, self.proc = root / "sys", root / "debug", root / "proc"
        self.cgroup = root / "cgroup"
        self.state = root / "state"
        self.dev = root / "dev"
        for folder in ("devices", "block", "class/block", "dev/block"):
            (self.sysfs / folder).mkdir(parents=True)
        for path in (self.debugfs, self.proc, self.cgroup, self.state, self.dev):
            path.mkdir()
        self.env = {
            "BWCTL_SYSFS": str(self.sysfs), "BWCTL_DEBUGFS": str(self.debugfs),
            "BWCTL_PROC": str(self.proc), "BWCTL_CGROUP": str(self.cgroup), "BWCTL_FAKE_STATE": str(self.state),
            "BWCTL_FAKE_IOPRIO": "ok", "BWCTL_DEV": str(self.dev),
        }

    def run(self, *args: str | bytes, kernel: str = "ok", stdout: Any = subprocess.PIPE) -> Result:
        """Run the tool; `kernel`: the result of ioprio_set."""
        done = subprocess.run([self.tool, *args], stdout=stdout, stderr=subprocess.PIPE,
                              env={**os.environ, **self.env, "BWCTL_FAKE_IOPRIO": kernel},
                              cwd=self.root, timeout=60)
        err = done.stderr.decode(errors="surrogateescape")
        assert "Sanitizer" not in err and "runtime error" not in err, err
        return Result(done.returncode, (done.stdout or b"").decode(), err)

    # --- devices

    def _link(self, link: Path, target: Path) -> None:
        link.symlink_to(os.path.relpath(target, link.parent))

    def disk(self, name: str, scheduler: str | None = "none mq-deadline [cfq]", *,
             rotational: str | None = "1", depth: str | None = "1", bw: bool | None = None,
             number: str | None = None, delays: list[int] | str = DEFAULT_DELAYS) -> Path:
        """A disk; `bw`: whether it has the class's tunables (default: if cfq is active)."""
        folder = self.sysfs / "devices" / name
        (folder / "queue/iosched").mkdir(parents=True)
        (folder / "device").mkdir()
        (folder / "slaves").mkdir()
        files = {"queue/scheduler": scheduler, "queue/rotational": rotational,
                 "device/queue_depth": depth, "dev": number}
        if bw if bw is not None else "[cfq]" in (scheduler or ""):
            listed = delays if isinstance(delays, str) else " ".join(map(str, delays))
            files |= {"queue/iosched/bw_delays_ms": listed, "queue/iosched/bw_bucket_ms": "3000",
                      "queue/iosched/bw_seek_kb": "64", "queue/iosched/bw_share_percent": "95",
                      "queue/iosched/bw_depth": "1"}
        for file, text in files.items():
            if text is not None:
                (folder / file).write_text(text + "\n")
        self._link(self.sysfs / "block" / name, folder)
        self._link(self.sysfs / "class/block" / name, folder)
        if number:
            self._link(self.sysfs / "dev/block" / number, folder)
        return folder

    def partition(self, disk: str, name: str, number: str | None = None) -> None:
        folder = self.sysfs / "devices" / disk / name
        folder.mkdir()
        (folder / "partition").write_text("1\n")
        self._link(self.sysfs / "class/block" / name, folder)
        if number:
            self._link(self.sysfs / "dev/block" / number, folder)

    def stack(self, name: str, *slaves: str) -> None:
        """A device-mapper or md device above disks or partitions."""
        folder = self.disk(name, "none", depth=None)
        for slave in slaves:
            self._link(folder / "slaves" / slave, (self.sysfs / "class/block" / slave).resolve())

    def sched(self, disk: str, reservations: str | bytes | None,
              counters: str | None = "bw_reservations 1\n") -> None:
        """The disk's debugfs files."""
        folder = self.debugfs / "block" / disk / "sched"
        folder.mkdir(parents=True)
        if reservations is not None:
            text = reservations.encode() if isinstance(reservations, str) else reservations
            (folder / "reservations").write_bytes(text)
        if counters is not None:
            (folder / "counters").write_text(counters)

    # --- control groups

    def group(self, path: str, line: str | None = "", stat: str = "") -> Path:
        """A control group with these texts in io.bw (None: there is no such file) and io.stat."""
        folder = self.cgroup / path
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").write_text("")
        (folder / "io.stat").write_text(stat)
        if line is not None:
            (folder / "io.bw").write_text(line)
        return folder

    # --- processes

    def process(self, pid: int, threads: dict[int, int | str], command: bytes = b"reader") -> None:
        """A process with the priority of each of its threads."""
        for tid, ioprio in threads.items():
            (self.proc / str(pid) / "task" / str(tid)).mkdir(parents=True)
            (self.state / str(tid)).write_text(f"{ioprio}\n")
        (self.proc / str(pid) / "comm").write_bytes(command + b"\n")

    def ioprio(self, tid: int) -> int:
        return int((self.state / str(tid)).read_text())


@pytest.fixture
def world(builds: Builds, tmp_path: Path) -> World:
    return World(builds.tool, tmp_path)


def one_line(result: Result, code: int) -> str:
    """The only line on stderr of a run that ended with this code."""
    assert result.code == code, result
    assert result.out == ""
    assert result.err.count("\n") == 1 and result.err.endswith("\n"), result.err
    assert result.err.startswith("bwctl: ")
    return result.err[len("bwctl: "):-1]
