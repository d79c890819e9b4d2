# SPDX-License-Identifier: GPL-2.0
"""The identifier of the code that the patches leave: it changes with the code, and only then."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.base.code_id import DISK_MODEL, END, OLDSCHED, code_id, joined, left_by, of_patches
from tools.base.csource import stripped
from tools.base.paths import ROOT

BASE = "".join(f"line {n}\n" for n in range(1, 41))
OLD = BASE.splitlines()
Step = Mapping[str, str | None]
WHO = {**os.environ, "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x",
       "GIT_COMMITTER_EMAIL": "x", "GIT_CONFIG_GLOBAL": os.devnull}


def patches(folder: Path, *steps: Step) -> list[str]:
    """What git format-patch writes of steps that give files another text, or remove them."""
    def git(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=folder, env=WHO, check=True, text=True, capture_output=True).stdout

    folder.mkdir()
    git("init", "-q")
    base: Step = {"block/old.c": BASE, "block/other.c": "int other;\n"}
    for number, step in enumerate([base, *steps]):
        for name, text in step.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", f"step {number}")
    return [Path(folder / name).read_text() for name in git("format-patch", f"HEAD~{len(steps)}").split()]


def project(folder: Path, texts: list[str]) -> Path:
    (folder / "patches").mkdir(parents=True)
    (folder / "series").write_text("# order\n" + "".join(f"{n}.patch\n" for n in range(len(texts))))
    for number, text in enumerate(texts):
        (folder / f"patches/{number}.patch").write_text(text)
    return folder


def of(tmp_path: Path, *steps: Step) -> str:
    """The name of the code that steps leave."""
    number = len(list(tmp_path.iterdir()))
    return code_id(project(tmp_path / f"project{number}", patches(tmp_path / f"tree{number}", *steps)))


def with_lines(changes: dict[int, str]) -> str:
    return "".join(changes.get(n, f"line {n}\n") for n in range(1, 41))


ONE = with_lines({5: "five\nand more\n", 20: ""})
BOTH = with_lines({5: "five\nand more\n", 20: "", 30: "thirty\n", 40: "line 40\nthe end\n"})


def test_a_changed_file_is_what_stays_of_it_and_what_is_added(tmp_path: Path) -> None:
    files = left_by(patches(tmp_path / "tree", {"block/old.c": ONE}, {"block/old.c": BOTH}))
    assert joined(files["block/old.c"]) == [(1, 5), "five", "and more", (6, 20), (21, 30), "thirty", (31, 41),
                                            "the end", (41, END)]


def test_a_file_that_is_made_is_known_whole(tmp_path: Path) -> None:
    files = left_by(patches(tmp_path / "tree", {"block/new.c": ONE}, {"block/new.c": BOTH}))
    assert files == {"block/new.c": BOTH.splitlines()}


def test_the_same_code_has_one_name_however_it_is_cut(tmp_path: Path) -> None:
    new = {"block/new.h": "int new;\n"}
    whole = of(tmp_path, {"block/old.c": BOTH, **new})
    assert whole == of(tmp_path, {"block/old.c": ONE}, {"block/old.c": BOTH}, new)
    assert whole == of(tmp_path, new, {"block/old.c": ONE + "x\n"}, {"block/old.c": BOTH})


@pytest.mark.parametrize("change", [
    {"block/old.c": with_lines({5: "five\nand less\n"})}, {"block/old.c": with_lines({6: "five\nand more\n"})},
    {"include/linux/new.h": "int x;\n"}, {"block/other.c": None}])
def test_other_code_has_another_name(tmp_path: Path, change: Step) -> None:
    before: Step = {"block/old.c": with_lines({5: "five\nand more\n"})}
    assert of(tmp_path, before) != of(tmp_path, before, change)


def test_a_line_that_moves_makes_another_name(tmp_path: Path) -> None:
    assert of(tmp_path, {"block/old.c": with_lines({5: "x\n"})}) != of(
        tmp_path, {"block/old.c": with_lines({6: "x\n"})})


@pytest.mark.parametrize("name", ["Documentation/x.c", "tools/testing/selftests/cfq/cfq_aio.c", "block/Kconfig",
                                  "block/cfq-iosched-test.c", "drivers/block/null_blk/rot_test.c"])
def test_documents_and_tests_are_no_code(tmp_path: Path, name: str) -> None:
    step: Step = {"block/old.c": ONE}
    assert of(tmp_path, step) == of(tmp_path, step, {name: "int x;\n"})


def test_files_of_the_queue_are_those_that_git_makes(tmp_path: Path) -> None:
    name = "block/cfq-iosched.c"
    texts = [path.read_text(errors="replace") for path in sorted((ROOT / "patches").glob("*.patch"))]
    for path in sorted((ROOT / "patches").glob("*.patch")):
        subprocess.run(["git", "apply", f"--include={name}", path], cwd=tmp_path, check=True,
                       env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert left_by(texts)[name] == (tmp_path / name).read_text().splitlines()


def test_code_of_a_folder_has_another_name_only_when_a_file_there_changes(tmp_path: Path) -> None:
    model: Step = {"drivers/block/null_blk/new.c": ONE}

    def of_model(name: str, *steps: Step) -> str:
        return code_id(project(tmp_path / name, patches(tmp_path / f"tree-{name}", *steps)), DISK_MODEL)

    assert of_model("a", model) == of_model("b", model, {"block/old.c": ONE}) != of_model("c", {"block/old.c": ONE})


CODE = """\
/* SPDX-License-Identifier: GPL-2.0 */
int one(void)
{
	return 1;	// one
}

/*
 * What two returns.
 */
int two(void) { return text("/* no comment */", '"', "//"); }
"""


@pytest.mark.parametrize("change", [
    ("// one", "// another"), ("\t// one", ""), ("What two", "This is what two"), (" * What two returns.\n", ""),
    ("}\n\n", "}\n\n\n"), ("/*\n * What two returns.\n */\n", ""), ("return 1;", "return 1;  ")])
@pytest.mark.parametrize("name", ["block/old.c", "block/new.c"])
def test_comments_and_blank_lines_do_not_count(tmp_path: Path, change: tuple[str, str], name: str) -> None:
    def text(code: str) -> str:
        return with_lines({10: code}) if name == "block/old.c" else code

    before = of(tmp_path, {name: text(CODE)})
    assert before == of(tmp_path, {name: text(CODE.replace(*change))})
    assert before == of(tmp_path, {name: text(CODE)}, {name: text(CODE.replace(*change))})


@pytest.mark.parametrize("change", [
    ("return 1;", "return 2;"), ("/* no comment */", "/* other */"), ("'\"'", "'x'"), ('"//"', '"// "')])
@pytest.mark.parametrize("name", ["block/old.c", "block/new.c"])
def test_what_the_compiler_sees_counts(tmp_path: Path, change: tuple[str, str], name: str) -> None:
    def text(code: str) -> str:
        return with_lines({10: code}) if name == "block/old.c" else code

    assert of(tmp_path, {name: text(CODE)}) != of(tmp_path, {name: text(CODE.replace(*change))})


@pytest.mark.parametrize("text", [" * more words\n * and more\n */\nint x;", "words */\nint x;", " * words\nint x;"])
def test_a_fragment_may_begin_inside_a_comment(text: str) -> None:
    assert stripped(text, fragment=True) == ["int x;"]
    assert stripped("int *p = a\n  * b;", fragment=True) == ["int *p = a", "  * b;"]


def test_the_line_of_a_page() -> None:
    assert of_patches("0123456789ab") == "Of the patches 0123456789ab."
    assert of_patches("0123456789ab", *DISK_MODEL) == "Of drivers/block/null_blk of the patches 0123456789ab."
    assert of_patches("0123456789ab", "block/", "include/") == "Of block, include of the patches 0123456789ab."


def test_a_folder_of_patches_has_a_name_of_its_own(tmp_path: Path) -> None:
    assert code_id(ROOT, series="no/such/folder") == code_id(ROOT, series="nor/this")
    (tmp_path / "series").write_text("")
    (tmp_path / "patches/oldsched").mkdir(parents=True)
    before = code_id(tmp_path, series=OLDSCHED)
    new = "diff --git a/block/x.c b/block/x.c\n--- /dev/null\n+++ b/block/x.c\n@@ -0,0 +1 @@\n+int x;\n"
    (tmp_path / "patches/oldsched/0001-x.patch").write_text(new)
    code_id.cache_clear()
    assert code_id(tmp_path, series=OLDSCHED) != before
    assert code_id(tmp_path) == code_id(tmp_path, series="none")
