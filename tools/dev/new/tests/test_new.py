# SPDX-License-Identifier: GPL-2.0
"""What tools/new writes passes the project's own checks, and what exists or is malformed is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE
from tools.base.paths import BUILD, ROOT
from tools.dev.check import steps
from tools.dev.new import cli, kinds
from tools.dev.queue import kselftests
from tools.testbed.disk import characteristics, presets
from tools.testbed.disk.tests.test_disk_presets import without_source
from tools.testbed.lab import cli as lab
from tools.testbed.lab.model import schema

BIN = BUILD / "venv/bin"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The parts of a checkout that new files go to, or stand on."""
    for part in ("configs/disks", "tools/base", "tools/testbed/lab/scenarios"):
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True)
    (tmp_path / "tools/dev").mkdir()
    (tmp_path / "tools/lab").symlink_to("testbed/lab")
    shutil.copy(ROOT / "tools/pyproject.toml", tmp_path / "tools")
    kselftests.extract(tmp_path / kinds.LINUX)
    return tmp_path


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def new(root: Path, *argv: str) -> None:
    assert cli.main(argv, root) == 0


def test_scenario_can_be_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new(root, "scenario", "two-readers")
    written = capsys.readouterr().out.splitlines()
    path = root / written[0]
    assert written[:2] == ["tools/testbed/lab/scenarios/two-readers.toml", "next:"]
    schedulers = {cell.config.scheduler for cell in schema.load(path).cells()}
    assert schedulers == {"none", "mq-deadline", "kyber", "bfq", "cfq"}
    assert lab.main(["show", str(path)]) == 0
    assert "two-readers: two readers with a reservation" in capsys.readouterr().out


@pytest.mark.parametrize("like", presets.names())
def test_disk_is_one_whose_rates_are_computed_and_whose_values_have_a_source(root: Path, like: str) -> None:
    new(root, "disk", "atlas-5.1", "--like", like)
    folder = root / "configs/disks"
    preset = presets.load("atlas-5.1", folder)
    computed = characteristics.compute(preset.attributes)
    assert preset.attributes == presets.load(like).attributes
    assert preset.title
    assert preset.rated.keys() == {"outer_mbps", "inner_mbps"}
    for key, rated in preset.rated.items():
        assert getattr(computed, key) == pytest.approx(rated, rel=0.01)
    assert not without_source((folder / "atlas-5.1.conf").read_text())


def test_kselftest_is_listed_and_shellcheck_accepts_it(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = root / kinds.KSELFTESTS
    before = (folder / "Makefile").read_text()
    new(root, "kselftest", "two_readers")
    script = folder / "test_two_readers.sh"
    assert os.access(script, os.X_OK)
    added = (folder / "Makefile").read_text().replace(before, "")
    programs = [line.split()[-1] for line in added.splitlines() if line.startswith("TEST_PROGS")]
    assert sorted(programs) == sorted(path.name for path in folder.glob("test_*.sh"))
    assert programs[-1] == script.name
    subprocess.run([BIN / "shellcheck", "-x", "--source-path=SCRIPTDIR", script], check=True)
    assert "make export" in capsys.readouterr().out


def test_kselftest_needs_the_tree(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(root / "build")
    assert cli.main(["kselftest", "x"], root) == EXIT_USAGE
    assert capsys.readouterr().err == f"new: no {kinds.KSELFTESTS}: `make tree` makes it\n"


@pytest.mark.parametrize("wing", kinds.WINGS)
def test_tool_passes_the_checks_and_is_a_step(root: Path, wing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    new(root, "tool", "line_count", "--wing", wing)
    tools = root / "tools"
    monkeypatch.setattr(steps, "TOOLS", tools)
    assert "tools-line_count" in [step.name for step in steps.tool_steps()]
    python = [str(path) for path in (tools / wing / "line_count").rglob("*.py")]
    config = str(tools / "pyproject.toml")
    for command in (["ruff", "check", "-q", "--no-cache", "--config", config, *python],
                    ["mypy", "--cache-dir", str(root / "cache"), "--config-file", config, *python],
                    ["pytest", "-q", "-c", config, "--rootdir", str(root), str(tools / wing / "line_count/tests")]):
        done = subprocess.run([str(BIN / command[0]), *command[1:]], cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run([tools / wing / "line_count/line_count", "--help"], capture_output=True, text=True)
    assert shown.stdout.startswith("usage: line_count")


def test_tool_is_one_for_developers_unless_a_wing_is_named(root: Path) -> None:
    new(root, "tool", "x")
    assert (root / "tools/dev/x/cli.py").is_file()


@pytest.mark.parametrize(("argv", "said"), [
    (["scenario", "players"], "tools/testbed/lab/scenarios/players.toml exists"),
    (["scenario", "apex-greedy"], "tools/testbed/lab/scenarios/oldsched/apex-greedy.toml exists"),
    (["disk", "laptop-5400"], "configs/disks/laptop-5400.conf exists"),
    (["disk", "x", "--like", "y"], "no disk 'y' (known: barracuda-7200.10, "),
    (["kselftest", "tags"], "build/linux/tools/testing/selftests/cfq/test_tags.sh exists"),
    (["tool", "base"], "tools/base exists"),
    (["tool", "lab"], "tools/lab exists"),
    (["tool", "class"], "'class' is a word of Python"),
    (["scenario", "Players"], "'Players' is not a name: "),
    (["scenario", "a_b"], "'a_b' is not a name: "),
    (["scenario", "../x"], "'../x' is not a name: "),
    (["scenario", "a\nb"], "'a\\nb' is not a name: "),
    (["disk", "a..b"], "'a..b' is not a name: "),
    (["kselftest", "test-x.sh"], "'test-x.sh' is not a name: "),
    (["tool", ""], "'' is not a name: "),
    (["tool", "4x"], "'4x' is not a name: "),
    (["disk", "x", "--wing", "dev"], "--wing is an option of the kind tool"),
    (["tool", "x", "--like", "laptop-5400"], "--like is an option of the kind disk"),
])
def test_refusal_is_one_line_and_writes_nothing(root: Path, argv: list[str], said: str,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    before = files(root)
    assert cli.main(argv, root) == EXIT_USAGE
    err = capsys.readouterr().err
    assert err.startswith(f"new: {said}")
    assert len(err.splitlines()) == 1
    assert files(root) == before


def test_program_starts_by_its_short_name() -> None:
    shown = subprocess.run([ROOT / "tools/new", "--help"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("usage: new")
    refused = subprocess.run([ROOT / "tools/new", "tool", "base"], capture_output=True, text=True)
    assert (refused.returncode, refused.stderr) == (EXIT_USAGE, "new: tools/base exists\n")
