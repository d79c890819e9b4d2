# SPDX-License-Identifier: GPL-2.0
"""The table matches the sources; results of killers that detect a mutant, or do not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import BUILD, ROOT
from tools.dev.check.counting import Count
from tools.dev.mutants import cli, killers, table, trees
from tools.dev.mutants.table import PYTEST, Mutant

LINUX = BUILD / "linux"
MUTANTS = table.read()
KUNIT = ("block/cfq-iosched-test.c", "drivers/block/null_blk/rot_test.c")
ENTRY = """\
[[project]]
name = "one"
what = "a bug"
file = "file"
old = "good"
new = "bad"
killers = ["tests/test.py::test_one"]
"""


def kernel_text(name: str) -> str:
    if not LINUX.is_dir():
        pytest.skip("no kernel tree: `make tree` makes it")
    return (LINUX / name).read_text()


# --- the table ---


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_old_text_occurs_exactly_once(mutant: Mutant) -> None:
    text = kernel_text(mutant.file) if mutant.kernel else (ROOT / mutant.file).read_text()
    assert mutant.injected(text) != text


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_killers_exist(mutant: Mutant) -> None:
    for killer in mutant.killers:
        if PYTEST in killer:
            file, name = killer.split(PYTEST)
            assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text()
        else:
            suite, case = killer.split(".")
            assert any(f'.name = "{suite}"' in text and f"KUNIT_CASE({case})" in text
                       for text in map(kernel_text, KUNIT))


def test_killers_of_pytest_are_collected_together() -> None:
    """All killers are collected together, with their parameters, as they run without a mutant."""
    tests = dict.fromkeys(killer for mutant in MUTANTS for killer in mutant.killers if PYTEST in killer)
    done = subprocess.run([BUILD / "venv/bin/pytest", "-q", "-c", ROOT / "tools/pyproject.toml", "--rootdir", ROOT,
                           "--collect-only", *tests], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_table_has_mutants_of_every_part() -> None:
    files = [mutant.file for mutant in MUTANTS]
    assert len(files) >= 24
    for part in ("block/cfq-iosched", "drivers/block/null_blk/rot_model.c", "kernel/trace/blktrace.c",
                 "tools/user/bwctl/", "tools/user/blkviz/", "tools/testbed/lab/run/expect.py",
                 "tools/testbed/lab/run/stats.py", "tools/testbed/soak/invariants.py"):
        assert any(file.startswith(part) for file in files), part


@pytest.mark.parametrize(("change", "message"), [
    (("old = ", "older = "), "mutant one: required are name, what, file"),
    (('"tests/test.py::test_one"', ""), "mutant one: it has no killers"),
    (("test.py::test_one", "test.py"), "'tests/test.py' is neither FILE::TEST nor"),
    (("tests/test.py::test_one", "suite.case"), "'suite.case' is neither"),
    (("[[project]]", "[[other]]"), "unknown kind of mutant: other"),
    (("[[project]]", ENTRY + "[[project]]"), "several mutants are named one"),
    (('"bad"', '"bad'), "mutants.toml: "),
])
def test_bad_table_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "mutants.toml"
    path.write_text(ENTRY.replace(*change))
    with pytest.raises(ToolError, match=re.escape(message)) as raised:
        table.read(path)
    assert raised.value.code == EXIT_USAGE


def test_mutant_that_does_not_exist_is_refused() -> None:
    assert [mutant.name for mutant in table.choose(MUTANTS, ["bw-deadline-order"])] == ["bw-deadline-order"]
    with pytest.raises(ToolError, match="no mutant other"):
        table.choose(MUTANTS, ["other"])


@pytest.mark.parametrize("text", ["", "good and good"])
def test_text_that_does_not_occur_once_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match=f"mutant one: its old text is {text.count('good')} times in file"):
        mutant().injected(text)


# --- trees ---


def mutant(*names: str, every: bool = False) -> Mutant:
    return Mutant("one", "a bug", "file", "good", "bad", names or ("a.py::test_a",), every)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one file and two tests, and where its copy goes."""
    root = tmp_path / "project"
    (root / "tools").mkdir(parents=True)
    (root / "tools/pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = ['-p', 'no:cacheprovider']\n")
    (root / "file").write_text("good\n")
    (root / "link").symlink_to("file")
    (root / "test_file.py").write_text(
        "import pathlib, pytest\n"
        "def test_detects(): assert pathlib.Path('file').read_text() == 'good\\n'\n"
        "def test_misses(): pass\n"
        "def test_fails(): assert False\n"
        "def test_skips(): pytest.skip('never')\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    monkeypatch.setattr(trees, "ROOT", root)
    monkeypatch.setattr(trees, "OUT", tmp_path / "out")
    monkeypatch.setattr(trees, "TREE", tmp_path / "out/tree")
    return tmp_path / "out/tree"


def run(names: list[str], every: bool = False) -> cli.Result:
    mutants = [mutant(*(f"test_file.py::test_{name}" for name in names), every=every)]
    return cli.try_all(mutants)[0]


def test_mutant_is_injected_into_a_copy_and_removed_afterwards(tree: Path) -> None:
    trees.copy_project()
    assert (tree / "link").is_symlink()
    with pytest.raises(KeyboardInterrupt), trees.injected(mutant()):
        assert (tree / "file").read_text() == "bad\n"
        assert (tree.parents[1] / "project/file").read_text() == "good\n"
        raise KeyboardInterrupt
    assert (tree / "file").read_text() == "good\n"


def test_copy_is_made_equal_again(tree: Path) -> None:
    trees.copy_project()
    (tree / "file").write_text("bad\n")
    (tree / "left").write_text("")
    (tree / "build/program").write_text("")
    trees.copy_project()
    assert (tree / "file").read_text() == "good\n"
    assert not (tree / "left").exists()
    assert (tree / "build/program").exists()


def test_kernel_of_the_copy_follows_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linux = tmp_path / "linux"
    monkeypatch.setattr(trees, "LINUX", tmp_path / "out/linux")

    def commit(text: str) -> None:
        (linux / "file").write_text(text)
        subprocess.run(["git", "-C", linux, "add", "file"], check=True)
        subprocess.run(["git", "-C", linux, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", text],
                       check=True)

    subprocess.run(["git", "init", "-q", linux], check=True)
    for text in ("one", "two"):
        commit(text)
        trees.check_out_kernel(linux)
        assert (trees.LINUX / "file").read_text() == text
        (trees.LINUX / "file").write_text("a mutant of an interrupted run")
    # a new tree: the repository of the worktree does not exist any more
    (trees.LINUX / ".git").write_text("gitdir: /nowhere\n")
    trees.check_out_kernel(linux)
    assert (trees.LINUX / "file").read_text() == "two"


# --- killers, with pytest itself ---


def test_first_killer_that_detects_it_is_enough(tree: Path) -> None:
    result = run(["misses", "detects"])
    assert (result.killed_by, result.problem) == (["test_file.py::test_detects"], "")
    assert result.seconds > 0
    assert (tree / "file").read_text() == "good\n"


def test_mutant_that_no_test_detects_has_survived(tree: Path) -> None:
    result = run(["misses"])
    assert result.problem == "survived test_file.py::test_misses"
    assert "survived" in cli.show([result])


def test_with_every_one_killer_is_not_enough(tree: Path) -> None:
    result = run(["misses", "detects"], every=True)
    assert result.killed_by == ["test_file.py::test_detects"]
    assert result.problem == "survived test_file.py::test_misses"


@pytest.mark.parametrize(("name", "message"), [
    ("fails", "fails without a mutant: test_file.test_fails"),
    ("skips", "0 of 1 killers pass without a mutant, 1 skipped"),
    ("none", "pytest cannot run test_file.py::test_none"),
])
def test_killer_that_proves_nothing_is_refused(tree: Path, name: str, message: str) -> None:
    with pytest.raises(ToolError, match=re.escape(message)):
        run([name])


def test_text_that_is_gone_ends_the_run_before_anything_is_run(tree: Path) -> None:
    (tree.parents[1] / "project/file").write_text("other\n")
    with pytest.raises(ToolError, match="mutant one: its old text is 0 times in file"):
        run(["detects"])


def test_killer_that_does_not_end_has_detected_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees.copy_project()
    monkeypatch.setattr(killers, "LIMIT_S", 0.01)
    assert killers.run(["test_file.py::test_misses"], trees.OUT / "log").failures == ["timeout"]


# --- the command ---


def test_kernel_that_does_not_build_is_a_problem_and_the_rest_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "out/linux").mkdir(parents=True)
    (tmp_path / "out/tree").mkdir()
    for name in ("linux", "tree"):
        (tmp_path / "out" / name / "file").write_text("good")
        monkeypatch.setattr(trees, name.upper(), tmp_path / "out" / name)
    monkeypatch.setattr(trees, "OUT", tmp_path / "out")
    two = [Mutant("kernel", "", "file", "good", "bad", ("s.c",), kernel="um-kunit"), mutant()]
    monkeypatch.setattr(table, "read", lambda: two)
    monkeypatch.setattr(cli, "prepare", lambda _mutants: None)
    monkeypatch.setattr(killers, "check_without_mutant", lambda _mutants, _log: None)
    monkeypatch.setattr(killers, "run", lambda _killers, _log: Count(failures=["detected"]))

    def build(_flavour: str) -> None:
        raise ToolError("build uml: error: no")

    monkeypatch.setattr(trees, "build_kernel", build)
    assert cli.main([]) == 1
    output = capsys.readouterr().out
    assert re.search(r"kernel +file +build uml: error: no", output)
    assert re.search(r"one +file +a.py::test_a", output)
    assert cli.main(["--only", "one", "--json"]) == 0
    assert '"killed_by"' in capsys.readouterr().out


def test_list_names_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--list"]) == 0
    assert all(mutant.name in capsys.readouterr().out for mutant in MUTANTS[:1])
    assert cli.main(["--only", "other"]) == EXIT_USAGE
