# SPDX-License-Identifier: GPL-2.0
"""Churn lists: their text, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.ageing import churn
from tools.testbed.ageing.churn import Operation, Version
from tools.testbed.ageing.tests.conftest import TREES, ageing

AWKWARD = ["a b", "100%", "line\nbreak", "-", "#", "ä", "\udcff\udcfe", "a/b c/d", "+ 1 x", "tab\t", "~x'y\"z\\"]


def test_a_list_reads_as_the_format_says() -> None:
    versions = [Version("v1", [Operation("+", "Makefile", 10), Operation("+", "net/a.c", 20)]),
                Version("second one", [Operation("-", "net/a.c"), Operation("=", "Makefile", 11)])]
    text = ("ageing churn 1\n# by hand\nversion v1\n+ 10 Makefile\ndir net\n+ 20 a.c\n"
            "version second%20one\ndir net\n- a.c\ndir .\n= 11 Makefile\n")
    assert churn.text(versions, ["by hand"]) == text
    assert churn.parse(text.splitlines(keepends=True), "list") == versions


def test_every_name_comes_back_as_it_was() -> None:
    versions = [Version("v 1", [Operation("+", name, 1) for name in AWKWARD])]
    text = churn.text(versions)
    assert text.isascii()
    assert churn.parse(text.splitlines(), "list") == versions


def test_counts_are_those_of_each_version() -> None:
    versions = [Version("1", [Operation("+", "a", 10), Operation("+", "d/e/b", 20)]),
                Version("2", [Operation("-", "d/e/b"), Operation("=", "a", 11), Operation("+", "c", 5)])]
    assert [tuple(count) for count in churn.counts(versions)] == [("1", 2, 0, 2, 3, 30), ("2", 2, 2, 2, 1, 16)]


def test_a_list_without_versions_is_refused() -> None:
    with pytest.raises(ToolError, match="list: the list has no version"):
        churn.parse(["ageing churn 1"], "list")


@pytest.mark.parametrize(("lines", "message"), [
    (["something else"], "1: a churn list begins with 'ageing churn 1'"),
    (["ageing churn 1", "+ 1 a"], "2: there is no `version` line before it"),
    (["ageing churn 1", "version v", "+ 1 a", "+ 1 a"], "4: a exists already"),
    (["ageing churn 1", "version v", "= 1 a"], "3: a does not exist"),
    (["ageing churn 1", "version v", "- a"], "3: a does not exist"),
    (["ageing churn 1", "version v", "+ -1 a"], "3: '+ -1 a' is not a line"),
    (["ageing churn 1", "version v", "+ 1"], "3: '+ 1' is not a line"),
    (["ageing churn 1", "version v", "+ 1 ../a"], "3: '../a' is not a path within the tree"),
    (["ageing churn 1", "version v", "+ 1 /etc/a"], "3: '/etc/a' is not a path within the tree"),
    (["ageing churn 1", "version v", "dir /etc", "+ 1 a"], "4: '/etc/a' is not a path within the tree"),
    (["ageing churn 1", "version v", "dir a/%2E%2E/%2e%2e", "+ 1 a"], "4: 'a/../../a' is not a path within the tree"),
    (["ageing churn 1", "version v", "+ 1 a%00"], "3: 'a\\x00' is not a path within the tree"),
    (["ageing churn 1", "version v", "+ 1 a", "dir a", "+ 1 b"], "5: a is a file"),
    (["ageing churn 1", "version v", "dir a", "+ 1 b", "dir .", "+ 1 a"], "6: a is a directory"),
])
def test_bad_line_is_named(lines: list[str], message: str) -> None:
    with pytest.raises(ToolError) as error:
        churn.parse(lines, "list")
    assert str(error.value).startswith(f"list:{message}")
    assert error.value.code == EXIT_USAGE


def test_a_file_that_is_no_list_is_one_line_and_nothing_is_done(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"\xff\xfe")
    (tmp_path / "to").mkdir()
    for name in ("list", "missing"):
        done = ageing("apply", tmp_path / name, tmp_path / "to", *TREES)
        assert done.returncode == EXIT_USAGE
        assert done.stderr.startswith(f"ageing: {tmp_path / name}: ") and done.stderr.count("\n") == 1
    assert not list((tmp_path / "to").iterdir())
