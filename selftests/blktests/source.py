# SPDX-License-Identifier: GPL-2.0
"""blktests at one commit, built, with the project's own tests beside its own. It is run and never changed."""

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
OWN = ("common", "tests")  # of this folder: what goes into a tree of blktests
URL = "https://github.com/linux-blktests/blktests.git"
COMMIT = "a608cb56341e0f4cacf473f5e0ac6052f1f12de9"
VARIABLE = "BLKTESTS"
SKIPPED = 4  # the exit code of a kselftest that was skipped


class Skipped(ToolError):
    """Nothing is wrong but that something is not here."""

    code = SKIPPED


def own_files() -> dict[str, Path]:
    """The project's tests by their places in a tree of blktests."""
    return {str(path.relative_to(HERE)): path for folder in OWN for path in sorted((HERE / folder).rglob("*"))
            if path.is_file()}


def digest() -> str:
    """Of the project's tests: another one, another tree."""
    total = hashlib.sha256()
    for name, path in own_files().items():
        total.update(name.encode() + path.read_bytes())
    return total.hexdigest()[:8]


def version(group: str) -> str:
    """Of the tests of a group: the commit, and what the project adds to the group."""
    return f"{COMMIT} {digest()}" if (HERE / "tests" / group).is_dir() else COMMIT


def tree() -> Path:
    """The folder that is run: BLKTESTS= or what the URL has, at COMMIT."""
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
    """A git directory or work tree that has COMMIT."""
    if named := os.environ.get(VARIABLE):
        path = Path(named).expanduser().resolve()
        if not has_commit(path):
            raise ToolError(f"{VARIABLE}={named}: no git repository with commit {COMMIT}: `git fetch` there, or unset "
                            f"{VARIABLE} and it is fetched from {URL}", EXIT_USAGE)
        return path
    cache = Project.here().cache / "blktests.git"
    if not has_commit(cache):
        fetch(cache)
    return cache


def has_commit(path: Path) -> bool:
    if not path.is_dir():
        return False
    # the copy may be somebody else's: it is only read
    return not git(path, "-c", "safe.directory=*", "cat-file", "-e", f"{COMMIT}^{{tree}}", check=False).returncode


def fetch(cache: Path) -> None:
    say(f"fetching blktests at {COMMIT[:12]} from {URL}")
    cache.mkdir(parents=True, exist_ok=True)
    git(cache, "init", "-q", "--bare", env=PLAIN_GIT)
    done = git(cache, "fetch", "-q", "--depth", "1", URL, COMMIT, check=False, env={"GIT_TERMINAL_PROMPT": "0"})
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Skipped(f"SKIP: blktests cannot be fetched ({why}): set {VARIABLE}= to a git repository that has it")


def unpack(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    archive = folder / ".archive.tar"
    git(source, "-c", "safe.directory=*", "archive", f"--output={archive}", COMMIT)
    run(["tar", "-x", "-f", archive, "-C", folder])
    archive.unlink()


def add_own(folder: Path) -> None:
    """Copy the project's tests there; none may have the place of another one."""
    for name, path in own_files().items():
        target = folder / name
        if target.exists():
            raise ToolError(f"selftests/blktests/{name}: blktests has a file of that name: take the next number")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def build(folder: Path) -> None:
    """Its programs, of which some tests are made."""
    run(["make", "-s", "-C", folder / "src"])


def tests(folder: Path, wanted: str, slow: bool) -> list[str]:
    """The tests of a group, or the test that is named as group/001.

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
    """Whether blktests' own quick run would take it."""
    return re.search(r"^(QUICK|TIMED)=1$", script, re.M) is not None
