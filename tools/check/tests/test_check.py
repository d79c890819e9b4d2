# SPDX-License-Identifier: GPL-2.0
"""What check counts, and that nothing that went wrong is counted as nothing."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest


def load_tool() -> ModuleType:
    path = str(Path(__file__).resolve().parents[1] / "check")
    loader = importlib.machinery.SourceFileLoader("check_tool", path)
    spec = importlib.util.spec_from_loader("check_tool", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_tool"] = module
    loader.exec_module(module)
    return module


check = load_tool()


def test_kunit_counts_cases_in_groups_of_groups(tmp_path: Path) -> None:
    path = tmp_path / "kunit.json"
    path.write_text(json.dumps({"test_cases": [], "sub_groups": [
        {"name": "cfq", "test_cases": [{"name": "slice", "status": "PASS"},
                                       {"name": "next", "status": "FAIL"}],
         "sub_groups": [{"name": "deep", "sub_groups": [], "test_cases": [
             {"name": "param", "status": "SKIP"}, {"name": "crash", "status": "ERROR"}]}]}]}))
    count = check.by_kunit(path)("", 1)
    assert (count.passed, count.skipped) == (1, 1)
    assert count.failures == ["cfq.next", "deep.crash"]


def test_kunit_that_did_not_build_is_a_failure(tmp_path: Path) -> None:
    assert check.by_kunit(tmp_path / "none.json")("a.c: error: x\n", 1).failures == [
        "kunit.py (exit code 1): a.c: error: x"]


def test_junit_counts_and_an_unexplained_exit_code_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text('<testsuites><testsuite><testcase classname="m" name="a"/>'
                    '<testcase classname="m" name="b"><failure message="AssertionError: why&#10;assert 1 == 2"/>'
                    '</testcase>'
                    '<testcase classname="m" name="c"><skipped/></testcase>'
                    '<testcase classname="m" name="d"><error/></testcase></testsuite></testsuites>')
    count = check.by_junit(path)("", 1)
    assert (count.passed, count.skipped, count.failures) == (
        1, 1, ["m.b: AssertionError: why", "m.d: no message"])
    path.write_text('<testsuites><testsuite><testcase classname="m" name="a"/></testsuite></testsuites>')
    assert check.by_junit(path)("", 3).failures == ["pytest ended with exit code 3"]


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    said = check.reason("\n".join(f"line {n}" for n in range(100)) + "\nassert False").split("\n    ")
    assert said == ["line 0", "line 1", "line 2", "line 3", "...",
                    *(f"line {n}" for n in range(92, 100))]


def test_findings_are_counted_one_by_one() -> None:
    log = "noise\n" + json.dumps({"findings": [
        {"check": "git am", "subject": "x", "problems": []},
        {"check": "checkpatch", "subject": "p", "problems": ["1: WARNING"]}]}) + "\n"
    count = check.by_findings(log, 1)
    assert (count.passed, count.failures) == (1, ["checkpatch: p: 1: WARNING"])
    assert check.by_findings("queue: disk full\n", 1).failures == ["queue: disk full"]


def test_runs_that_differ_are_failures() -> None:
    rows = [{"scenario": "s", "runs": 3, "operations": 9, "differ": {"cfq N=1": "a: reads"}}]
    count = check.by_rows("lab: x\n" + json.dumps(rows, indent=1), 1)
    assert (count.passed, count.failures) == (2, ["s cfq N=1: a: reads"])
    assert check.by_rows("lab: no kernel at x\n", 2).failures == ["lab: no kernel at x"]
    assert check.by_rows("[\n]\n", 0).failures


def test_marks_are_counted_and_an_unexplained_exit_code_is_a_failure() -> None:
    count = check.by_marks("ok   ruff\nFAIL mypy\n     why\n", 1)
    assert (count.passed, count.failures) == (1, ["mypy"])
    assert check.by_marks("bash: crash\n", 2).failures == ["bash: crash"]


def test_a_step_whose_preparation_fails_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LOGS", tmp_path)
    step = check.Step("s", [["sh", "-c", "echo no compiler; exit 1"], ["true"]],
                      check.by_marks)
    count, _ = check.run_step(step)
    assert (count.passed, count.failures) == (0, ["preparing: no compiler"])


def test_a_program_that_does_not_exist_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LOGS", tmp_path)
    count, _ = check.run_step(check.Step("s", [["/nonexistent/x"]], check.by_marks))
    assert count.failures == ["/nonexistent/x: No such file or directory"]


def test_last_line_is_the_sum_and_failures_set_the_exit_code(
        capsys: pytest.CaptureFixture[str]) -> None:
    bad = check.Count(2, 1, ["b"])
    assert check.summary([("one", check.Count(3), 5.0), ("two", bad, 61.0)], None) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "5 passed, 1 failed, 1 skipped"
    assert "  two: b" in lines
    assert check.summary([("one", check.Count(3), 5.0)], None) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_step_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    # run by somebody who ignores SIGINT, as a shell's background commands do
    program = (f"import importlib.util, sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
               "import signal, test_check\n"
               "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
               "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
               "command = ['sh', '-c', 'sleep 1000 & echo $!; wait']\n"
               "test_check.check.run_logged(command, open('/dev/null', 'w'), 'step')\n")
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert running.stdout
    sleeper = int(running.stdout.readline().split()[1])
    running.send_signal(number)
    assert running.wait(20) != 0
    for _ in range(100):
        if not Path(f"/proc/{sleeper}").exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"process {sleeper} is still there")


def test_lanes_run_at_the_same_time_and_a_failure_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "LOGS", tmp_path)
    flag = tmp_path / "flag"

    def step(name: str, text: str, lane: str = "host") -> object:
        return check.Step(name, [["sh", "-c", text]], check.by_marks, lane=lane)

    # each of the first two ends only when the other one runs
    results = check.run_lanes([
        step("lint", f"echo 'ok   one'; touch {flag}.a; while ! [ -e {flag}.b ]; do sleep 0.05; done; exit 1"),
        step("after", "echo 'ok   two'"),
        step("vm-plain", f"touch {flag}.b; while ! [ -e {flag}.a ]; do sleep 0.05; done; echo 'ok   three'",
             "guests")])
    assert [name for name, _, _ in results] == ["lint", "after", "vm-plain"]
    assert [len(count.failures) for _, count, _ in results] == [1, 0, 0]
    assert [count.passed for _, count, _ in results] == [1, 1, 1]


def test_a_lane_without_work_takes_the_last_of_the_guests_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "LOGS", tmp_path)
    flag = tmp_path / "flag"

    def step(name: str, text: str, lane: str) -> object:
        return check.Step(name, [["sh", "-c", text]], check.by_marks, lane=lane)

    # the first of the guests ends only when the last one has run
    results = check.run_lanes([
        step("lint", "echo 'ok   one'", "host"),
        step("first", f"while ! [ -e {flag} ]; do sleep 0.05; done; echo 'ok   two'", "guests"),
        step("last", f"touch {flag}; echo 'ok   three'", "guests")])
    assert [(name, count.passed) for name, count, _ in results] == [
        ("lint", 1), ("first", 1), ("last", 1)]
