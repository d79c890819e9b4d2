# SPDX-License-Identifier: GPL-2.0
"""Replays a plan on a mounted file system, and continues after an interruption."""

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
GROW_BYTES = 1 << 26  # bytes to write before a flush, and before the use is checked again
FROM_MKFS = {"lost+found"}  # the contents of a new file system
_libc = ctypes.CDLL(None, use_errno=True)


def flush(folder: Path) -> None:
    """Write back all data of a file system: data in memory has no position yet."""
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
    """The contents of files: bytes that cannot be compressed or skipped, or zeros."""

    def __init__(self, zeros: bool) -> None:
        self.pool = memoryview(bytes(WRITE_BYTES) if zeros else _random_bytes())
        self.places = 1 if zeros else POOL_BYTES

    def write(self, handle: int, name: str, begin: int, length: int) -> None:
        """The contents of a block: the same for the same name and offset, different for others."""
        at = zlib.crc32(os.fsencode(name)) + begin
        end = at + length
        while at < end:
            first = at % self.places
            at += os.write(handle, self.pool[first:first + min(WRITE_BYTES, end - at)])


@dataclass
class Journal:
    """The state of a replay, in a file outside of the file system: steps done, and the use after each stage."""

    path: Path
    identity: dict[str, Any]
    done: int = 0
    used: dict[str, float] = field(default_factory=dict)
    begun: bool = False

    @classmethod
    def open(cls, path: Path, identity: dict[str, Any]) -> Journal:
        """Read the journal, or start a new one. Raises ToolError for the journal of another replay."""
        identity = json.loads(json.dumps(identity))
        if not path.exists():
            return cls(path, identity)
        try:
            kept = json.loads(path.read_text())
            found = cls(path, kept["identity"], kept["done"], kept["used"], begun=True)
        except (ValueError, KeyError, TypeError):
            raise ToolError(f"{path} is not a journal of `ageing apply`; use another --journal", EXIT_USAGE) from None
        if found.identity != identity:
            others = ", ".join(key for key in identity if identity[key] != found.identity.get(key))
            raise ToolError(f"{path} is of another replay ({others} differ): use the same arguments, "
                            "another --journal, or remove it to start over", EXIT_USAGE)
        return found

    def save(self) -> None:
        write_json(self.path, {"identity": self.identity, "done": self.done, "used": self.used})


class Replay:
    """@list_id: a digest of the list. Raises ToolError if the folder is not usable."""

    def __init__(self, plan: Plan, folder: Path, journal: Path, list_id: str) -> None:
        self.plan, self.folder = plan, folder.resolve()
        if not folder.is_dir():
            raise ToolError(f"{folder}: not a directory", EXIT_USAGE)
        state = os.statvfs(folder)
        if journal.resolve().is_relative_to(self.folder):
            raise ToolError(f"--journal {journal}: must be outside of {folder}, which it would change", EXIT_USAGE)
        self.journal = Journal.open(journal, {
            "list": list_id, "directory": str(self.folder), "file system": state.f_fsid, "setup": asdict(plan.setup)})
        self.contents = Contents(plan.setup.zeros)
        there = sorted({entry.name for entry in folder.iterdir()} - FROM_MKFS)
        if self.journal.done and not there:
            raise ToolError(f"{folder} is empty, but {self.journal.path} has finished steps: mount the file system, "
                            "or remove the journal to start over", EXIT_USAGE)
        if not self.journal.begun:
            if there:
                raise ToolError(f"{folder} is not empty ({there[0]}): use a new file system",
                                EXIT_USAGE)
            check_room(plan, state)

    def _place(self, action: Fill | Turn) -> Path:
        return self.folder / (action.file if isinstance(action, Fill) else action.folder)

    def run(self, last: int, tell: Callable[[str], None]) -> None:
        """Run the steps up to @last, and report the progress."""
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
        """The bytes to write until a level is reached, in whole blocks."""
        state = os.statvfs(self.folder)
        return (int(state.f_blocks * level / 100) - (state.f_blocks - state.f_bfree)) * state.f_frsize

    def _grow(self, handle: int, name: str, length: int) -> None:
        begin = os.fstat(handle).st_size
        if self.plan.setup.allocate:
            os.posix_fallocate(handle, begin, length)
        else:
            self.contents.write(handle, name, begin, length)
        os.fsync(handle)
        # XFS preallocates space behind a growing file, and frees it only minutes later
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
    """Create a file; an existing one is deleted first, as by a checkout, and never overwritten."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        os.unlink(path)  # noqa: PTH108 (saves two hundred thousand objects)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, flags, 0o644)


def _delete(tree: str, path: str) -> None:
    """Delete a file and directories that become empty. In a repeated step it may be gone, or be a directory now."""
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
    """The result as JSON: arguments, progress, and the use of the file system after each stage."""
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
