# SPDX-License-Identifier: GPL-2.0
"""What ordinary runs, in which order, and what it reports. debootstrap is not run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

import pytest

from tools.base.cli import ToolError
from tools.dev.check import counting
from tools.dev.ordinary import cli, root
from tools.dev.ordinary.root import Root


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands of root file systems, which are not run."""
    commands: list[str] = []

    def logged(command: list[str], _log: IO[str], env: dict[str, str] | None = None) -> None:
        commands.append(" ".join(command))

    monkeypatch.setattr(root, "logged", logged)
    monkeypatch.setattr(cli, "why_not", lambda: None)
    monkeypatch.setattr(root, "mirrors_of_this_machine", lambda: ["mirror"])
    return commands


def test_stages_run_in_their_order_and_each_has_a_line(
        tmp_path: Path, ran: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--release", "trixie", "--steps", "lint,verify", "--folder", str(tmp_path), "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "ok   trixie: debootstrap", "ok   trixie: packages", "ok   trixie: git clone", "ok   trixie: make run",
        "ok   trixie: make check STEPS=lint,verify"]
    assert ran[0].startswith("debootstrap ") and ran[0].endswith(f"trixie {tmp_path}/trixie mirror")


def test_release_that_was_made_is_kept(tmp_path: Path, ran: list[str]) -> None:
    for _ in range(2):
        assert cli.main(["--release", "trixie", "--folder", str(tmp_path), "--quiet"]) == 0
    assert len([command for command in ran if command.startswith("debootstrap ")]) == 1


def test_commands_are_run_by_a_user_without_rights(tmp_path: Path, ran: list[str]) -> None:
    cli.main(["--release", "bookworm", "--folder", str(tmp_path), "--quiet", "--check-only"])
    assert not any("make run" in command for command in ran)
    (check,) = (command for command in ran if "make check" in command)
    for words in ("--reuid ordinary", "--no-new-privs", "env -i", "LC_ALL=de_DE.UTF-8", "umask 077"):
        assert words in check
    # and they see their own processes, and end with the tool
    assert "--pdeathsig KILL unshare" in check and 'mount -t proc proc "$root/proc"' in check


def test_failure_ends_a_release_and_names_the_log(
        tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def install(_root: Root, _log: IO[str]) -> None:
        raise ToolError("no such package (exit code 100)")

    monkeypatch.setattr(Root, "install", install)
    assert cli.main(["--release", "bookworm,trixie", "--folder", str(tmp_path), "--quiet"]) == 1
    said = capsys.readouterr().out
    assert "FAIL bookworm: packages" in said and "FAIL trixie: packages" in said and "make" not in said
    assert f"no such package (exit code 100); the log is {tmp_path}/trixie.log" in said


@pytest.mark.parametrize("reason", [
    "debootstrap needs root", "debootstrap is not installed", "no mount namespaces here"])
def test_where_debootstrap_cannot_run_releases_are_skipped_with_the_reason(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reason: str) -> None:
    done = subprocess.CompletedProcess([], 1, "", "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000 if "root" in reason else 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if "installed" in reason else name)
    monkeypatch.setattr(root, "run", lambda *_args, **_more: done)
    assert cli.main([]) == 0
    assert capsys.readouterr().out == f"skip bookworm: {reason}\nskip trixie: {reason}\n"
    assert counting.by_marks(f"skip bookworm: {reason}\n", 0).skipped == 1


def test_unknown_release_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--release", "sid"]) == 2
    assert capsys.readouterr().err == "ordinary: no release sid; there are bookworm, trixie\n"


def test_last_words_of_a_command_are_its_error(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log, pytest.raises(ToolError, match=r"second \(exit code 3\)"):
        root.logged(["sh", "-c", "echo first; echo second; exit 3"], log)


def test_settings_of_the_network_replace_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "host/conf.d").mkdir(parents=True)
    (tmp_path / "host/conf.d/proxy").write_text("new")
    (tmp_path / "target/conf.d").mkdir(parents=True)
    (tmp_path / "target/conf.d/proxy").symlink_to("nowhere")
    root.copy(tmp_path / "host", tmp_path / "target")
    root.copy(tmp_path / "none", tmp_path / "target/none")
    assert (tmp_path / "target/conf.d/proxy").read_text() == "new"
    assert not (tmp_path / "target/none").exists()
