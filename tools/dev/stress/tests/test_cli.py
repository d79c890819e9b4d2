# SPDX-License-Identifier: GPL-2.0
"""The command line, without a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.dev.stress import cli
from tools.dev.stress import run as guest
from tools.dev.stress.result import Action, Outcome


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    assert "Exit codes" in capsys.readouterr().out


@pytest.mark.parametrize("args", [["--minutes", "0"], ["--minutes", "x"], ["--flavour", "other"], ["again"]])
def test_bad_option_is_refused(args: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(args)
    assert ended.value.code == 2


def test_kernel_that_does_not_exist_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["--kernel", str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    assert code == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "no such kernel image" in said[0]


def outcome_of(monkeypatch: pytest.MonkeyPatch, outcome: Outcome | BaseException) -> None:
    def run_stress(*_args: object, **_more: object) -> Outcome:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(cli, "run_stress", run_stress)


def test_result_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outcome_of(monkeypatch, Outcome(5, "plain", 3.0, [Action("a", "read", "done", 2)], wrong=["x"]))
    assert cli.main(["--json", "--minutes", "0.1"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False and found["wrong"] == ["x"] and found["actions"][0]["count"] == 2


def test_interrupt_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outcome_of(monkeypatch, KeyboardInterrupt())
    assert cli.main([]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_folder_is_prepared_for_the_guest(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "end").write_text("good\n")
    guest.prepare(tmp_path, "debug")
    assert not (tmp_path / "end").exists()
    assert (tmp_path / "programs" / "bwctl").is_file()
    assert "timeout_inject" in (tmp_path / "tables" / "faults").read_text()
    guest.prepare(tmp_path, "plain")
    assert "timeout_inject" not in (tmp_path / "tables" / "faults").read_text()
