# SPDX-License-Identifier: GPL-2.0
"""What tools/dev/coverage makes of counts, without a kernel."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from tools.base.cli import ToolError
from tools.base.code_id import COVERED, code_id, of_patches
from tools.base.paths import ROOT
from tools.dev.coverage import cli

TOOL = Path(__file__).resolve().parents[1] / "coverage"
CFQ = "block/cfq-iosched.c"
SOURCE = """int one(int a)
{
	if (a)
		return 1;
	return 0;
}
"""


@pytest.fixture
def coverage() -> ModuleType:
    return cli


@pytest.fixture
def tool(coverage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool on a tree of one file, with counts of each part."""
    (tmp_path / CFQ).parent.mkdir(parents=True)
    (tmp_path / CFQ).write_text(SOURCE)
    out = tmp_path / "out"
    out.mkdir()
    for name in coverage.PARTS:
        (out / f"{name}.json").write_text("{}")
    monkeypatch.setattr(coverage, "LINUX", tmp_path)
    monkeypatch.setattr(coverage, "OUT", out)
    monkeypatch.setattr(coverage, "PAGE", tmp_path / "coverage.md")
    monkeypatch.setattr(coverage, "added_lines", lambda: {CFQ: set(range(1, 7))})
    monkeypatch.setattr(coverage, "merge", lambda _traces, result: result.write_text(
        json.dumps(trace([entry(3, 5, [5, 0]), entry(4, 5), entry(5, 0)]))))
    return coverage


def entry(number: int, count: int, branches: list[int] | None = None) -> dict[str, object]:
    return {"line_number": number, "function_name": "one", "count": count,
            "branches": [{"count": n} for n in branches or []]}


def trace(lines: list[dict[str, object]], file: str = CFQ) -> dict[str, object]:
    return {"files": [{"file": file, "lines": lines}]}


def reasons(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "reasons.toml"
    path.write_text(f'[[branch]]\nfile = "{CFQ}"\nfunction = "one"\nlines = {list(lines)}\n'
                    'reason = """\nnobody\ncan"""\n')
    return path


def test_warning_of_the_kernel_during_kunit_is_reported(
        tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    build = tool.OUT / "uml"
    build.mkdir()
    part = dataclasses.replace(tool.PARTS["kunit"], build=build, console=build / "test.log")
    monkeypatch.setattr(tool, "UML", build)
    monkeypatch.setitem(tool.PARTS, "kunit", part)
    monkeypatch.setattr(tool, "run_tests", lambda *_args: 0)
    monkeypatch.setattr(tool, "read_counts", lambda _build, _folder, trace: trace)
    for line, reported in (("all is well", False), ("WARNING: possible circular locking", True)):
        (build / "test.log").write_text(f"[    1.000000] {line}\n")
        tool.run_part("kunit")
        assert (f"the kernel reports: [    1.000000] {line}" in capsys.readouterr().err) == reported


def test_lines_that_the_queue_does_not_add_are_left_out(tool: ModuleType, tmp_path: Path) -> None:
    lines = tool.read_lines(trace([entry(3, 5, [5, 0]), entry(4, 5)]), tmp_path, {CFQ: {4}})
    assert [(line.number, line.text) for line in lines] == [(4, "return 1;")]


def test_a_branch_that_one_copy_of_a_function_takes_is_taken(tool: ModuleType, tmp_path: Path) -> None:
    copies = trace([entry(3, 5, [5, 0]), entry(3, 2, [0, 2, 0])])
    (line,) = tool.read_lines(copies, tmp_path, {CFQ: {3}})
    assert (line.count, line.branches, line.missed) == (7, [5, 2, 0], 1)


def test_a_line_is_of_the_function_above_it(tool: ModuleType) -> None:
    text = ["static const int x[] = {", "};", "struct a *first(void)", "{", "\tcall(1);", "}",
            "static bool __maybe", "\tsecond(int a,", "\t       int b)", "{", "\tif (a)"]
    assert [tool.function_at(text, n) for n in (1, 5)] == ["", "first"]
    text[6:8] = ["static bool second(int a,"]
    assert tool.function_at(text, len(text)) == "second"
    text += ["}", "EXPORT_SYMBOL_GPL(second);", "static noinline struct a *", "third(int a)", "{", "\tif (a)"]
    assert tool.function_at(text, len(text)) == "third"
    assert tool.function_at(text, len(text) - 4) == "second"


def test_figures_count_lines_and_branches(tool: ModuleType, tmp_path: Path) -> None:
    lines = list(tool.read_lines(trace([entry(3, 5, [5, 0]), entry(4, 5), entry(5, 0)]), tmp_path,
                                 {CFQ: set(range(9))}))
    assert tool.figures(lines) == {
        CFQ: {"lines": 3, "lines_run": 2, "branches": 2, "branches_taken": 1}}


def test_only_the_scheduler_needs_reasons(tool: ModuleType) -> None:
    rows = [tool.Line(file, 1, "one", "x", 0) for file in tool.FILES]
    assert {line.file for line in tool.not_taken(rows)} == set(tool.REASONED)


def report(tool: ModuleType, *words: str) -> int:
    code: int = tool.report(tool.parser().parse_args(words))
    return code


def test_what_has_no_reason_is_named_and_fails(
        tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reasons.toml").write_text("")
    monkeypatch.setattr(tool, "REASONS", tmp_path / "reasons.toml")
    assert report(tool) == 1
    output = capsys.readouterr()
    assert f"{CFQ}:3: one: 'if (a)' is not covered" in output.err
    assert f"{CFQ}:5: one: 'return 0;' is not covered" in output.err
    assert "| one | `if (a)` | 1 of 2 | **no reason** |" in output.out


def test_what_has_a_reason_is_no_failure(
        tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tool, "REASONS", reasons(tmp_path, "if (a)", "return 0;"))
    assert report(tool, "--write") == 0
    text = tool.PAGE.read_text()
    assert "| one | `return 0;` | not run | nobody can |" in text
    assert of_patches(code_id(folders=COVERED), *COVERED) in text.splitlines()
    assert not capsys.readouterr().err


def test_a_reason_without_its_branch_fails(
        tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tool, "REASONS", reasons(tmp_path, "if (a)", "return 0;", "return 1;"))
    assert report(tool) == 1
    assert "'return 1;' is covered, or does not exist" in capsys.readouterr().err


def test_without_all_parts_nothing_is_judged(
        tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tool, "REASONS", reasons(tmp_path, "if (a)"))
    (tool.OUT / "soak.json").unlink()
    assert report(tool, "--json") == 0
    output = capsys.readouterr()
    assert "not all parts have run: without soak" in output.err
    assert json.loads(output.out)["files"][CFQ]["lines"] == 3


def test_page_of_a_part_of_the_tests_is_not_written(
        tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "REASONS", reasons(tmp_path, "if (a)"))
    for name in ("soak", "stress"):
        (tool.OUT / f"{name}.json").unlink()
    with pytest.raises(ToolError, match="coverage.md is not written without soak, stress"):
        report(tool, "--write")
    assert not tool.PAGE.exists()


def test_a_reason_with_a_field_missing_is_an_error(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "reasons.toml"
    path.write_text('[[branch]]\nfile = "a"\n')
    with pytest.raises(ToolError, match="each \\[\\[branch\\]\\] has file, function"):
        tool.read_reasons(path)


def test_counts_of_another_source_are_forgotten(
        tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "source_id", lambda: "first")
    tool.forget_other_sources()
    kept = tool.OUT / "lab.json"
    kept.write_text("{}")
    tool.forget_other_sources()
    assert kept.is_file()
    monkeypatch.setattr(tool, "source_id", lambda: "second")
    tool.forget_other_sources()
    assert not kept.exists()


def test_what_the_parts_run_exists(coverage: ModuleType) -> None:
    for part in coverage.PARTS.values():
        for word in part.command:
            if word.startswith(str(coverage.ROOT)) and not word.startswith(str(coverage.BUILD)):
                assert Path(word).exists(), word


def test_reasons_are_of_files_that_need_them(coverage: ModuleType) -> None:
    found = coverage.read_reasons(coverage.REASONS)
    assert {file for file, _, _ in found} <= set(coverage.REASONED)


def test_every_c_file_that_the_patches_add_is_looked_at(coverage: ModuleType) -> None:
    texts = "".join(path.read_text(errors="replace") for path in (ROOT / "patches").glob("*.patch"))
    added = set(re.findall(r"^--- /dev/null\n\+\+\+ b/((?:block|drivers/block/null_blk)/\S+\.c)$", texts, re.MULTILINE))
    code = {name for name in added if "test" not in Path(name).name}
    assert "block/cfq-iosched.c" in code
    missing = ", ".join(code - set(coverage.FILES))
    assert not missing, f"tools/dev/coverage/cli.py: FILES lacks {missing}"


def test_an_unknown_part_is_refused(coverage: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        coverage.main(["--only", "nothing"])
    assert ended.value.code == 2
    assert "no part nothing; known: kunit, lab" in capsys.readouterr().err


def test_interrupted_tests_end_what_they_started(tmp_path: Path) -> None:
    """The tool is interrupted while its tests run; these tidy up before it ends."""
    began, tidied = tmp_path / "began", tmp_path / "tidied"
    tests = f"trap 'sleep 1; touch {tidied}; exit 1' INT; touch {began}; while :; do sleep 0.1; done"
    program = (f"import os, sys; sys.path.insert(0, {str(ROOT)!r})\n"
               "from tools.dev.coverage import cli\n"
               f"cli.run_tests(['bash', '-c', {tests!r}], sys.stdout, os.environ)\n")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as worker:
        while not began.exists():
            assert worker.poll() is None
            time.sleep(0.05)
        worker.send_signal(signal.SIGINT)
        assert worker.wait(60) != 0
    assert tidied.exists()
