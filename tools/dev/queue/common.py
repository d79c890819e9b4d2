# SPDX-License-Identifier: GPL-2.0
"""Paths, one-line errors, running programs, locks and progress."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base import progress
from tools.base.cli import ToolError
from tools.base.paths import ROOT

NO_SPACE = os.strerror(errno.ENOSPC)


@dataclass(frozen=True)
class Project:
    """The folders of a checkout; `cache` is outside of it and survives it."""

    root: Path
    build: Path
    cache: Path

    @classmethod
    def here(cls) -> Project:
        root = Path(
            os.environ.get("QUEUE_ROOT") or ROOT
        ).resolve()
        xdg = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        cache = Path(os.environ.get("QUEUE_CACHE") or xdg / "cfq-queue")
        return cls(root, root / "build", cache.expanduser().resolve())

    @property
    def patches(self) -> Path:
        return self.root / "patches"

    @property
    def series(self) -> Path:
        return self.root / "series"

    @property
    def linux(self) -> Path:
        return self.build / "linux"

    @property
    def pristine(self) -> Path:
        """The bare repository of the cache, with every base that was used."""
        return self.cache / "pristine.git"

    def show(self, path: Path) -> str:
        """A path relative to the checkout, if it is in it."""
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return str(path)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(
    args: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    input_text: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program and capture its output; a failure becomes an error of one line."""
    try:
        done = subprocess.run(
            [str(a) for a in args],
            cwd=cwd,
            env={**os.environ, **env} if env else None,
            input=input_text,
            text=True,
            errors="replace",
            capture_output=True,
        )
    except FileNotFoundError as error:
        missing = error.filename if cwd is None or cwd.exists() else cwd
        raise ToolError(f"{missing}: not found; is its package installed?") from error
    if check and done.returncode:
        raise ToolError(failure(args, done.stderr or done.stdout, cwd))
    return done


def failure(args: Sequence[str | Path], output: str, where: Path | None = None) -> str:
    """The error of a program that failed, in one line: its last error message, or that the disk is full."""
    if NO_SPACE in output:
        return disk_full(where or Path.cwd())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("fatal", "error", "e:"))]
    last = (errors or lines or ["no message"])[-1]
    return f"{Path(str(args[0])).name} {args[1] if len(args) > 1 else ''}: {last}"


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    while not path.exists():
        path = path.parent
    return path


def disk_full(path: Path) -> str:
    free = shutil.disk_usage(existing(path)).free // 2**20
    return f"disk full: {free} MiB free at {path}; free some space and run it again"


def need_space(path: Path, mib: int, purpose: str) -> None:
    """Raise ToolError if less space is free: before a long step, not in its middle."""
    free = shutil.disk_usage(existing(path)).free // 2**20
    if free < mib:
        raise ToolError(
            f"disk full: {purpose} needs about {mib} MiB at {path}, {free} MiB are free"
        )


def git(
    cwd: Path, *args: str | Path, check: bool = True, input_text: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return run(["git", *args], cwd=cwd, check=check, input_text=input_text, env=env)


def git_out(cwd: Path, *args: str | Path) -> str:
    return git(cwd, *args).stdout.strip()


def abort_am(linux: Path) -> None:
    """End a git am that has failed, also one of mails that git cannot read, whose folder `am --abort` leaves."""
    git(linux, "am", "--abort", check=False)
    shutil.rmtree(linux / ".git/rebase-apply", ignore_errors=True)


# Exported and applied patches must not depend on the user's own git configuration.
PLAIN_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

# Commits of the tools have the same ID on every machine.
QUEUE_IDENT = {
    **PLAIN_GIT,
    "GIT_COMMITTER_NAME": "queue",
    "GIT_COMMITTER_EMAIL": "queue@localhost",
}


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock: a second run waits for the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run, which holds {path}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class NamedProgress:
    """Progress with a label and the elapsed time, in percent if the total is known."""

    def __init__(self, label: str, total: int | None = None, unit: str = "") -> None:
        self.label, self.total, self.unit = label, total, unit
        self.line = progress.Progress()

    def update(self, done: int) -> None:
        if self.total:
            amount = f"{min(99, done * 100 // self.total)}%"
        else:
            amount = f"{done:,}{' ' + self.unit if self.unit else ''}"
        self.line.show(f"{self.label}: {amount}, {self.line.seconds():.0f} s")

    def finish(self, text: str = "done") -> None:
        self.line.finish(f"{self.label}: {text}, {self.line.seconds():.0f} s")
