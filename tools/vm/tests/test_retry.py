# SPDX-License-Identifier: GPL-2.0
"""A run that the emulator spoils is made once more; a fault of the kernel's own never."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "selftests/vm")]

import guests
from vm import machine

INT3 = "[   16.563654] Oops: int3: 0000 [#1] SMP KASAN\n"
BUG = "[   16.563654] BUG: unable to handle page fault for address: 0\n"


@pytest.fixture
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """What each boot is to leave: its console, and whether the command began."""
    script: list[tuple[str, bool]] = []

    def watch(_args: object, where: Path, *_rest: object) -> machine.Result:
        console, began = script.pop(0)
        if began:
            (where / "stdout.log").write_text("began\n")
        return machine.Result(None, "", console, out=where)

    monkeypatch.setattr(machine, "_watch", watch)
    monkeypatch.setattr(machine, "_vng", lambda: "vng")
    (tmp_path / "bzImage").touch()
    return script


def boot(tmp_path: Path, again: bool = True) -> machine.Result:
    return machine.run("true", kernel=tmp_path / "bzImage", out=tmp_path / "out", kvm=False,
                       again=again)


@pytest.mark.parametrize("began", [False, True])
def test_a_boot_that_the_emulator_spoiled_is_made_once_more(
        tmp_path: Path, boots: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str],
        began: bool) -> None:
    boots += [(INT3, began), ("good", True)]
    assert boot(tmp_path).console == "good"
    assert "once more" in capsys.readouterr().err


@pytest.mark.parametrize("began", [False, True])
def test_a_crash_of_the_kernel_is_reported(tmp_path: Path, boots: list[tuple[str, bool]],
                                           began: bool) -> None:
    boots += [(BUG, began), ("good", True)]
    assert boot(tmp_path).console == BUG


def test_a_command_that_is_to_run_once_runs_once(tmp_path: Path,
                                                 boots: list[tuple[str, bool]]) -> None:
    boots += [(INT3, False), (INT3, True), ("good", True)]
    assert boot(tmp_path, again=False).console == INT3
    assert len(boots) == 1


def test_a_kernel_that_never_boots_is_given_up(tmp_path: Path,
                                               boots: list[tuple[str, bool]]) -> None:
    boots += [(INT3, False)] * machine.TRIES
    assert boot(tmp_path).console == INT3
    assert not boots


BEGIN, END = "vm-scenario: begin {}\n", "vm-scenario: end {}\n"


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What each boot of the scenarios is to leave: its console and its results."""
    script: list[tuple[str, str]] = []

    def fake(_command: str, _flavour: str, out: Path, *_rest: object,
             **_more: object) -> machine.Result:
        console, results = script.pop(0)
        (out / "results").write_text(results)
        return machine.Result(None, "", console, out=out)

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
