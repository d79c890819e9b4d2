# SPDX-License-Identifier: GPL-2.0
"""A boot that the emulator spoils is made once more; a fault of the kernel's own never."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

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


def boot(tmp_path: Path) -> machine.Result:
    return machine.run("true", kernel=tmp_path / "bzImage", out=tmp_path / "out", kvm=False)


def test_a_boot_that_the_emulator_spoiled_is_made_once_more(
        tmp_path: Path, boots: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str]) -> None:
    boots += [(INT3, False), ("good", True)]
    assert boot(tmp_path).console == "good"
    assert "once more" in capsys.readouterr().err


@pytest.mark.parametrize("first", [(INT3, True), (BUG, False)])
def test_a_crash_of_the_kernel_is_reported(tmp_path: Path, boots: list[tuple[str, bool]],
                                           first: tuple[str, bool]) -> None:
    boots += [first, ("good", True)]
    assert boot(tmp_path).console == first[0]


def test_a_kernel_that_never_boots_is_given_up(tmp_path: Path,
                                               boots: list[tuple[str, bool]]) -> None:
    boots += [(INT3, False)] * machine.TRIES
    assert boot(tmp_path).console == INT3
    assert not boots
