# SPDX-License-Identifier: GPL-2.0
"""Runs killers: tests of pytest in the copy of the project, KUnit cases in its kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.paths import BUILD
from tools.dev.check.counting import Count, by_junit, by_kunit, last_line
from tools.dev.check.running import end_group

from . import trees
from .table import PYTEST, Mutant

LIMIT_S = 900  # per killer; a mutant may make it wait forever
TESTS_FAILED = 1  # pytest's exit code; larger ones mean that it could not run them


def run(killers: Sequence[str], log: Path) -> Count:
    """Run killers of one kind together; several only without a mutant, where none should fail."""
    report = trees.OUT / "report"
    console = trees.UML / "test.log"  # the log of a kernel with KUnit cases
    for left in (report, console):
        left.unlink(missing_ok=True)
    if PYTEST in killers[0]:
        command = [str(BUILD / "venv/bin/pytest"), "-q", "-c", str(trees.TREE / "tools/pyproject.toml"),
                   "--rootdir", str(trees.TREE), "--tb=short", f"--junit-xml={report}", *killers]
        counting = by_junit(report)
    else:
        command = [sys.executable, str(trees.LINUX / "tools/testing/kunit/kunit.py"), "exec", "--arch", "um",
                   "--build_dir", str(trees.UML), "--kernel_args", "kunit.autorun=1", f"--json={report}", *killers]
        counting = by_kunit(report, console)
    code = run_logged(command, log, LIMIT_S * len(killers))
    if code is None:
        return Count(failures=["timeout"])
    text = log.read_text(errors="replace")
    if PYTEST in killers[0] and code not in (0, TESTS_FAILED):
        raise ToolError(f"pytest cannot run {' '.join(killers)}: {last_line(text)} (full output: {log})")
    return counting(text, code)


def run_logged(command: Sequence[str], log: Path, limit_s: float) -> int | None:
    """Run a command; returns its exit code, or None after the time limit."""
    with log.open("w") as output:
        worker = subprocess.Popen(command, cwd=trees.TREE, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, text=True, env=trees.environment(),
                                  start_new_session=True)
        try:
            return worker.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if worker.poll() is None:
                end_group(worker)


def check_without_mutant(mutants: Sequence[Mutant], log: Path) -> None:
    """Check that each killer passes without a mutant: one that fails or is skipped anyway proves nothing."""
    killers = list(dict.fromkeys(killer for mutant in mutants for killer in mutant.killers))
    tests = [killer for killer in killers if PYTEST in killer]
    for some in ([tests] if tests else []) + [[killer] for killer in killers if PYTEST not in killer]:
        found = run(some, log)
        if found.failures:
            raise ToolError(f"fails without a mutant: {found.failures[0]} (full output: {log})")
        if found.skipped or found.passed < len(some):
            raise ToolError(f"{found.passed} of {len(some)} killers pass without a mutant, {found.skipped} skipped: "
                            f"{' '.join(some)} (full output: {log})")
