# SPDX-License-Identifier: GPL-2.0
"""Makes a churn list from the history of a git repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError

from .churn import Version, differences

SHORT = 12  # digits of a commit ID


def _git(repo: Path, *command: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", repo, *command], capture_output=True, check=False)
    except OSError as error:
        raise ToolError(f"git: {error.strerror}", EXIT_USAGE) from None
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise ToolError(f"{repo}: {errors[0]}", EXIT_USAGE)
    return done.stdout


def _files(repo: Path, revision: str) -> dict[str, tuple[str, int]]:
    """The regular files of a revision (mode and object) and their bytes, without links and submodules."""
    if revision.startswith("-"):
        raise ToolError(f"'{revision}' is not a revision", EXIT_USAGE)
    found = {}
    for entry in _git(repo, "ls-tree", "-r", "-l", "-z", "--full-tree", revision).split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        mode, _, name, size = facts.decode().split()
        if mode.startswith("100"):
            found[os.fsdecode(path)] = (f"{mode} {name}", int(size))
    return found


def spread(repo: Path, number: int) -> list[str]:
    """That many commits of HEAD's first-parent history, evenly spread from the first to the last."""
    commits = _git(repo, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()
    last = len(commits) - 1
    steps = max(1, min(number - 1, last))
    return [commits[index][:SHORT] for index in sorted({step * last // steps for step in range(steps + 1)})]


def tagged(repo: Path, pattern: str) -> list[str]:
    """The tags that match a shell pattern, by date."""
    names = _git(repo, "tag", "--list", "--sort=creatordate", pattern).decode(errors="surrogateescape").split()
    if not names:
        raise ToolError(f"{repo}: no tag matches '{pattern}'", EXIT_USAGE)
    return names


def versions(repo: Path, revisions: Sequence[str]) -> list[Version]:
    """The operations from each revision to the next; the first one starts with an empty tree."""
    made = []
    before: dict[str, tuple[str, int]] = {}
    for revision in revisions:
        after = _files(repo, revision)
        made.append(Version(revision, differences(before, after)))
        before = after
    return made
