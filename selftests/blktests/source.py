# SPDX-License-Identifier: GPL-2.0
"""Provides blktests at one commit, built, with the project's own tests added to a copy of its tree."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import BUILD
from tools.dev.queue.common import PLAIN_GIT, Project, git, locked, run, say

HERE = Path(__file__).resolve().parent
OWN = ("common", "tests")  # folders to copy into a tree of blktests
URL = "https://github.com/linux-blktests/blktests.git"
COMMIT = "a608cb56341e0f4cacf473f5e0ac6052f1f12de9"
VARIABLE = "BLKTESTS"
SKIPPED = 4  # the exit code of a kselftest that was skipped


class Skipped(ToolError):
    """blktests is not available: the tests are skipped."""

    code = SKIPPED


def own_files() -> dict[str, Path]:
    """The project's tests by their paths in a tree of blktests."""
    return {str(path.relative_to(HERE)): path for folder in OWN for path in sorted((HERE / folder).rglob("*"))
            if path.is_file()}


def digest() -> str:
    """The digest of the project's tests: each version has its own tree."""
    total = hashlib.sha256()
    for name, path in own_files().items():
        total.update(name.encode() + path.read_bytes())
    return total.hexdigest()[:8]


def version(group: str) -> str:
    """The version of the tests of a group: the commit, and the digest if the project adds tests to the group."""
    return f"{COMMIT} {digest()}" if (HERE / "tests" / group).is_dir() else COMMIT


def tree() -> Path:
    """The folder to run: from BLKTESTS= or the URL, at COMMIT."""
    folder = BUILD / "blktests" / f"tree-{COMMIT[:12]}-{digest()}"
    with locked(BUILD / "blktests" / "lock"):
        if folder.is_dir():
            return folder
        new = folder.with_name(f".{folder.name}")
        shutil.rmtree(new, ignore_errors=True)
        unpack(repository(), new)
        add_own(new)
        build(new)
        new.rename(folder)
    return folder


def repository() -> Path:
    """A git directory or work tree with COMMIT."""
    if named := os.environ.get(VARIABLE):
        path = Path(named).expanduser().resolve()
        if not has_commit(path):
            raise ToolError(f"{VARIABLE}={named}: not a git repository with commit {COMMIT}: run `git fetch` there, or "
                            f"unset {VARIABLE} to clone {URL}", EXIT_USAGE)
        return path
    cache = Project.here().cache / "blktests.git"
    if not has_commit(cache):
        fetch(cache)
    return cache


def has_commit(path: Path) -> bool:
    if not path.is_dir():
        return False
    # another user may own the repository: it is only read
    return not git(path, "-c", "safe.directory=*", "cat-file", "-e", f"{COMMIT}^{{tree}}", check=False).returncode


def fetch(cache: Path) -> None:
    say(f"cloning blktests at {COMMIT[:12]} from {URL}")
    cache.mkdir(parents=True, exist_ok=True)
    git(cache, "init", "-q", "--bare", env=PLAIN_GIT)
    done = git(cache, "fetch", "-q", "--depth", "1", URL, COMMIT, check=False, env={"GIT_TERMINAL_PROMPT": "0"})
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Skipped(f"SKIP: blktests cannot be cloned ({why}): set {VARIABLE}= to a git repository that has it")


def unpack(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    archive = folder / ".archive.tar"
    git(source, "-c", "safe.directory=*", "archive", f"--output={archive}", COMMIT)
    run(["tar", "-x", "-f", archive, "-C", folder])
    archive.unlink()


def add_own(folder: Path) -> None:
    """Copy the project's tests into the tree; none may replace an existing file."""
    for name, path in own_files().items():
        target = folder / name
        if target.exists():
            raise ToolError(f"selftests/blktests/{name}: blktests has this file, too: use the next number")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def build(folder: Path) -> None:
    """Build the programs that some tests use."""
    run(["make", "-s", "-C", folder / "src"])


def tests(folder: Path, wanted: str, slow: bool) -> list[str]:
    """The tests of a group, or a single test (group/001).

    @slow: also those that neither are quick nor keep to a time limit
    """
    if (folder / "tests" / wanted).is_file():
        return [wanted]
    names = sorted(path.name for path in (folder / "tests" / wanted).glob("[0-9][0-9][0-9]"))
    if not names:
        raise ToolError(f"{wanted}: no group or test of blktests at {COMMIT[:12]} or of selftests/blktests", EXIT_USAGE)
    found = [f"{wanted}/{name}" for name in names]
    return [name for name in found if slow or is_limited((folder / "tests" / name).read_text())]


def is_limited(script: str) -> bool:
    """Whether blktests' own quick run includes the test."""
    return re.search(r"^(QUICK|TIMED)=1$", script, re.M) is not None
