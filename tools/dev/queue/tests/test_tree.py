# SPDX-License-Identifier: GPL-2.0
"""make tree and make export are inverse to each other, and lose no work."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.base.code_id import COVERED, DISK_MODEL, SCHEDULING, code_id, of_patches
from tools.dev.queue import tree as tree_module
from tools.dev.queue import verify
from tools.dev.queue.common import Project
from tools.dev.queue.tests.trial import CHECKPATCH, Queue


def patches_of(queue: Queue) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (queue.root / "patches").iterdir()}


def test_tree_is_the_base_and_one_commit_a_patch(two_patches: Queue) -> None:
    shutil.rmtree(two_patches.root / "build")
    two_patches.works("tree")
    assert two_patches.git("log", "--format=%s", "base..HEAD").splitlines() == [
        "block: two", "block: one"]
    assert two_patches.git("rev-list", "--count", "base") == "1"


def test_the_same_patches_make_the_same_commits(two_patches: Queue) -> None:
    heads = set()
    for _ in range(2):
        shutil.rmtree(two_patches.root / "build")
        two_patches.works("tree")
        heads.add(two_patches.git("rev-parse", "HEAD"))
    assert len(heads) == 1


def test_export_of_a_made_tree_changes_nothing(two_patches: Queue) -> None:
    before = patches_of(two_patches)
    shutil.rmtree(two_patches.root / "build")
    two_patches.works("tree")
    assert "none changed" in two_patches.works("export")
    assert patches_of(two_patches) == before


def test_user_git_configuration_does_not_change_the_export(
        two_patches: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = patches_of(two_patches)
    config = tmp_path / "gitconfig"
    config.write_text("[format]\n\tsignature = me\n\tthread = true\n\tnumbered = true\n"
                      "[diff]\n\tnoprefix = true\n\tcontext = 7\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    two_patches.works("export")
    assert patches_of(two_patches) == before


def test_export_mirrors_what_the_queue_adds_and_nothing_that_it_changes(two_patches: Queue) -> None:
    root = two_patches.root
    notice = "Written by `make export` from the patches; do not edit."
    assert (root / "Documentation/block/cfq.rst").read_text() == f".. {notice}\nText\n"
    assert not (root / "selftests").exists()
    assert (root / "MAINTAINERS-snippet").read_text() == f"# {notice}\nCFQ\nM:\tC <c@example.org>\nF:\tblock/cfq*\n"
    assert not (root / "MAINTAINERS").exists()


def test_export_of_a_document_without_a_known_comment_is_refused(two_patches: Queue) -> None:
    two_patches.commit("block: three", {"Documentation/block/three.svg": "<svg/>\n"})
    assert "Documentation/block/three.svg: how is a comment written in such a file?" in two_patches.fails("export")


def test_export_removes_patches_and_mirrors_that_are_gone(two_patches: Queue) -> None:
    subprocess.run("git add -A && git -c user.name=x -c user.email=x commit -qm x", shell=True,
                   cwd=two_patches.root, check=True)
    two_patches.git("reset", "-q", "--hard", "HEAD~")
    two_patches.works("export")
    assert list(patches_of(two_patches)) == ["0001-block-one.patch"]
    assert not (two_patches.root / "Documentation/block/cfq.rst").exists()
    assert not (two_patches.root / "MAINTAINERS-snippet").exists()


def test_export_keeps_the_cover_letters(two_patches: Queue) -> None:
    letter = two_patches.root / "patches/cover/fixes.txt"
    letter.parent.mkdir()
    letter.write_text("Dear all\n")
    two_patches.works("export")
    assert letter.read_text() == "Dear all\n"


def test_export_does_not_delete_a_file_that_only_the_checkout_has(two_patches: Queue) -> None:
    stray = two_patches.root / "Documentation/block/new.rst"
    stray.write_text("precious\n")
    assert "Documentation/block/new.rst is not in build/linux" in two_patches.fails("export")
    assert stray.read_text() == "precious\n"


@pytest.mark.parametrize(("spoil", "told"), [
    ("echo x >> block/elevator.c", "has uncommitted changes (block/elevator.c)"),
    ("echo x > new.c", "has uncommitted changes (new.c)"),
    ("git checkout -q --orphan other && git commit -qm other", "is not based on `base`"),
    ("git commit -q --allow-empty -m 'fixup! block: two'", "has a fixup that is not squashed"),
    ("git checkout -qb side base && git commit -q --allow-empty -m side && "
     "git checkout -q queue && git merge -q --no-edit side", "has a merge"),
])
def test_export_refuses_a_tree_that_is_no_queue(two_patches: Queue, spoil: str, told: str) -> None:
    two_patches.git("config", "user.name", "x")
    two_patches.git("config", "user.email", "x@example.org")
    before = patches_of(two_patches)
    subprocess.run(spoil, shell=True, cwd=two_patches.linux, check=True, capture_output=True)
    assert told in two_patches.fails("export")
    assert patches_of(two_patches) == before


def edit_second_patch(queue: Queue) -> None:
    path = queue.root / "patches/0002-block-two.patch"
    path.write_text(path.read_text().replace("+int thirty;", "+int dozen;"))


def test_tree_applies_only_what_changed(two_patches: Queue) -> None:
    first = two_patches.git("rev-parse", "HEAD~")
    edit_second_patch(two_patches)
    assert "2 patches, 1 of them applied again" in two_patches.works("tree")
    assert two_patches.git("rev-parse", "HEAD~") == first
    assert "int dozen;" in (two_patches.linux / "block/elevator.c").read_text()


def test_tree_does_nothing_when_nothing_changed(two_patches: Queue) -> None:
    file = two_patches.linux / "block/elevator.c"
    before = file.stat().st_mtime_ns
    two_patches.works("tree")
    assert file.stat().st_mtime_ns == before


def test_tree_never_overwrites_uncommitted_work(two_patches: Queue) -> None:
    edit_second_patch(two_patches)
    file = two_patches.linux / "block/elevator.c"
    file.write_text("work\n")
    assert "has uncommitted changes and patches/ has changed" in two_patches.fails("tree")
    assert file.read_text() == "work\n"


def test_tree_never_drops_commits_that_are_not_exported(two_patches: Queue) -> None:
    two_patches.commit("block: three", {"block/three.c": "int three;\n"})
    edit_second_patch(two_patches)
    assert "has commits that are not exported" in two_patches.fails("tree")
    assert (two_patches.linux / "block/three.c").exists()


def test_tree_leaves_unexported_commits_alone_while_patches_are_the_same(
        two_patches: Queue) -> None:
    two_patches.commit("block: three", {"block/three.c": "int three;\n"})
    assert "has commits that are not exported yet" in two_patches.works("tree")
    assert (two_patches.linux / "block/three.c").exists()


def test_a_foreign_tree_is_left_alone(queue: Queue) -> None:
    queue.linux.mkdir(parents=True)
    (queue.linux / "mine").write_text("mine\n")
    assert "was not made by `make tree`" in queue.fails("tree")
    assert (queue.linux / "mine").read_text() == "mine\n"


def test_a_patch_that_does_not_apply_is_named_with_file_and_hunk(two_patches: Queue) -> None:
    path = two_patches.root / "patches/0002-block-two.patch"
    path.write_text(path.read_text().replace("-int line30;", "-int line31;"))
    head = two_patches.git("rev-parse", "HEAD")
    line = two_patches.fails("tree")
    assert re.search(r"patches/0002-block-two.patch does not apply: block/elevator.c, "
                     r"the hunk at line \d+ \(hunk #1 of 1\)$", line), line
    assert two_patches.git("rev-parse", "HEAD") == head
    assert two_patches.git("status", "--porcelain") == ""


def test_a_truncated_patch_is_named(two_patches: Queue) -> None:
    path = two_patches.root / "patches/0002-block-two.patch"
    text = path.read_text()
    path.write_text(text[:text.index("+int thirty;")])
    assert "patches/0002-block-two.patch" in two_patches.fails("tree")


def test_a_series_with_a_missing_patch_is_told(queue: Queue) -> None:
    (queue.root / "series").write_text("0001-none.patch\n")
    assert "series names 0001-none.patch, but" in queue.fails("tree")


def test_an_update_that_was_killed_is_repaired(two_patches: Queue) -> None:
    head = two_patches.git("rev-parse", "HEAD")
    state = tree_module.State.load(two_patches.linux)
    assert state
    state.updating_from = head
    state.save(two_patches.linux)
    two_patches.git("reset", "-q", "--hard", "base")
    (two_patches.linux / ".git/index.lock").touch()
    two_patches.works("tree")
    assert two_patches.git("rev-parse", "HEAD") == head


def test_a_first_tree_that_was_killed_is_made_again(two_patches: Queue) -> None:
    two_patches.linux.rename(two_patches.linux.with_name("linux.new"))
    (two_patches.root / "build/linux.new/Makefile").write_text("half")
    two_patches.works("tree")
    assert (two_patches.linux / "Makefile").read_text().startswith("VERSION")
    assert not (two_patches.root / "build/linux.new").exists()


def test_another_base_is_taken_by_a_clean_tree(two_patches: Queue, tmp_path: Path) -> None:
    other = tmp_path / "linux-7.3.5"
    shutil.copytree(tmp_path / "linux-7.3.4", other)
    makefile = other / "Makefile"
    makefile.write_text(makefile.read_text().replace("SUBLEVEL = 4", "SUBLEVEL = 5"))
    assert "new base, linux 7.3.5" in two_patches.works("tree", kernel=other)
    assert two_patches.git("log", "--format=%s").splitlines()[-1] == "linux 7.3.5: pristine source"


def test_the_source_of_a_tree_is_remembered(two_patches: Queue) -> None:
    shutil.rmtree(two_patches.root / "build")
    two_patches.works("tree")
    assert two_patches.works("tree", kernel=None) == ""


def test_clean_refuses_to_lose_work(two_patches: Queue) -> None:
    (two_patches.linux / "new.c").write_text("work\n")
    assert "has uncommitted changes" in two_patches.fails("clean")
    two_patches.works("clean", "--force")
    assert not (two_patches.root / "build").exists()


# --- verify --------------------------------------------------------------------------


def failed(queue: Queue) -> list[str]:
    done = queue("verify")
    lines = done.stdout.splitlines()
    assert (done.returncode == 0) == (not any(line.startswith("FAIL") for line in lines)), \
        done.stdout + done.stderr
    found, take = [], False
    for line in lines[:-1]:
        take = line.startswith("FAIL") or (take and line.startswith("     "))
        if take:
            found.append(line)
    return found


def test_verify_passes_what_export_wrote(two_patches: Queue) -> None:
    assert failed(two_patches) == []


def test_verify_sees_a_patch_that_series_does_not_name(two_patches: Queue) -> None:
    (two_patches.root / "patches/0003-x.patch").write_text("x\n")
    assert "     patches/0003-x.patch is not in series" in failed(two_patches)


def test_verify_sees_another_order_than_that_of_the_names(two_patches: Queue) -> None:
    series = two_patches.root / "series"
    lines = series.read_text().splitlines()
    series.write_text("\n".join([lines[2], lines[1]]) + "\n")
    assert any("series is not sorted by name" in line for line in failed(two_patches))


@pytest.mark.parametrize("name", ["Documentation/block/cfq.rst", "MAINTAINERS-snippet"])
def test_verify_sees_an_edited_mirror(two_patches: Queue, name: str) -> None:
    (two_patches.root / name).write_text("edited\n")
    assert f"     {name}: differs from the tree" in failed(two_patches)


def test_verify_sees_a_mode_that_differs(two_patches: Queue) -> None:
    (two_patches.root / "Documentation/block/cfq.rst").chmod(0o755)
    assert any("its mode differs" in line for line in failed(two_patches))


def test_verify_sees_an_edited_patch(two_patches: Queue) -> None:
    path = two_patches.root / "patches/0001-block-one.patch"
    path.write_text(path.read_text() + "-- \n2.39\n")
    assert any("make export writes it differently" in line for line in failed(two_patches))


def test_verify_sees_a_patch_that_needs_fuzz(two_patches: Queue) -> None:
    path = two_patches.root / "patches/0002-block-two.patch"
    path.write_text(path.read_text().replace(" int line27;", " int moved;"))
    assert any("does not apply: block/elevator.c" in line for line in failed(two_patches))


def test_verify_runs_checkpatch_on_each_patch(two_patches: Queue) -> None:
    assert "BADSTYLE" in CHECKPATCH
    two_patches.commit("block: three", {"block/three.c": "BADSTYLE\n"})
    two_patches.works("export")
    assert failed(two_patches) == ["FAIL checkpatch: 0003-block-three.patch",
                                   "     1: WARNING:STYLE: bad style"]


@pytest.mark.parametrize(("subject", "body", "sign", "told"), [
    ("block: three", "Short.", True, "gives no reason"),
    ("block: three", "", False, "no Signed-off-by"),
    ("no subsystem", "", True, "does not begin with 'subsystem: '"),
])
def test_verify_reads_the_message(
        two_patches: Queue, subject: str, body: str, sign: bool, told: str) -> None:
    two_patches.commit(subject, {"block/three.c": "int three;\n"}, body, sign)
    two_patches.works("export")
    assert any(told in line for line in failed(two_patches))


@pytest.mark.parametrize(("lines", "told"), [(900, []), (901, ["901 lines of code; at most 900: split the patch"])])
def test_verify_counts_the_lines_of_code(two_patches: Queue, lines: int, told: list[str]) -> None:
    files = {name: "int three;\n" * 2000 for name in (
        "Documentation/block/three.rst", "tools/testing/selftests/three.c", "block/three-test.c")}
    two_patches.commit("block: three", {"block/three.c": "++three;\n" * lines, **files})
    two_patches.works("export")
    assert [line for line in failed(two_patches) if "lines of code" in line] == [f"     {line}" for line in told]


def test_verify_sees_an_author_who_did_not_sign(two_patches: Queue) -> None:
    two_patches.commit("block: three", {"block/three.c": "int three;\n"})
    two_patches.git("commit", "-q", "--amend", "--no-edit", "--author=O Ther <o@example.org>")
    two_patches.works("export")
    assert any("O Ther <o@example.org> is not among" in line for line in failed(two_patches))


def page_of(queue: Queue, name: str, *folders: str) -> Path:
    """A page of results of the code that the patches leave now."""
    path = queue.root / f"Documentation/queue/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# Results\n\n{of_patches(code_id(queue.root, folders), *folders)}\n")
    return path


def stale(queue: Queue) -> list[str]:
    """The notes of verify that name a stale page; verify itself passes."""
    assert failed(queue) == []
    code_id.cache_clear()
    here = Project(queue.root, queue.root, queue.root)
    return [problem for one in verify.page_findings(here) for problem in one.problems]


@pytest.mark.parametrize(("page", "folders", "command"), [("evaluation", SCHEDULING, "make evaluation"),
                                                          ("coverage", COVERED, "make coverage"),
                                                          ("disk-validation", DISK_MODEL, "disk validate")])
def test_a_page_is_stale_when_code_changes_that_it_depends_on(
        two_patches: Queue, page: str, folders: tuple[str, ...], command: str) -> None:
    page_of(two_patches, page, *folders)
    assert stale(two_patches) == []
    two_patches.commit("selftests: three", {"tools/testing/selftests/cfq/three.c": "int three;\n"})
    two_patches.commit("fs: four", {"fs/four.c": "int four;\n"})
    two_patches.commit("null_blk: five", {f"{DISK_MODEL[0]}five.c": "/* five */\n\n"})
    two_patches.works("export")
    assert stale(two_patches) == []
    two_patches.commit("null_blk: six", {f"{DISK_MODEL[0]}five.c": "/* five */\nint five;\n"})
    two_patches.works("export")
    (found,) = stale(two_patches)
    assert found.startswith("out of date, 'Of ") and command in found
    assert f"out of date, 'Of {folders[0].rstrip('/')}" in two_patches.works("verify")


def test_verify_sees_branches_that_nothing_takes_for_no_reason(two_patches: Queue) -> None:
    path = page_of(two_patches, "coverage", *COVERED)
    row = "| cfq_x | `if (x)` | 1 of 2 | **no reason** |\n"
    path.write_text(f"{path.read_text()}\n{row}{row}")
    (found,) = stale(two_patches)
    assert found.startswith("2 rows have '**no reason**'") and "make coverage" in found


def test_verify_sees_an_option_that_no_patch_adds(two_patches: Queue) -> None:
    (two_patches.root / "configs/queue.config").write_text("CONFIG_NOT_THERE=y\n")
    assert "     CONFIG_NOT_THERE: no patch of the queue adds it" in failed(two_patches)
