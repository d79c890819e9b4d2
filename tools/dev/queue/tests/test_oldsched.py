# SPDX-License-Identifier: GPL-2.0
"""patches/oldsched: exported from a branch based on the queue, checked on top of it, and not part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.code_id import OLDSCHED, SCHEDULING, code_id, of_patches
from tools.dev.queue import oldsched
from tools.dev.queue.common import Project
from tools.dev.queue.findings import Finding
from tools.dev.queue.scratch import applied, scratch_tree
from tools.dev.queue.source import fetch
from tools.dev.queue.stamps import Stamps
from tools.dev.queue.tests.trial import Queue
from tools.dev.queue.tree import queue_patches

NEW = {"block/new.c": "int new;\n", "block/Makefile": "obj-y += new.o\n"}


@pytest.fixture
def on_a_branch(two_patches: Queue) -> Queue:
    """A queue of two patches, and one on branch `oldsched`."""
    two_patches.git("checkout", "-q", "-b", "oldsched")
    two_patches.commit("block: three", NEW)
    two_patches.git("checkout", "-q", "queue")
    return two_patches


def folder(queue: Queue) -> Path:
    return queue.root / "patches/oldsched"


def project(queue: Queue) -> Project:
    return Project(queue.root, queue.root / "build", queue.cache)


def findings(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What verify has of patches/oldsched, but for the build: there is no kernel."""
    for name in ("base", "um", "oldsched", "oldsched-kunit"):
        (queue.root / f"configs/{name}.config").write_text("")
    monkeypatch.setattr(oldsched, "build_problems", lambda *_: [])
    here = project(queue)
    base = fetch(here, str(queue.kernel))
    linux = scratch_tree(here, base)
    applied(here, linux, base, queue_patches(here))
    return oldsched.oldsched_findings(here, linux, base, Stamps(here, False))


def test_export_writes_the_branch(on_a_branch: Queue) -> None:
    series = (on_a_branch.root / "series").read_text()
    assert "patches/oldsched: 1 patches, 1 of them changed" in on_a_branch.works("export")
    assert [path.name for path in folder(on_a_branch).iterdir()] == ["0001-block-three.patch"]
    assert (on_a_branch.root / "series").read_text() == series
    assert "patches/oldsched: 1 patches, none changed" in on_a_branch.works("export")


def test_a_patch_that_is_gone_from_the_branch_goes(on_a_branch: Queue) -> None:
    folder(on_a_branch).mkdir()
    (folder(on_a_branch) / "0009-old.patch").write_text("")
    on_a_branch.works("export")
    assert [path.name for path in folder(on_a_branch).iterdir()] == ["0001-block-three.patch"]


def test_without_a_branch_nothing_is_written(two_patches: Queue) -> None:
    assert "oldsched" not in two_patches.works("export")
    assert not folder(two_patches).exists()


def test_a_branch_on_another_head_is_left(on_a_branch: Queue) -> None:
    on_a_branch.works("export")
    before = (folder(on_a_branch) / "0001-block-three.patch").read_bytes()
    on_a_branch.commit("block: four", {"block/four.c": "int four;\n"})
    assert "patches/oldsched: not changed" in on_a_branch.works("export")
    assert (folder(on_a_branch) / "0001-block-three.patch").read_bytes() == before


def test_a_fixup_on_the_branch_is_refused(on_a_branch: Queue) -> None:
    on_a_branch.git("checkout", "-q", "oldsched")
    on_a_branch.commit("fixup! block: three", {"block/new.c": "int newer;\n"})
    on_a_branch.git("checkout", "-q", "queue")
    assert "branch oldsched has a fixup that is not squashed" in on_a_branch.fails("export")


def test_verify_looks_at_them_on_top_of_the_queue(on_a_branch: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_branch.works("export")
    found = findings(on_a_branch, monkeypatch)
    assert [finding for finding in found if not finding.ok] == []
    checks = {"message", "lines", "git am", "export", "checkpatch", "builds"}
    assert checks == {finding.check for finding in found}


def test_verify_says_which_does_not_apply(on_a_branch: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_branch.works("export")
    patch = folder(on_a_branch) / "0001-block-three.patch"
    patch.write_text(patch.read_text().replace("block/new.c", "block/elevator.c"))  # which is there
    failed = [finding for finding in findings(on_a_branch, monkeypatch) if not finding.ok]
    assert [finding.check for finding in failed] == ["git am"]
    assert "patches/oldsched/0001-block-three.patch does not apply" in failed[0].problems[0]


def test_verify_sees_a_patch_that_export_would_write_differently(
        on_a_branch: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_branch.works("export")
    patch = folder(on_a_branch) / "0001-block-three.patch"
    patch.rename(folder(on_a_branch) / "0001-block-third.patch")
    failed = [finding for finding in findings(on_a_branch, monkeypatch) if not finding.ok]
    assert [finding.check for finding in failed] == ["export"]


def test_a_page_of_other_patches_is_found(on_a_branch: Queue) -> None:
    on_a_branch.works("export")
    own = of_patches(code_id(on_a_branch.root, series=OLDSCHED), OLDSCHED)
    queues = of_patches(code_id(on_a_branch.root, SCHEDULING), *SCHEDULING)
    here = Project(on_a_branch.root, on_a_branch.root, on_a_branch.root)
    for name in oldsched.PAGES:
        page = on_a_branch.root / name
        page.parent.mkdir(parents=True, exist_ok=True)
        for text, wrong in (("Of patches/oldsched of the patches 0.", 2), (own, 1), (queues, 1),
                            (f"{own}\n{queues}", 0)):
            page.write_text(f"{text}\n")
            failed = [one for one in oldsched.page_findings(here) if not one.ok]
            assert sum(len(finding.problems) for finding in failed) == wrong
            assert {finding.subject for finding in failed} == ({f"{name}, {OLDSCHED}"} if wrong else set())


def test_a_queue_without_them_has_no_findings(two_patches: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(two_patches, monkeypatch) == []


def test_building_without_them_is_one_line(two_patches: Queue) -> None:
    assert "patches/oldsched has no patches" in two_patches.fails("uml", "--flavour", "um-oldsched")
