# SPDX-License-Identifier: GPL-2.0
"""What checks found, as it is printed and as the JSON has it."""

from __future__ import annotations

import json
import time

import pytest

from tools.base.cli import ToolError
from tools.dev.queue.findings import Finding, measured, refusal, report
from tools.dev.queue.tests.trial import Queue


def test_a_check_says_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 102.54])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert measured("a", "b", lambda word: [word], "wrong") == Finding("a", "b", ("wrong",), seconds=2.5)


def test_only_what_took_long_has_its_seconds_in_the_text() -> None:
    lines: list[str] = []
    report([Finding("a", "quick", seconds=1.0), Finding("b", "slow", ("wrong",), seconds=12.3)], lines.append)
    assert lines == ["ok   a: quick", "FAIL b: slow (12 s)", "     wrong", "1 passed, 1 failed"]


def test_the_json_has_the_seconds(two_patches: Queue) -> None:
    findings = json.loads(two_patches.works("--json", "verify").splitlines()[0])["findings"]
    assert all(finding["seconds"] >= 0 for finding in findings)
    assert any(finding["seconds"] > 0 for finding in findings)


def test_an_error_is_a_problem() -> None:
    def fails() -> None:
        raise ToolError("no")

    assert refusal(fails) == ["no"]
    assert refusal(list) == []
