# SPDX-License-Identifier: GPL-2.0
"""What check counts, and that nothing that went wrong is counted as nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.dev.check import cli, counting, running, steps
from tools.dev.check.counting import Count
from tools.dev.check.running import Kernels, Row
from tools.dev.check.skips import MAY_SKIP
from tools.dev.check.steps import Step
from tools.dev.queue import kselftests


def test_kunit_counts_cases_in_groups_of_groups(tmp_path: Path) -> None:
    path = tmp_path / "kunit.json"
    path.write_text(json.dumps({"test_cases": [], "sub_groups": [
        {"name": "cfq", "test_cases": [{"name": "slice", "status": "PASS"},
                                       {"name": "next", "status": "FAIL"}],
         "sub_groups": [{"name": "deep", "sub_groups": [], "test_cases": [
             {"name": "param", "status": "SKIP"}, {"name": "crash", "status": "ERROR"}]}]}]}))
    (tmp_path / "test.log").write_text("[    1.000000] all is well\n")
    count = counting.by_kunit(path, tmp_path / "test.log")("", 1)
    assert (count.passed, count.skipped) == (1, 1)
    assert count.failures == ["cfq.next", "deep.crash"]


def test_kunit_in_which_nothing_has_passed_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "kunit.json"
    path.write_text(json.dumps({"sub_groups": [{"name": "cfq", "test_cases": [{"name": "slice", "status": "SKIP"}]}]}))
    (tmp_path / "test.log").write_text("[    1.000000] all is well\n")
    count = counting.by_kunit(path, tmp_path / "test.log")("Testing complete.\n", 0)
    assert (count.skipped, count.failures) == (1, ["kunit.py (exit code 0): Testing complete."])


def test_kunit_that_did_not_build_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test.log").write_text("[    1.000000] WARNING: of an older run\n")
    assert counting.by_kunit(tmp_path / "none.json", tmp_path / "test.log")("a.c: error: x\n", 1).failures == [
        "kunit.py (exit code 1): a.c: error: x"]


@pytest.mark.parametrize(("said", "failures"), [
    ("[    1.000000] ok 1 cfq\n", []),
    ("[    1.000000] WARNING: possible recursive locking detected\n",
     ["kernel: [    1.000000] WARNING: possible recursive locking detected"]),
    (None, ["no console of the kernel at test.log"]),
])
def test_what_the_kernel_complains_of_during_kunit_is_a_failure(
        tmp_path: Path, said: str | None, failures: list[str]) -> None:
    path, console = tmp_path / "kunit.json", tmp_path / "test.log"
    path.write_text(json.dumps({"sub_groups": [{"name": "cfq", "test_cases": [{"name": "slice", "status": "PASS"}]}]}))
    if said is not None:
        console.write_text(said)
    count = counting.by_kunit(path, console)("", 0)
    assert count.passed == 1
    assert [failure.replace(f"{tmp_path}/", "") for failure in count.failures] == failures


def test_junit_counts_and_an_unexplained_exit_code_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text('<testsuites><testsuite><testcase classname="m" name="a"/>'
                    '<testcase classname="m" name="b"><failure message="AssertionError: why&#10;assert 1 == 2"/>'
                    '</testcase>'
                    '<testcase classname="m" name="c"><skipped/></testcase>'
                    '<testcase classname="m" name="d"><error/></testcase></testsuite></testsuites>')
    count = counting.by_junit(path)("", 1)
    assert (count.passed, count.skipped, count.failures) == (
        1, 1, ["m.b: AssertionError: why", "m.d: no message"])
    path.write_text('<testsuites><testsuite><testcase classname="m" name="a"/></testsuite></testsuites>')
    assert counting.by_junit(path)("", 3).failures == ["pytest ended with exit code 3"]


def write_case(path: Path, inside: str) -> Path:
    """pytest's XML of one test."""
    path.write_text('<testsuites><testsuite><testcase classname="m" name="a">'
                    f'{inside}</testcase></testsuite></testsuites>')
    return path


@pytest.mark.parametrize(("message", "skipped", "failures"), [
    ("no mandoc here", 1, []),
    ("no chromium here", 0, ["m.a: skipped: no chromium here"]),
    ("no mandoc here, nor anything else", 0, ["m.a: skipped: no mandoc here, nor anything else"]),
    ("no User-Mode Linux: `make uml` builds it", 0, ["m.a: skipped: no User-Mode Linux: `make uml` builds it"]),
    ("", 0, ["m.a: skipped: for no reason"]),
])
def test_a_test_that_is_skipped_is_a_failure_unless_it_may_be(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, skipped: int, failures: list[str]) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    write_case(tmp_path / "s.xml", f'<skipped message="{message}"/>')
    count = steps.pytest_step("s", []).count("", 0)
    assert (count.passed, count.skipped, count.failures) == (0, skipped, failures)


def test_what_a_test_that_passed_has_skipped_of_itself_is_counted(tmp_path: Path) -> None:
    properties = "".join(f'<property name="skipped" value="{name}: slower"/>' for name in "ab")
    path = write_case(tmp_path / "r.xml", f'<properties>{properties}<property name="seconds" value="3"/></properties>')
    count = counting.by_junit(path)("", 0)
    assert (count.passed, count.skipped, count.failures, count.times) == (1, 2, [], [(3.0, "m.a")])


def test_a_test_that_was_skipped_and_failed_afterwards_has_failed(tmp_path: Path) -> None:
    path = write_case(tmp_path / "r.xml", '<skipped message="no man here"/><error message="left a process"/>')
    assert counting.by_junit(path, MAY_SKIP)("", 1).failures == ["m.a: left a process"]


@pytest.mark.parametrize("reason", MAY_SKIP)
def test_a_reason_for_which_a_test_may_be_skipped_is_one_that_a_test_has(reason: str, tmp_path: Path) -> None:
    tests = [path for tests in steps.test_folders() if tests.parent.name != "check" for path in tests.glob("*.py")]
    tests += [path for kind in ("py", "sh") for path in (ROOT / "selftests").rglob(f"*.{kind}")]
    tests += kselftests.extract(tmp_path).rglob("*.sh")
    assert any(f'"{reason}"' in path.read_text() for path in tests)


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    said = counting.reason("\n".join(f"line {n}" for n in range(100)) + "\nassert False").split("\n    ")
    assert said == ["line 0", "line 1", "line 2", "line 3", "...",
                    *(f"line {n}" for n in range(92, 100))]


def test_findings_are_counted_one_by_one() -> None:
    log = "noise\n" + json.dumps({"findings": [
        {"check": "git am", "subject": "x", "problems": [], "skipped": ""},
        {"check": "sparse", "subject": "y", "problems": [], "skipped": "it is not installed"},
        {"check": "checkpatch", "subject": "p", "problems": ["1: WARNING"]}]}) + "\n"
    count = counting.by_findings(log, 1)
    assert (count.passed, count.failures) == (
        1, ["sparse: y: skipped: it is not installed", "checkpatch: p: 1: WARNING"])
    assert counting.by_findings("queue: disk full\n", 1).failures == ["queue: disk full"]


def test_runs_that_differ_are_failures() -> None:
    rows = [{"scenario": "s", "runs": 3, "operations": 9, "differ": {"cfq N=1": "a: reads"}}]
    count = counting.by_rows("lab: x\n" + json.dumps(rows, indent=1), 1)
    assert (count.passed, count.failures) == (2, ["s cfq N=1: a: reads"])
    assert counting.by_rows("lab: no kernel at x\n", 2).failures == ["lab: no kernel at x"]
    assert counting.by_rows("[\n]\n", 0).failures


def test_marks_are_counted_and_an_unexplained_exit_code_is_a_failure() -> None:
    count = counting.by_marks("ok   ruff\nFAIL mypy\n     why\n", 1)
    assert (count.passed, count.failures) == (1, ["mypy"])
    assert counting.by_marks("bash: crash\n", 2).failures == ["bash: crash"]


def test_a_step_whose_kernel_does_not_build_is_a_failure_and_it_is_built_once(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    monkeypatch.setitem(steps.KERNELS, "uml", ["sh", "-c", f"echo x >> {tmp_path}/builds; echo no compiler; exit 1"])
    rows = running.run_lanes([Step("one", ["true"], counting.by_marks, ("uml",)),
                              Step("two", ["true"], counting.by_marks, ("uml",), "guests")])
    assert [(row.name, row.count.passed, row.count.failures) for row in rows] == [
        (name, 0, ["building the uml kernel: no compiler"]) for name in ("build-uml", "one", "two")]
    assert (tmp_path / "builds").read_text() == "x\n"


def test_a_kernel_that_nobody_boots_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    rows = running.run_lanes([Step("one", ["echo", "ok   a (1.5 s)"], counting.by_marks)])
    assert [(row.name, row.count.passed, row.count.times) for row in rows] == [("one", 1, [(1.5, "a")])]


def test_every_step_boots_kernels_that_can_be_built_and_runs_what_is_there() -> None:
    for step in steps.steps():
        assert set(step.kernels) <= set(steps.KERNELS), step.name
        for path in filter(lambda word: word.startswith(str(ROOT / "selftests")), step.command):
            assert Path(path).exists(), step.name


def test_each_step_has_a_name_of_its_own() -> None:
    names = [step.name for step in steps.steps()]
    assert len(set(names)) == len(names)


# How a test that cannot do without a kernel shows that, and the kernels one of which it wants.
WANTED = {
    r"[s]kip(?:if)?\(.*`make uml`": {"uml"},
    r"[s]kip(?:if)?\(.*`make uml FLAVOUR=smp`": {"smp"},
    r"[s]kip(?:if)?\(.*`make kernel`|\bvm\.run\(": {"plain"},
    r"[s]kip(?:if)?\(.*`make tree`": set(steps.KERNELS),  # the tree comes with each
}


@pytest.mark.parametrize("tests", steps.test_folders(), ids=lambda tests: tests.parent.name)
def test_step_of_a_tool_has_the_kernels_that_its_tests_boot(tests: Path) -> None:
    tool = tests.parent.name
    texts = "\n".join(path.read_text() for path in tests.glob("*.py"))
    for shown, kernels in WANTED.items():
        if re.search(shown, texts):
            assert kernels & set(steps.BOOTED.get(tool, ())), f"tools/dev/check/steps.py: BOOTED[{tool!r}]: {shown}"


def test_a_program_that_does_not_exist_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    row = running.run_step(Step("s", ["/nonexistent/x"], counting.by_marks), Kernels())
    assert row.count.failures == ["/nonexistent/x: No such file or directory"]


def test_last_line_is_the_sum_and_failures_set_the_exit_code(
        capsys: pytest.CaptureFixture[str]) -> None:
    bad = Count(2, 1, ["b"])
    assert cli.summary([Row("one", Count(3), 5.0), Row("two", bad, 61.0)], 7, None) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "5 passed, 1 failed, 1 skipped"
    assert "  two: b" in lines
    assert cli.summary([Row("one", Count(3), 5.0)], 7, None) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_step_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    # run by somebody who ignores SIGINT, as a shell's background commands do
    program = (f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
               "from pathlib import Path\nfrom tools.base import cli\nfrom tools.dev.check import running, steps\n"
               f"steps.LOGS = Path({str(tmp_path)!r})\n"
               "cli.heed_interrupts()\n"
               "command = ['sh', '-c', 'sleep 1000 & echo $!; wait']\n"
               "sys.exit(cli.run('check', lambda: running.run_logged(command, 'step')[0]))\n")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert process.stdout
    sleeper = int(process.stdout.readline().split()[1])
    process.send_signal(number)
    assert process.wait(20) != 0
    for _ in range(100):
        if not Path(f"/proc/{sleeper}").exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"process {sleeper} is still there")


def test_lanes_run_at_the_same_time_and_a_failure_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    flag = tmp_path / "flag"

    def step(name: str, text: str, lane: str = "host") -> Step:
        return Step(name, ["sh", "-c", text], counting.by_marks, lane=lane)

    # each of the first two ends only when the other one runs
    results = running.run_lanes([
        step("lint", f"echo 'ok   one'; touch {flag}.a; while ! [ -e {flag}.b ]; do sleep 0.05; done; exit 1"),
        step("after", "echo 'ok   two'"),
        step("vm-plain", f"touch {flag}.b; while ! [ -e {flag}.a ]; do sleep 0.05; done; echo 'ok   three'",
             "guests")])
    assert [row.name for row in results] == ["lint", "after", "vm-plain"]
    assert [len(row.count.failures) for row in results] == [1, 0, 0]
    assert [row.count.passed for row in results] == [1, 1, 1]


def test_a_step_that_would_begin_too_late_is_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    done = tmp_path / "done"
    monkeypatch.setattr(time, "time", lambda: 2.0 if done.exists() else 1.0)
    results = running.run_lanes([
        Step("first", ["sh", "-c", f"echo 'ok   one'; touch {done}"], counting.by_marks),
        Step("second", ["touch", str(tmp_path / "begun")], counting.by_marks, ("uml",), may_miss=True),
        Step("third", ["echo", "ok   two"], counting.by_marks)], last_start=1.0)
    assert [(row.name, row.count.passed, row.count.skipped) for row in results] == [
        ("first", 1, 0), ("second", 0, 1), ("third", 1, 0)]
    assert not (tmp_path / "begun").exists()
    assert "== second: left out, it is too late to begin\n" in capsys.readouterr().out


def test_a_lane_without_work_takes_the_last_of_the_guests_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "LOGS", tmp_path)
    flag = tmp_path / "flag"

    def step(name: str, text: str, lane: str) -> Step:
        return Step(name, ["sh", "-c", text], counting.by_marks, lane=lane)

    # the first of the guests ends only when the last one has run
    results = running.run_lanes([
        step("lint", "echo 'ok   one'", "host"),
        step("first", f"while ! [ -e {flag} ]; do sleep 0.05; done; echo 'ok   two'", "guests"),
        step("last", f"touch {flag}; echo 'ok   three'", "guests")])
    assert [(row.name, row.count.passed) for row in results] == [
        ("lint", 1), ("first", 1), ("last", 1)]
