# SPDX-License-Identifier: GPL-2.0
"""A run that the emulator spoils is retried; a fault of the kernel's own never."""

from __future__ import annotations

from pathlib import Path

import pytest

from selftests.vm import guests
from tools.testbed.vm import Result, qemu

INT3 = "[   16.563654] Oops: int3: 0000 [#1] SMP KASAN\n"
BUG = "[   16.563654] BUG: unable to handle page fault for address: 0\n"


@pytest.fixture
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What each boot is to leave: its console, and whether the command began."""
    script: list[tuple[str, bool]] = []

    def watch(_args: object, where: Path, *_rest: object) -> Result:
        console, began = script.pop(0)
        if began:
            (where / "stdout.log").write_text("began\n")
        return Result(None, "", console, out=where)

    monkeypatch.setattr(qemu, "_watch", watch)
    monkeypatch.setattr(qemu, "_qemu", lambda: "qemu")
    monkeypatch.setattr(qemu, "qemu_version", lambda: (7, 2))
    (tmp_path / "bzImage").touch()
    return script


def boot(tmp_path: Path, again: bool = True, kvm: bool = False) -> Result:
    return qemu.run("true", kernel=tmp_path / "bzImage", out=tmp_path / "out", kvm=kvm, again=again)


@pytest.mark.parametrize("began", [False, True])
def test_a_boot_that_the_emulator_spoiled_is_made_once_more(
        tmp_path: Path, boots: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str],
        began: bool) -> None:
    boots += [(INT3, began), ("good", True)]
    assert boot(tmp_path).console == "good"
    assert "retrying" in capsys.readouterr().err


@pytest.mark.parametrize("began", [False, True])
def test_a_crash_of_the_kernel_is_reported(tmp_path: Path, boots: list[tuple[str, bool]],
                                           began: bool) -> None:
    boots += [(BUG, began), ("good", True)]
    assert boot(tmp_path).console == BUG


@pytest.mark.parametrize(("kvm", "version"), [(True, (7, 2)), (False, (8, 1)), (False, (10, 0))])
def test_where_the_emulator_has_no_such_fault_it_is_the_kernels(
        tmp_path: Path, boots: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch, kvm: bool,
        version: tuple[int, int]) -> None:
    monkeypatch.setattr(qemu, "qemu_version", lambda: version)
    boots += [(INT3, True), ("good", True)]
    assert boot(tmp_path, kvm=kvm).console == INT3


def test_version_of_qemu_is_known() -> None:
    assert qemu.qemu_version() >= (5, 0)


def test_a_command_that_is_to_run_once_runs_once(tmp_path: Path,
                                                 boots: list[tuple[str, bool]]) -> None:
    boots += [(INT3, False), (INT3, True), ("good", True)]
    assert boot(tmp_path, again=False).console == INT3
    assert len(boots) == 1


def test_a_kernel_that_never_boots_is_given_up(tmp_path: Path,
                                               boots: list[tuple[str, bool]]) -> None:
    boots += [(INT3, False)] * qemu.TRIES
    assert boot(tmp_path).console == INT3
    assert not boots


def test_last_try_has_one_thread_for_all_cpus(tmp_path: Path, boots: list[tuple[str, bool]],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the fault needs two of."""
    tried: list[bool] = []

    def watch(args: list[str], where: Path, *_rest: object) -> Result:
        tried.append(tuple(args[-len(qemu.ONE_THREAD):]) == qemu.ONE_THREAD)
        return Result(None, "", INT3, out=where)

    monkeypatch.setattr(qemu, "_watch", watch)
    assert boot(tmp_path).console == INT3
    assert tried == [False, False, True]


BEGIN, END = "vm-scenario: begin {}\n", "vm-scenario: end {}\n"


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What each boot of the scenarios is to leave: its console and its results."""
    script: list[tuple[str, str]] = []

    def fake(_command: str, _flavour: str, out: Path, *_rest: object,
             **_more: object) -> Result:
        console, results = script.pop(0)
        (out / "results").write_text(results)
        return Result(None, "", console, out=out, emulator_is_faulty=True)

    monkeypatch.setattr(guests, "boot", fake)
    monkeypatch.setattr(guests, "build_tools", lambda: None)
    monkeypatch.setattr(guests, "drives", lambda _out: [])
    return script


def outcomes(tmp_path: Path) -> dict[str, bool]:
    done = guests.run_scenarios(["one", "two", "three"], "plain", tmp_path, 1)
    assert not done.reports
    return {name: outcome.ok for name, outcome in done.outcomes.items()}


def scenario(name: str, said: str = "") -> str:
    return BEGIN.format(name) + said + END.format(name)


REST = (scenario("two") + scenario("three"), "two\t0\t1\nthree\t0\t1\n")


def test_a_scenario_that_the_emulator_spoiled_runs_again_with_the_rest(
        tmp_path: Path, campaign: list[tuple[str, str]]) -> None:
    campaign += [(scenario("one") + BEGIN.format("two") + INT3, "one\t0\t1\n"), REST]
    assert outcomes(tmp_path) == {"one": True, "two": True, "three": True}


def test_a_scenario_in_which_the_kernel_stopped_has_failed(
        tmp_path: Path, campaign: list[tuple[str, str]]) -> None:
    campaign += [(scenario("one") + BEGIN.format("two") + BUG, "one\t0\t1\n"),
                 (scenario("three"), "three\t0\t1\n")]
    assert outcomes(tmp_path) == {"one": True, "two": False, "three": True}


def test_scenarios_that_the_emulator_spoils_every_time_are_not_passed(
        tmp_path: Path, campaign: list[tuple[str, str]]) -> None:
    campaign += [(BEGIN.format("one") + INT3, "")] * guests.BOOTS
    assert outcomes(tmp_path) == {"one": False, "two": False, "three": False}


def test_what_a_kernel_reports_between_scenarios_before_the_emulator_failed_counts(
        tmp_path: Path, campaign: list[tuple[str, str]]) -> None:
    warning = "[   12.000000] WARNING: block/cfq-iosched.c:12 at cfq_x+0x1/0x2, CPU#0: fio/1\n"
    campaign += [(scenario("one") + warning + INT3, "one\t0\t1\n"), REST]
    done = guests.run_scenarios(["one", "two", "three"], "plain", tmp_path, 1)
    assert done.reports == [warning.strip()]
