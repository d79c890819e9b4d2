# SPDX-License-Identifier: GPL-2.0
"""Lists out of git repositories that the tests make."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.base.cli import EXIT_USAGE
from tools.testbed.ageing import churn
from tools.testbed.ageing.churn import Operation
from tools.testbed.ageing.tests.conftest import ageing


class Repository:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        path.mkdir()
        self.git("init", "-q")

    def git(self, *command: str) -> str:
        date = f"2020-01-{1 + self.number:02}T00:00:00Z"
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.fileMode=true",
             "-C", self.path, *command], check=True, capture_output=True, text=True,
            env={**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull})
        return done.stdout.strip()

    def commit(self, files: dict[str, int]) -> None:
        """The tree is these files, of so many bytes, and nothing else."""
        self.git("rm", "-rfq", "--ignore-unmatch", ".")
        for name, size in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x" * size)
        self.git("add", "-A")
        self.number += 1
        self.git("commit", "-qm", "x", "--allow-empty")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def listed(repository: Repository, *options: str) -> list[churn.Version]:
    path = repository.path.parent / "list"
    done = ageing("churn", "--git", repository.path, *options, path)
    assert done.returncode == 0, done.stderr
    return churn.read(path)


def test_each_kind_of_change_in_the_order_of_a_checkout(repository: Repository) -> None:
    repository.commit({"b": 1, "a": 2, "d/one": 3, "d.c": 4, "file": 5, "folder/inside": 6})
    repository.commit({"b": 1, "a": 20, "d.c": 4, "file/inside": 7, "folder": 8, "new name": 0})
    versions = listed(repository)
    assert [version.operations for version in versions] == [
        [Operation("+", "a", 2), Operation("+", "b", 1), Operation("+", "d.c", 4), Operation("+", "d/one", 3),
         Operation("+", "file", 5), Operation("+", "folder/inside", 6)],
        [Operation("-", "d/one"), Operation("-", "file"), Operation("-", "folder/inside"), Operation("=", "a", 20),
         Operation("+", "file/inside", 7), Operation("+", "folder", 8), Operation("+", "new name", 0)],
    ]


def test_a_mode_or_contents_of_the_same_size_are_a_change_and_links_are_left_out(repository: Repository) -> None:
    repository.commit({"mode": 1, "contents": 1, "same": 1})
    (repository.path / "mode").chmod(0o755)
    (repository.path / "contents").write_text("y")
    (repository.path / "link").symlink_to("same")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "x")
    assert listed(repository)[1].operations == [Operation("=", "contents", 1), Operation("=", "mode", 1)]


def test_commits_are_spread_over_the_history_with_both_ends(repository: Repository) -> None:
    for number in range(1, 11):
        repository.commit({"a": number})

    def sizes(count: int) -> list[int]:
        return [version.operations[0].size for version in listed(repository, "--versions", str(count))]

    assert sizes(4) == [1, 4, 7, 10]
    assert sizes(2) == [1, 10]
    assert sizes(24) == list(range(1, 11))


def test_tags_are_taken_by_date_and_revisions_as_they_are_given(repository: Repository) -> None:
    for number, tag in enumerate(("v2-rc1", "v2", "other", "v10"), 1):
        repository.commit({"a": number})
        repository.git("tag", tag)
    tagged = listed(repository, "--tags", "v*")
    assert [(version.name, version.operations[0].size) for version in tagged] == [("v2-rc1", 1), ("v2", 2), ("v10", 4)]
    given = listed(repository, "--revisions", "HEAD,other,v2-rc1")
    assert [version.operations[0].size for version in given] == [4, 3, 1]


@pytest.mark.parametrize(("options", "message"), [
    (["--revisions", "missing"], "missing"),
    (["--revisions=--output=x"], "'--output=x' is not a revision"),
    (["--tags", "none*"], "no tag matches 'none*'"),
])
def test_what_git_does_not_have_is_one_line(repository: Repository, options: list[str], message: str) -> None:
    repository.commit({"a": 1})
    done = ageing("churn", "--git", repository.path, *options, repository.path.parent / "list")
    assert done.returncode == EXIT_USAGE
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not (repository.path.parent / "list").exists()


def test_a_folder_that_is_no_repository_is_one_line(tmp_path: Path) -> None:
    done = ageing("churn", "--git", tmp_path, tmp_path / "list")
    assert done.returncode == EXIT_USAGE
    assert "not a git repository" in done.stderr and done.stderr.count("\n") == 1
