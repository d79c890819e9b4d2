# SPDX-License-Identifier: GPL-2.0
"""Replays a plan on a mounted file system, and goes on where it was interrupted."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_json

from .churn import DELETED, Operation
from .plan import Fill, Plan, Setup, Turn, check_room

POOL_BYTES = 1 << 22
WRITE_BYTES = 1 << 20
GROW_BYTES = 1 << 26  # written before it is flushed, and before use is looked at again
FROM_MKFS = {"lost+found"}  # what a new file system has in it
_libc = ctypes.CDLL(None, use_errno=True)


def flush(folder: Path) -> None:
    """Write back all of a file system, as time does: what is in memory alone has no place yet."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        if _libc.syncfs(handle):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(handle)


def used_percent(state: os.statvfs_result) -> float:
    return 100 * (1 - state.f_bfree / state.f_blocks)


@functools.cache
def _random_bytes() -> bytes:
    return random.Random(1).randbytes(POOL_BYTES + WRITE_BYTES)


class Contents:
    """What files have in them: bytes that nobody can compress or recognize as zeros, or zeros."""

    def __init__(self, zeros: bool) -> None:
        self.pool = memoryview(bytes(WRITE_BYTES) if zeros else _random_bytes())
        self.places = 1 if zeros else POOL_BYTES

    def write(self, handle: int, name: str, begin: int, length: int) -> None:
        """The same for the same name and place; other blocks have other contents."""
        at = zlib.crc32(os.fsencode(name)) + begin
        end = at + length
        while at < end:
            first = at % self.places
            at += os.write(handle, self.pool[first:first + min(WRITE_BYTES, end - at)])


@dataclass
class Journal:
    """How far a replay is, in a file outside of the file system: the steps done, and its use after each stage."""

    path: Path
    identity: dict[str, Any]
    done: int = 0
    used: dict[str, float] = field(default_factory=dict)
    begun: bool = False

    @classmethod
    def open(cls, path: Path, identity: dict[str, Any]) -> Journal:
        """A new one, or that of the same replay. Raises ToolError for another replay's."""
        identity = json.loads(json.dumps(identity))
        if not path.exists():
            return cls(path, identity)
        try:
            kept = json.loads(path.read_text())
            found = cls(path, kept["identity"], kept["done"], kept["used"], begun=True)
        except (ValueError, KeyError, TypeError):
            raise ToolError(f"{path} is no journal of `ageing apply`: give another --journal", EXIT_USAGE) from None
        if found.identity != identity:
            others = ", ".join(key for key in identity if identity[key] != found.identity.get(key))
            raise ToolError(f"{path} is of another replay ({others} differ): give the same as then, "
                            "another --journal, or remove it to begin anew", EXIT_USAGE)
        return found

    def save(self) -> None:
        write_json(self.path, {"identity": self.identity, "done": self.done, "used": self.used})


class Replay:
    """@list_id: a digest of the list. Raises ToolError if the folder is not fit for it."""

    def __init__(self, plan: Plan, folder: Path, journal: Path, list_id: str) -> None:
        self.plan, self.folder = plan, folder.resolve()
        if not folder.is_dir():
            raise ToolError(f"{folder}: no directory", EXIT_USAGE)
        state = os.statvfs(folder)
        if journal.resolve().is_relative_to(self.folder):
            raise ToolError(f"--journal {journal}: not in {folder}, which it must not change", EXIT_USAGE)
        self.journal = Journal.open(journal, {
            "list": list_id, "directory": str(self.folder), "file system": state.f_fsid, "setup": asdict(plan.setup)})
        self.contents = Contents(plan.setup.zeros)
        there = sorted({entry.name for entry in folder.iterdir()} - FROM_MKFS)
        if self.journal.done and not there:
            raise ToolError(f"{folder} has nothing of what {self.journal.path} says: mount the file system, "
                            "or remove the journal to begin anew", EXIT_USAGE)
        if not self.journal.begun:
            if there:
                raise ToolError(f"{folder} is not empty ({there[0]}): an ageing begins with a new file system",
                                EXIT_USAGE)
            check_room(plan, state)

    def _place(self, action: Fill | Turn) -> Path:
        return self.folder / (action.file if isinstance(action, Fill) else action.folder)

    def run(self, last: int, tell: Callable[[str], None]) -> None:
        """Do the steps up to @last, and say how far it is."""
        steps = self.plan.steps
        self.journal.save()
        for number in range(self.journal.done, last):
            stage, action = steps[number]
            if isinstance(action, Fill):
                self._fill(action)
            else:
                self._turn(action)
            use = used_percent(os.statvfs(self.folder))
            self.journal.used[stage] = round(use, 3)
            self.journal.done = number + 1
            self.journal.save()
            tell(f"{stage}: step {number + 1:,} of {len(steps):,}, {use:.1f}% in use")

    def _fill(self, fill: Fill) -> None:
        if self._missing(fill.level) <= 0:
            return
        path = self._place(fill)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            while (missing := self._missing(fill.level)) > 0:
                self._grow(handle, fill.file, min(missing, GROW_BYTES))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        finally:
            os.close(handle)

    def _missing(self, level: float) -> int:
        """Bytes until that much is in use, in whole blocks."""
        state = os.statvfs(self.folder)
        return (int(state.f_blocks * level / 100) - (state.f_blocks - state.f_bfree)) * state.f_frsize

    def _grow(self, handle: int, name: str, length: int) -> None:
        begin = os.fstat(handle).st_size
        if self.plan.setup.allocate:
            os.posix_fallocate(handle, begin, length)
        else:
            self.contents.write(handle, name, begin, length)
        os.fsync(handle)
        # XFS keeps room behind the end of a file that grows, and gives it back only minutes later
        os.ftruncate(handle, begin + length)

    def _turn(self, turn: Turn) -> None:
        tree = os.fspath(self._place(turn))
        for operation in self.plan.versions[turn.version].operations[turn.begin:turn.end]:
            path = f"{tree}/{operation.path}"
            if operation.kind == DELETED:
                _delete(tree, path)
            else:
                self._create(path, operation)
        flush(self.folder)

    def _create(self, path: str, operation: Operation) -> None:
        handle = _new_file(path)
        try:
            self.contents.write(handle, operation.path, 0, operation.size)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        finally:
            os.close(handle)


def _new_file(path: str) -> int:
    """One that is there is deleted first, as by a checkout, and never written over."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        os.unlink(path)  # noqa: PTH108 (two hundred thousand objects less)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, flags, 0o644)


def _delete(tree: str, path: str) -> None:
    """With the directories that it leaves empty. In a step that is done again it may be gone, or a directory now."""
    try:
        os.unlink(path)  # noqa: PTH108
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return
    for parent in Path(path).parents:
        if str(parent) == tree:
            return
        try:
            parent.rmdir()
        except OSError:
            return


def summary(replay: Replay) -> dict[str, Any]:
    """For a program: what was asked for, how far it is, how full the file system was after each stage."""
    plan, journal = replay.plan, replay.journal
    setup: Setup = plan.setup
    done = plan.steps[: journal.done]
    return {
        "setup": asdict(setup),
        "steps": len(plan.steps),
        "done": journal.done,
        "operations": _operations([step.action for step in done]),
        "used_percent": {stage: journal.used[stage] for stage in dict.fromkeys(step.stage for step in done)},
    }


def _operations(actions: Sequence[Fill | Turn]) -> int:
    return sum(action.end - action.begin for action in actions if isinstance(action, Turn))
