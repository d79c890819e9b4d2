# SPDX-License-Identifier: GPL-2.0
"""A check that has passed is repeated if, and only if, something changes that it depends on."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tools.base.cli import ToolError
from tools.dev.queue import bisect, stamps
from tools.dev.queue.common import Project, git_out
from tools.dev.queue.findings import Finding
from tools.dev.queue.stamps import AS_BEFORE, Stamps
from tools.dev.queue.tests.trial import CHECKPATCH, Fake, Queue, write_tree

BASE, ONE, TWO = "linux 7.3.4: pristine source", "block: one", "block: two"
WARNING = "block/elevator.c:1:1: warning: wrong\n"


class Bisecting:
    """bisect-check with a build that takes no time."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.built: list[str] = []
        self.targets: list[list[str]] = []  # of each build
        self.says: dict[str, str] = {}  # by the subject of a commit

    def build(self, _project: Project, linux: Path, targets: list[str]) -> str:
        subject = git_out(linux, "log", "-1", "--format=%s")
        self.built.append(subject)
        self.targets.append(targets)
        return self.says.get(subject, "").replace("LINUX", str(linux))

    def __call__(self, again: bool = False, root: Path | None = None) -> list[Finding]:
        self.built = []
        root = root or self.queue.root
        return bisect.bisect_check(Project(root, root / "build", self.queue.cache), str(self.queue.kernel), again)


@pytest.fixture
def bisecting(two_patches: Queue, monkeypatch: pytest.MonkeyPatch) -> Bisecting:
    trial = Bisecting(two_patches)
    monkeypatch.setattr(bisect, "build_prefix", trial.build)
    for check in ("not_built", "sparse", "modules"):
        monkeypatch.setattr(bisect, check, lambda *_: [])
    return trial


def failed(findings: list[Finding]) -> list[str]:
    return [finding.subject for finding in findings if not finding.ok]


def edit(queue: Queue, number: int) -> None:
    """Another patch that does the same."""
    path = next((queue.root / "patches").glob(f"000{number}-*"))
    path.write_text(path.read_text().replace("The tests need", "The tests want"))


def test_an_unchanged_queue_does_nothing_the_second_time(
        bisecting: Bisecting, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bisecting()
    assert bisecting.built == [BASE, ONE, TWO] and failed(first) == []
    monkeypatch.setattr(bisect, "scratch_tree", lambda *_: pytest.fail("a tree was made"))
    second = bisecting()
    assert bisecting.built == []
    assert [(finding.check, finding.subject) for finding in second] == [
        (finding.check, finding.subject) for finding in first]
    assert {finding.notes for finding in second} == {(AS_BEFORE,)} and failed(second) == []
    assert not any(finding.notes for finding in first)


@pytest.mark.parametrize(("number", "built"), [(1, [ONE, TWO]), (2, [TWO])])
def test_a_changed_patch_is_built_with_those_behind_it(bisecting: Bisecting, number: int, built: list[str]) -> None:
    bisecting()
    edit(bisecting.queue, number)
    assert failed(bisecting()) == []
    assert bisecting.built == built
    bisecting()
    assert bisecting.built == []


def test_a_changed_configuration_builds_all(bisecting: Bisecting) -> None:
    bisecting()
    (bisecting.queue.root / "configs/bisect.config").write_text("# another\n")
    bisecting()
    assert bisecting.built == [BASE, ONE, TWO]


@pytest.mark.parametrize("program", ["gcc", "ld", "make"])
def test_another_version_of_a_program_builds_all(
        bisecting: Bisecting, fake: Fake, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    bisecting()
    monkeypatch.setenv("PATH", fake(program, "echo another 99"))
    bisecting()
    assert bisecting.built == [BASE, ONE, TWO]


def test_another_base_builds_all(bisecting: Bisecting, tmp_path: Path) -> None:
    bisecting()
    bisecting.queue.kernel = write_tree(tmp_path / "other")
    (bisecting.queue.kernel / "block/other.c").write_text("int other;\n")
    bisecting()
    assert bisecting.built == [BASE, ONE, TWO]


def test_changed_code_of_the_checks_builds_all(
        bisecting: Bisecting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bisecting()
    for folder in stamps.CODE:
        shutil.copytree(folder, tmp_path / "tools" / folder.name)
    monkeypatch.setattr(stamps, "CODE", [tmp_path / "tools" / folder.name for folder in stamps.CODE])
    stamps.own_code.cache_clear()
    bisecting()
    assert bisecting.built == []  # a copy is the same
    (tmp_path / "tools/queue/bisect.py").write_text("# another\n")
    stamps.own_code.cache_clear()
    bisecting()
    assert bisecting.built == [BASE, ONE, TWO]
    stamps.own_code.cache_clear()


def test_a_patch_of_another_folder_builds_all(bisecting: Bisecting) -> None:
    """What is built at every prefix is then more."""
    bisecting()
    bisecting.queue.commit("fs: three", {"fs/three.c": "int three;\n"})
    bisecting.queue.works("export")
    bisecting()
    assert bisecting.built == [BASE, ONE, TWO, "fs: three"]


def test_a_prefix_is_not_asked_for_a_file_that_a_later_patch_adds(bisecting: Bisecting) -> None:
    bisecting.queue.commit("fs: three", {"fs/three.c": "int three;\n"})
    bisecting.queue.works("export")
    assert failed(bisecting()) == []
    assert ["fs/three.o" in targets for targets in bisecting.targets] == [False, False, False, True]


def test_a_failure_is_never_remembered(bisecting: Bisecting) -> None:
    bisecting.says = {ONE: WARNING, TWO: WARNING}
    for built in ([BASE, ONE, TWO], [ONE]):
        findings = bisecting()
        assert failed(findings) == ["0001-block-one.patch"]  # the second patch adds no warning
        assert bisecting.built == built
    bisecting.says = {}
    assert failed(bisecting()) == []


def test_what_the_base_warns_of_is_known_the_second_time(bisecting: Bisecting) -> None:
    bisecting.says = {BASE: WARNING, TWO: WARNING}
    assert failed(bisecting()) == []
    edit(bisecting.queue, 2)
    assert failed(bisecting()) == []
    assert bisecting.built == [TWO]


def test_a_base_that_does_not_build_is_not_remembered(bisecting: Bisecting, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bisecting.build

    def build(project: Project, linux: Path, targets: list[str]) -> str:
        said = whole(project, linux, targets)
        if bisecting.built[-1] == BASE:
            raise ToolError("no")
        return said

    monkeypatch.setattr(bisect, "build_prefix", build)
    for _ in range(2):
        assert failed(bisecting()) == ["linux 7.3.4"]
        assert BASE in bisecting.built


def test_again_builds_all_and_forgets_what_fails_now(bisecting: Bisecting) -> None:
    bisecting()
    bisecting.says = {TWO: WARNING}
    assert failed(bisecting()) == []
    assert failed(bisecting(again=True)) == ["0002-block-two.patch"]
    assert bisecting.built == [BASE, ONE, TWO]
    assert failed(bisecting()) == ["0002-block-two.patch"]
    assert bisecting.built == [TWO]


def test_another_checkout_takes_only_what_is_the_same(bisecting: Bisecting, tmp_path: Path) -> None:
    bisecting()
    other = tmp_path / "other-project"
    shutil.copytree(bisecting.queue.root, other, ignore=shutil.ignore_patterns("build"))
    bisecting(root=other)
    assert bisecting.built == []
    (other / "configs/queue.config").write_text("# of this checkout\n")
    bisecting(root=other)
    assert bisecting.built == [BASE, ONE, TWO]
    bisecting()
    assert bisecting.built == []


@pytest.mark.parametrize("warning", ["Warning: LINUX/block/elevator.c:7 no 'x'\n",
                                     "LINUX/block/elevator.c:7:1: warning: no 'x'\n"])
def test_a_warning_of_the_base_is_the_same_in_another_checkout(
        bisecting: Bisecting, tmp_path: Path, warning: str) -> None:
    bisecting.says = {BASE: warning, TWO: warning}
    bisecting()
    other = tmp_path / "other-project"
    shutil.copytree(bisecting.queue.root, other, ignore=shutil.ignore_patterns("build"))
    path = other / "patches/0002-block-two.patch"
    path.write_text(path.read_text().replace("The tests need", "The tests want"))
    assert failed(bisecting(root=other)) == []
    assert bisecting.built == [TWO]


def test_checks_of_the_whole_queue_have_it_built(bisecting: Bisecting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the prefixes are remembered and the last checks are not, as in a new checkout."""
    monkeypatch.setattr(bisect, "not_built", lambda *_: ["wrong"])
    bisecting()
    monkeypatch.setattr(bisect, "not_built", lambda *_: [])
    assert failed(bisecting()) == []
    assert bisecting.built == [TWO]


def test_a_stamp_that_is_damaged_is_none(bisecting: Bisecting) -> None:
    bisecting()
    for path in (bisecting.queue.cache / "passed").iterdir():
        path.write_text("{")
    bisecting()
    assert bisecting.built == [BASE, ONE, TWO]


def test_stamps_that_are_of_no_use_go(tmp_path: Path) -> None:
    kept = Stamps(Project(tmp_path, tmp_path / "build", tmp_path))
    long_ago = time.time() - stamps.KEPT_S - 60
    for name in ("used", "old"):
        kept.keep(name, True)
    for name in ("used", "old"):
        os.utime(tmp_path / "passed" / name, (long_ago, long_ago))
    assert kept.recall("used") is True
    kept.keep("new", True)
    assert sorted(path.name for path in (tmp_path / "passed").iterdir()) == ["new", "used"]


def test_parts_are_told_apart() -> None:
    assert stamps.digest("ab", "c") != stamps.digest("a", "bc") != stamps.digest("abc")


# --- verify -------------------------------------------------------------------------------


def checkpatches(queue: Queue, *args: str) -> dict[str, bool]:
    """Patches, and whether checkpatch was not run for them."""
    lines = queue.works("verify", *args).splitlines()
    return {line.split(": ")[1]: below == f"     {AS_BEFORE}"
            for line, below in zip(lines, lines[1:], strict=False) if line.startswith("ok   checkpatch")}


def test_checkpatch_runs_once_for_a_patch(two_patches: Queue) -> None:
    one, two = "0001-block-one.patch", "0002-block-two.patch"
    assert checkpatches(two_patches) == {one: False, two: False}
    assert checkpatches(two_patches) == {one: True, two: True}
    assert checkpatches(two_patches, "--again") == {one: False, two: False}
    two_patches.commit("block: three", {"block/three.c": "int three;\n"})
    two_patches.works("export")
    assert checkpatches(two_patches) == {one: True, two: True, "0003-block-three.patch": False}


def test_another_checkpatch_looks_at_all(two_patches: Queue, tmp_path: Path) -> None:
    checkpatches(two_patches)
    other = write_tree(tmp_path / "other")
    (other / "scripts/checkpatch.pl").write_text(CHECKPATCH + "# another\n")
    two_patches.kernel = other
    assert not any(checkpatches(two_patches).values())


def test_what_checkpatch_finds_it_finds_again(two_patches: Queue) -> None:
    two_patches.commit("block: three", {"block/three.c": "BADSTYLE\n"})
    two_patches.works("export")
    for _ in range(2):
        said = two_patches("verify").stdout
        assert "FAIL checkpatch: 0003-block-three.patch\n     1: WARNING:STYLE: bad style" in said


def test_an_exception_that_is_gone_excuses_nothing(two_patches: Queue) -> None:
    path = two_patches.root / "tools/dev/queue/checkpatch-exceptions"
    path.parent.mkdir(parents=True)
    path.write_text("STYLE block-one it is so\n")
    checkpatches(two_patches)
    path.unlink()
    assert checkpatches(two_patches) == {"0001-block-one.patch": False, "0002-block-two.patch": True}
