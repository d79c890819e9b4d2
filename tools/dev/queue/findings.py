# SPDX-License-Identifier: GPL-2.0
"""The results of checks, and the lists of exceptions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ParamSpec

from tools.base.cli import ToolError

from .common import Project

P = ParamSpec("P")


@dataclass(frozen=True)
class Finding:
    """The outcome of one check of one thing."""

    check: str
    subject: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # information that does not fail the check
    skipped: str = ""  # why the check was not run
    seconds: float = 0.0  # duration

    @property
    def ok(self) -> bool:
        return not self.problems


def measured(check: str, subject: str, problems: Callable[P, Iterable[str]],
             *args: P.args, **kwargs: P.kwargs) -> Finding:
    """Run a check and measure its duration."""
    begin = time.monotonic()
    found = tuple(problems(*args, **kwargs))
    return Finding(check, subject, found, seconds=since(begin))


def since(begin: float) -> float:
    """The seconds since a time of time.monotonic()."""
    return round(time.monotonic() - begin, 1)


def refusal(action: Callable[[], object]) -> list[str]:
    """Run an action; returns its error, if any, as the problem of a check."""
    try:
        action()
    except ToolError as error:
        return [str(error)]
    return []


def report(findings: Sequence[Finding], out: Callable[[str], None] = print) -> None:
    for finding in findings:
        mark = "FAIL" if not finding.ok else "skip" if finding.skipped else "ok  "
        out(f"{mark} {finding.check}: {finding.subject}"
            + (f": {finding.skipped}" if finding.skipped else "")
            + (f" ({finding.seconds:.0f} s)" if finding.seconds > 1 else ""))
        for line in (*finding.problems, *finding.notes):
            out(f"     {line}")
    failed = sum(not finding.ok for finding in findings)
    skipped = sum(bool(finding.skipped) for finding in findings)
    out(f"{len(findings) - failed - skipped} passed, {failed} failed"
        + (f", {skipped} skipped" if skipped else ""))


def reasoned(project: Project, name: str, *words: str) -> list[list[str]]:
    """The lines of a file of exceptions: some words and a reason each."""
    path = project.root / name
    found = []
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split(None, len(words))
        if len(parts) <= len(words):
            raise ToolError(f"{name}:{number}: needs {', '.join(words)} and a reason")
        found.append(parts[:-1])
    return found
