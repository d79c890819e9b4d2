# SPDX-License-Identifier: GPL-2.0
"""What the runner makes of blktests: its source, its results, what is left to run. Boots nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from selftests.blktests import cli, guests, results, source
from selftests.blktests.guest import scheduler as watcher
from selftests.blktests.results import FAILED, NOT_RUN, PASSED, Outcome
from tools.base.cli import ToolError
from tools.testbed.vm import Result, VMError

HERE = Path(__file__).resolve().parent

PASS = """\
block/001 (stress)
block/001 (stress)                                           [passed]
    runtime    ...  3.1s
"""
TWO_RUNS = """\
throtl/001 (nullb) (basic functionality)                     [passed]
    runtime    ...  9.2s
throtl/001 (sdebug) (basic functionality)                    [failed]
    runtime    ...  8.2s
    --- tests/throtl/001.out\t2026-11-25
    +++ /run/results/throtl/001.out.bad\t2026-11-25
    @@ -1,3 +1,3 @@
     Running throtl/001
    -1
    +4
"""
DEVICE = "block/005 => sda (switch schedulers (all) while doing IO)    [passed]\n"
SKIPPED = """\
block/022 (test hang)   [not run]
    requires modular null_blk
    kernel option X has not been enabled
"""
GROUP_SKIPPED = "throtl/***   [not run]\n    driver scsi_debug is not available\n"


# --- results -----------------------------------------------------------------------


def test_passed_test_has_no_reason() -> None:
    assert results.outcomes("block/001", PASS, "0", 5) == [Outcome("block/001", PASSED, "", 5)]


def test_each_condition_is_a_run_of_its_own_and_a_failure_shows_what_differs() -> None:
    assert results.outcomes("throtl/001", TWO_RUNS, "1", 20) == [
        Outcome("throtl/001 (nullb)", PASSED, "", 20), Outcome("throtl/001 (sdebug)", FAILED, "-1; +4", 20)]


def test_device_is_in_the_name_and_parentheses_of_a_description_are_no_condition() -> None:
    assert [outcome.name for outcome in results.outcomes("block/005", DEVICE, "0", 1)] == ["block/005 => sda"]


def test_what_was_measured_is_no_reason() -> None:
    log = ("block/004 => sda (flushes)  [failed]\n    runtime       ...  2.734s\n    write iops    ...  8587\n"
           "    exited with status 3\n")
    assert [outcome.why for outcome in results.outcomes("block/004", log, "1", 1)] == ["exited with status 3"]


def test_reasons_of_a_skip_are_told() -> None:
    assert results.outcomes("block/022", SKIPPED, "0", 1) == [
        Outcome("block/022", NOT_RUN, "requires modular null_blk; kernel option X has not been enabled", 1)]


def test_group_that_cannot_be_run_counts_for_its_test() -> None:
    assert results.outcomes("throtl/003", GROUP_SKIPPED, "0", 1) == [
        Outcome("throtl/003", NOT_RUN, "driver scsi_debug is not available", 1)]


def test_no_end_is_a_failure_beside_what_passed_before() -> None:
    assert results.outcomes("block/001", PASS, "no end within 9 s", 9) == [
        Outcome("block/001", PASSED, "", 9), Outcome("block/001", FAILED, "no end within 9 s", 9)]


def test_test_that_says_nothing_has_failed() -> None:
    found = results.outcomes("zbd/001", "./check: zbd/001: fallback_device call failure\n", "0", 1)
    assert [outcome.state for outcome in found] == [FAILED]
    assert "fallback_device call failure" in found[0].why


def test_run_that_passes_when_tried_again_has_passed_and_is_told() -> None:
    again = TWO_RUNS.replace("[failed]", "[passed]")
    steady, unsteady = results.outcomes("throtl/001", TWO_RUNS + TWO_RUNS + again, "0", 60)
    assert (steady.state, steady.failures) == (PASSED, 0)
    assert (unsteady.state, unsteady.failures, unsteady.why) == (PASSED, 2, "-1; +4")
    page = results.page({"cfq": {"throtl": [steady, unsteady]}, "bfq": {"throtl": [steady]}})
    assert "Passed under cfq when tried again:\n\n- throtl/001 (sdebug): -1; +4" in page
    assert "Passed under bfq" not in page


def test_run_that_fails_each_time_has_failed() -> None:
    failed = [outcome for outcome in results.outcomes("throtl/001", TWO_RUNS * 3, "1", 60) if outcome.state == FAILED]
    assert [outcome.name for outcome in failed] == ["throtl/001 (sdebug)"]


def found(**states: str) -> dict[str, list[Outcome]]:
    return {"block": [Outcome(f"block/{name[1:]}", state, "why") for name, state in states.items()]}


def test_only_failures_that_bfq_does_not_have_are_worse() -> None:
    both = {"cfq": found(t1=FAILED, t2=FAILED, t3=FAILED, t4=PASSED),
            "bfq": found(t1=FAILED, t2=PASSED, t3=NOT_RUN, t4=FAILED)}
    assert [(outcome.name, other) for outcome, other in results.worse(both, "cfq")] == [
        ("block/2", PASSED), ("block/3", NOT_RUN)]


def test_failure_without_a_result_of_bfq_is_worse() -> None:
    assert [other for _, other in results.worse({"cfq": found(t1=FAILED)}, "cfq")] == ["no result"]


def test_failure_in_one_of_two_results_of_a_name_is_not_hidden_by_the_other() -> None:
    hung = {"block": results.outcomes("block/001", PASS, "no end within 9 s", 9)}
    passed = {"block": results.outcomes("block/001", PASS, "0", 9)}
    assert len(results.worse({"cfq": hung, "bfq": passed}, "cfq")) == 1


def test_page_counts_by_group_and_names_failures() -> None:
    page = results.page({"cfq": found(t1=FAILED, t2=PASSED), "bfq": found(t1=PASSED, t2=NOT_RUN)})
    assert "| block | 1 / 1 / 0 | 1 / 0 / 1 |" in page
    assert "| all | 1 / 1 / 0 | 1 / 0 / 1 |" in page
    assert "- block/1 (bfq: passed): why" in page


def test_page_says_that_there_is_no_worse_failure() -> None:
    page = results.page({"cfq": found(t1=FAILED), "bfq": found(t1=FAILED)})
    assert "cfq has no failure that bfq does not have." in page
    assert "Failures of bfq:\n\n- block/1: why" in page


def test_json_has_counts_tests_and_what_is_worse() -> None:
    value = results.as_json({"cfq": found(t1=FAILED), "bfq": found(t1=PASSED)}, {"blktests": "c"})
    assert value["schedulers"]["cfq"]["block"]["counts"] == {PASSED: 0, FAILED: 1, NOT_RUN: 0}
    assert value["worse"]["cfq"][0]["bfq"] == PASSED


# --- source ------------------------------------------------------------------------


Repository = Callable[..., Path]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Makes a git repository that stands for blktests; the pinned commit is the one in it."""

    def make(**files: str) -> Path:
        path = tmp_path / "upstream"
        for name, text in {"src/Makefile": "all:\n\ttouch built\n", "tests/block/001": "QUICK=1\n",
                           "tests/block/002": "TIMED=1\n", "tests/block/003": "x\n", "tests/block/001.out": "",
                           **files}.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
        who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "x"]):
            subprocess.run(["git", *words], cwd=path, check=True)
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=path, check=True, capture_output=True, text=True)
        monkeypatch.setattr(source, "COMMIT", commit.stdout.strip())
        monkeypatch.setattr(source, "BUILD", tmp_path / "build")
        monkeypatch.setenv(source.VARIABLE, str(path))
        return path

    return make


def test_tree_is_the_commit_built_with_the_own_tests(repository: Repository) -> None:
    path = repository()
    (path / "tests/block/001").write_text("changed after the commit\n")
    tree = source.tree()
    assert (tree / "src/built").is_file()
    assert (tree / "tests/block/001").read_text() == "QUICK=1\n"
    assert (tree / "tests/nullb/rc").read_bytes() == (HERE / "tests/nullb/rc").read_bytes()
    assert os.access(tree / "tests/nullb/001", os.X_OK)


def test_tree_is_made_once(repository: Repository) -> None:
    path = repository()
    tree = source.tree()
    shutil.rmtree(path)
    assert source.tree() == tree


def test_own_test_with_a_taken_number_is_refused(repository: Repository) -> None:
    path = repository(**{"tests/blktrace/003": "another\n"})
    with pytest.raises(ToolError, match="blktrace/003: blktests has this file, too"):
        source.tree()
    assert not list(path.parent.glob("build/blktests/tree-*"))


def test_named_place_without_the_commit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(source.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(ToolError, match=f"not a git repository with commit {source.COMMIT}"):
        source.repository()


def test_fetch_takes_the_pinned_commit_into_the_cache(repository: Repository, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "URL", str(repository()))
    monkeypatch.delenv(source.VARIABLE)
    monkeypatch.setenv("QUEUE_CACHE", str(tmp_path / "cache"))
    assert source.has_commit(source.repository())


def test_without_network_it_is_skipped_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(source, "URL", str(tmp_path / "nowhere"))
    monkeypatch.delenv(source.VARIABLE, raising=False)
    monkeypatch.setenv("QUEUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(source, "BUILD", tmp_path / "build")
    monkeypatch.setattr(guests, "kernel_folder", lambda named: tmp_path)
    monkeypatch.setattr(guests, "need_programs", lambda: None)
    assert cli.main(["block", "--out", str(tmp_path / "out")]) == source.SKIPPED
    said = capsys.readouterr().err
    assert "SKIP: blktests cannot be cloned" in said and source.VARIABLE in said


def test_quick_run_leaves_out_tests_without_a_limit(repository: Repository) -> None:
    path = repository()
    assert source.tests(path, "block", slow=False) == ["block/001", "block/002"]
    assert source.tests(path, "block", slow=True) == ["block/001", "block/002", "block/003"]
    assert source.tests(path, "block/003", slow=False) == ["block/003"]


def test_unknown_group_is_refused(repository: Repository) -> None:
    with pytest.raises(ToolError, match="bloc: no group or test"):
        source.tests(repository(), "bloc", slow=False)


def test_only_groups_with_own_tests_depend_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {group: source.version(group) for group in ("block", "nullb")}
    monkeypatch.setattr(source, "digest", lambda: "other")
    assert source.version("block") == before["block"]
    assert source.version("nullb") != before["nullb"]


# --- guests ------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> guests.Machine:
    kernel = tmp_path / "bzImage"
    kernel.write_text("a kernel")
    monkeypatch.setattr(guests, "kvm_works", lambda image: False)
    return guests.Machine(kernel, None, tmp_path / "tree", 30, 400, 3, "1G")


def ended(out: Path, **changes: object) -> Result:
    result = Result(0, "", "", out=out)
    for name, value in changes.items():
        setattr(result, name, value)
    return result


class Guest(guests.Group):
    """One whose boots are what a test says: each a function of what is left to run."""

    def __init__(self, machine: guests.Machine, out: Path, tests: Sequence[str],
                 boots: Sequence[Callable[[Path, Sequence[str]], Result]]) -> None:
        super().__init__(machine, out, "block", "cfq", tests)
        self.boots, self.booted = list(boots), list[list[str]]()
        if not self.is_current():
            self.forget()

    def boot(self, tests: Sequence[str]) -> Result:
        self.booted.append(list(tests))
        return self.boots.pop(0)(self.folder, tests)


def runs_all(folder: Path, tests: Sequence[str]) -> Result:
    with (folder / "done").open("a") as done:
        for test in tests:
            done.write(f"{test}\t0\t3\n")
    return ended(folder)


def dies_in_second(folder: Path, tests: Sequence[str]) -> Result:
    runs_all(folder, tests[:1])
    (folder / "running").write_text(f"{tests[1]}\n")
    return ended(folder, exit_code=None, reports=["[ 1.0] BUG: x"])


def loses_a_patch(folder: Path, tests: Sequence[str]) -> Result:
    (folder / "running").write_text(f"{tests[0]}\n")
    return ended(folder, exit_code=None, console="[ 1.0] Oops: int3: 0000", emulator_is_faulty=True)


def does_nothing(folder: Path, tests: Sequence[str]) -> Result:
    return ended(folder, exit_code=1, stdout="no disk")


TESTS = ("block/001", "block/002", "block/003")


def test_after_a_dead_kernel_the_rest_runs_in_another_guest(machine: guests.Machine, tmp_path: Path) -> None:
    guest = Guest(machine, tmp_path, TESTS, [dies_in_second, runs_all])
    guest.run()
    assert guest.booted == [list(TESTS), ["block/003"]]
    assert guest.done()["block/002"][0] == "the kernel ended: [ 1.0] BUG: x"


def test_what_was_done_is_not_run_again(machine: guests.Machine, tmp_path: Path) -> None:
    Guest(machine, tmp_path, TESTS[:2], [runs_all]).run()
    again = Guest(machine, tmp_path, TESTS, [runs_all])
    again.run()
    assert again.booted == [["block/003"]]


def test_results_of_another_kernel_are_forgotten(machine: guests.Machine, tmp_path: Path) -> None:
    Guest(machine, tmp_path, TESTS, [runs_all]).run()
    machine.kernel.write_text("another kernel")
    assert Guest(machine, tmp_path, TESTS, []).left() == list(TESTS)


def test_fault_of_the_emulator_is_no_failure(machine: guests.Machine, tmp_path: Path) -> None:
    guest = Guest(machine, tmp_path, TESTS, [loses_a_patch, runs_all])
    guest.run()
    assert {code for code, _ in guest.done().values()} == {"0"}


def test_guests_in_which_nothing_runs_are_given_up(machine: guests.Machine, tmp_path: Path) -> None:
    guest = Guest(machine, tmp_path, TESTS, [does_nothing] * guests.BOOTS_IN_VAIN)
    with pytest.raises(VMError, match="block under cfq: no test has run"):
        guest.run()


def test_clock_goes_by_instructions_only_where_the_cpu_is_emulated(
        machine: guests.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = Guest(machine, tmp_path, TESTS, [])
    assert guests.BY_INSTRUCTIONS in group.machine_options()
    monkeypatch.setattr(guests, "kvm_works", lambda image: True)
    assert guests.BY_INSTRUCTIONS not in group.machine_options()


def test_zoned_group_makes_its_own_disks(machine: guests.Machine, tmp_path: Path) -> None:
    for name, device in (("zbd", ""), ("block", guests.DEVICE)):
        assert guests.Group(machine, tmp_path, name, "cfq", []).environment()["DEVICE"] == device


def test_folder_without_a_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no kernel; run"):
        guests.kernel_folder(tmp_path)


# --- the guest's own programs --------------------------------------------------------


def event(**variables: str) -> bytes:
    return b"\0".join([b"add@/devices/x", *(f"{name}={value}".encode() for name, value in variables.items()), b""])


def test_only_a_whole_disk_that_appears_gets_the_scheduler() -> None:
    new = {"ACTION": "add", "SUBSYSTEM": "block", "DEVTYPE": "disk"}
    assert watcher.is_new_disk(watcher.fields(event(**new, SEQNUM="7")))
    for change in ({"ACTION": "remove"}, {"SUBSYSTEM": "net"}, {"DEVTYPE": "partition"}):
        assert not watcher.is_new_disk(watcher.fields(event(**{**new, **change})))


def test_scheduler_is_written_and_a_disk_without_one_is_told(tmp_path: Path) -> None:
    file = tmp_path / "queue/scheduler"
    file.parent.mkdir()
    file.write_text("")
    assert watcher.choose(tmp_path, "cfq") == "cfq"
    assert file.read_text() == "cfq"
    assert watcher.choose(tmp_path / "none", "cfq") == "No such file or directory"


def test_own_tests_say_what_they_are_and_have_their_output() -> None:
    scripts = [path for path in sorted((HERE / "tests").glob("*/[0-9][0-9][0-9]"))]
    assert len(scripts) >= 7
    for path in scripts:
        name = f"{path.parent.name}/{path.name}"
        text = path.read_text()
        assert "\nDESCRIPTION=" in text and "\nQUICK=1\n" in text and os.access(path, os.X_OK), name
        said = path.with_suffix(".out").read_text().splitlines()
        assert (said[0], said[-1]) == (f"Running {name}", "Test complete")
