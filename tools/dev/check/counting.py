# SPDX-License-Identifier: GPL-2.0
"""What a step's command found, from its report or its log."""

from __future__ import annotations

import contextlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.testbed.vm.reports import scan

from .skips import MAY_SKIP


@dataclass
class Count:
    """What a step found. A failure has a name; `times` are the seconds of tests, by name."""

    passed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)

    def add(self, name: str, ok: bool) -> None:
        if ok:
            self.passed += 1
        else:
            self.failures.append(name)

    def skip(self, name: str, why: str, may_skip: Container[str] = MAY_SKIP) -> None:
        if why in may_skip:
            self.skipped += 1
        else:
            self.failures.append(f"{name}: skipped: {why or 'for no reason'}")


# Gets the log and the exit code of a step's command.
Counting = Callable[[str, int], Count]


def by_junit(path: Path, may_skip: Container[str] | None = None) -> Counting:
    """pytest's XML; an exit code that the XML does not explain is a failure too.

    @may_skip: the reasons for which a test may be skipped, any other is a failure (None: all are counted and no more)
    """
    def count(_log: str, code: int) -> Count:
        found = Count()
        if path.is_file():
            for case in ET.parse(path).getroot().iter("testcase"):
                count_case(case, found, may_skip)
        if code and not found.failures:
            found.failures.append(f"pytest ended with exit code {code}")
        return found
    return count


def count_case(case: ET.Element, found: Count, may_skip: Container[str] | None) -> None:
    """One test. What it skipped of itself, and passed nevertheless, it says in properties."""
    name = f"{case.get('classname')}.{case.get('name')}"
    found.times.append((seconds_of(case), name))
    found.skipped += len(case.findall("properties/property[@name='skipped']"))
    # a test that was skipped may have failed while it was tidied up
    bad = next((case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None)
    skipped = case.find("skipped")
    if bad is not None:
        found.add(f"{name}: {reason(bad.get('message', ''))}", False)
    elif skipped is None:
        found.add(name, True)
    else:
        why = skipped.get("message", "")
        found.skip(name, why, {why} if may_skip is None else may_skip)


def seconds_of(case: ET.Element) -> float:
    """How long it took. A test that looks at what an earlier one did, as all of one boot, says in a property how long
    that took."""
    told = case.find("properties/property[@name='seconds']")
    return float((told.get("value") if told is not None else case.get("time")) or 0)


def reason(message: str) -> str:
    """What an assertion said, without what pytest adds: its beginning and its end."""
    lines = [line.rstrip()[:200] for line in message.splitlines() if line.strip()]
    ends = next((n for n, line in enumerate(lines) if n and line.startswith("assert ")), None)
    lines = lines[:ends]
    if len(lines) > 12:
        lines[4:-8] = ["..."]
    return "\n    ".join(lines) or "no message"


def by_findings(log: str, code: int) -> Count:
    """The JSON of `queue verify` and `queue bisect-check`; a check that was not made has not passed."""
    found = Count()
    for line in log.splitlines():
        if line.startswith('{"findings"'):
            for finding in json.loads(line)["findings"]:
                name = f"{finding['check']}: {finding['subject']}"
                if finding.get("skipped") and not finding["problems"]:
                    found.skip(name, finding["skipped"])
                else:
                    found.add(f"{name}: " + "; ".join(finding["problems"][:3]), not finding["problems"])
                found.times.append((finding.get("seconds", 0.0), name))
    if code and not found.failures:
        found.failures.append(last_line(log))
    return found


def by_kunit(path: Path, console: Path) -> Counting:
    """kunit.py's JSON: groups in groups, with test cases at the leaves; and what the kernel complained of.
    Where none has passed, none was run.

    @console: what the kernel said, as kunit.py leaves it
    """
    def walk(group: dict[str, Any], prefix: str, found: Count) -> None:
        for case in group.get("test_cases", []):
            if case["status"] == "SKIP":
                found.skipped += 1
            else:
                found.add(f"{prefix}{case['name']}", case["status"] == "PASS")
        for inner in group.get("sub_groups", []):
            walk(inner, f"{inner['name']}.", found)

    def count(log: str, code: int) -> Count:
        found = Count()
        if path.is_file():
            walk(json.loads(path.read_text()), "", found)
            if console.is_file():
                found.failures += [f"kernel: {line}" for line in scan(console.read_text(errors="replace"))]
            else:
                found.failures.append(f"no console of the kernel at {console}")
        if not found.failures and (code or not found.passed):
            found.failures.append(f"kunit.py (exit code {code}): {last_line(log)}")
        return found
    return count


MARK = re.compile(r"(ok  |FAIL) (.*?)(?: \((\d+\.\d) s\))?$")
SKIP = re.compile(r"skip (\S+): (.*)$")


def by_marks(log: str, code: int) -> Count:
    """Lines `ok   NAME` and `FAIL NAME`, with seconds in brackets, as lint prints them, and `skip NAME: WHY`."""
    found = Count()
    for line in log.splitlines():
        if mark := MARK.match(line):
            found.add(mark[2], mark[1] == "ok  ")
            found.times.append((float(mark[3] or 0), mark[2]))
        elif skipped := SKIP.match(line):
            found.skip(skipped[1], skipped[2])
    if code and not found.failures:
        found.failures.append(last_line(log))
    return found


def by_rows(log: str, code: int) -> Count:
    """The JSON of `lab unchanged`: a run that differs is a failure, one that does not has passed."""
    found = Count()
    begin = log.find("[\n")
    with contextlib.suppress(ValueError):
        for row in json.loads(log[begin:]) if begin >= 0 else []:
            found.passed += row["runs"] - len(row["differ"])
            found.failures += [f"{row['scenario']} {run}: {how}" for run, how in row["differ"].items()]
    if not found.failures and (code or not found.passed):
        found.failures.append(last_line(log))
    return found


def last_line(log: str) -> str:
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()),
                "no message")
