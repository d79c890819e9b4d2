# SPDX-License-Identifier: GPL-2.0
"""The table of steps: what each runs, which kernels it boots, how it is counted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base.paths import BUILD, ROOT, TOOLS

from .counting import Counting, by_findings, by_junit, by_kunit, by_marks, by_rows
from .skips import MAY_SKIP

WINGS = ("user", "testbed", "dev")
LOGS = BUILD / "check"
BIN = BUILD / "venv/bin"
QUEUE = [str(TOOLS / "dev/queue/queue")]
FULL = bool(os.environ.get("VM_FULL"))  # all amounts, and each scenario in both flavours

# What builds a kernel. Each is built once a run, when the first step wants it.
KERNELS = {
    "uml": [*QUEUE, "uml"],
    "without-bandwidth": [*QUEUE, "uml", "--without", "bandwidth"],
    "plain": [*QUEUE, "kernel"],
    "debug": [*QUEUE, "kernel", "--flavour", "debug"],
    "smp": [*QUEUE, "uml", "--flavour", "um-smp"],
    "series-tips": [*QUEUE, "series-tips"],
    "oldsched-kunit": [*QUEUE, "uml", "--flavour", "um-oldsched-kunit"],
}


@dataclass(frozen=True)
class Step:
    """One entry of the table: the kernels that it boots, and the command whose findings count.

    Steps of one lane run one after the other, in the order of the table; a lane that has
    nothing left to do takes the last of the guests' steps, which need nothing of each other.
    """

    name: str
    command: list[str]
    count: Counting
    kernels: tuple[str, ...] = ()
    lane: str = "host"
    extra: bool = False  # only when it is named
    may_miss: bool = False  # left out when it would begin too late


def pytest_step(name: str, paths: Sequence[Path], kernels: tuple[str, ...] = (), options: Sequence[str] = (),
                lane: str = "host", extra: bool = False, may_miss: bool = False) -> Step:
    report = LOGS / f"{name}.xml"
    command = [str(BIN / "pytest"), "-q", "-ra", "-c", str(TOOLS / "pyproject.toml"), "--rootdir", str(ROOT),
               "--tb=short", f"--junit-xml={report}", *options, *map(str, paths)]
    return Step(name, command, by_junit(report, MAY_SKIP), kernels, lane, extra, may_miss)


# What the tests of a tool boot; the others boot nothing. Those of mutants and queue look at the tree that comes with
# it.
BOOTED = {"bench": ("plain", "uml"), "demo": ("uml",), "disk": ("plain",), "iobound": ("uml",),
          "lab": ("uml",), "mutants": ("uml",), "queue": ("uml",), "soak": ("uml",), "sweep": ("uml",),
          "trees": ("uml",), "vm": ("plain", "smp")}


def test_folders() -> list[Path]:
    """The tests of what all tools stand on, and of each tool of the three wings."""
    return [*TOOLS.glob("base/tests"), *(tests for wing in WINGS for tests in (TOOLS / wing).glob("*/tests"))]


def tool_steps() -> list[Step]:
    """The tests of each tool, in a process of their own."""
    return [pytest_step(f"tools-{tests.parent.name}", [tests], BOOTED.get(tests.parent.name, ()))
            for tests in sorted(test_folders(), key=lambda tests: tests.parent.name)]


def vm_step(what: str, flavour: str, extra: bool = False) -> Step:
    """Tests of selftests/vm in a kernel of a flavour."""
    return pytest_step(f"{what}-{flavour}", [ROOT / f"selftests/vm/test_{what}.py"], (flavour,),
                       ["--flavour", flavour], "guests", extra)


def kunit_step(name: str, kernel: str, folder: str, *arguments: str, extra: bool = False) -> Step:
    """The KUnit tests of a kernel."""
    report, out = LOGS / f"{name}.json", BUILD / folder
    kunit = BUILD / "linux/tools/testing/kunit/kunit.py"
    return Step(name, [str(kunit), "exec", "--arch", "um", "--build_dir", str(out), "--kernel_args=kunit.autorun=1",
                       *arguments, f"--json={report}"], by_kunit(report, out / "test.log"), (kernel,), extra=extra)


def unchanged_step() -> Step:
    """Without a reservation, the same times with and without the bandwidth class."""
    return Step("unchanged", [
        str(TOOLS / "testbed/lab/lab"), "unchanged", "--all", "--scheduler", "cfq,mq-deadline", "--duration", "10",
        "--without", str(BUILD / "uml-without-bandwidth/linux"), "--json", "--quiet"], by_rows,
        ("uml", "without-bandwidth"), extra=True)


def steps() -> list[Step]:
    """Every step; cheap ones first, and last those that may be left out."""
    return [
        Step("lint", [str(TOOLS / "dev/check/lint")], by_marks),
        *tool_steps(),
        pytest_step("docs", [ROOT / "selftests/docs"]),
        pytest_step("fixes", [ROOT / "selftests/fixes"]),
        pytest_step("blktests", [ROOT / "selftests/blktests"]),
        Step("verify", [*QUEUE, "--json", "verify"], by_findings),
        # with two CPUs, lockdep and KASAN, whose own tests, which this kernel has too, provoke its reports
        kunit_step("kunit", "smp", "uml-smp", "--kernel_args=seccomp=on", "--kernel_args=ncpus=2",
                   "--filter", "module!=kasan_test"),
        kunit_step("kunit-oldsched", "oldsched-kunit", "uml-oldsched-kunit", extra=True),
        pytest_step("uml", [ROOT / "selftests/uml"], ("uml",)),
        Step("bisect", [*QUEUE, "--json", "bisect-check"], by_findings, may_miss=True),
        pytest_step("series-tips", [ROOT / "selftests/series_tips"], ("series-tips",), may_miss=True),
        unchanged_step(),
        vm_step("kselftests", "smp"),
        vm_step("scenarios", "smp"),
        vm_step("kselftests", "plain"),
        vm_step("scenarios", "plain"),
        vm_step("stress", "plain"),
        vm_step("scenarios", "debug", extra=not FULL),
        vm_step("kselftests", "debug", extra=not FULL),
        Step("ordinary", [str(TOOLS / "dev/ordinary/ordinary")], by_marks, extra=True),
    ]
