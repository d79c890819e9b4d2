# SPDX-License-Identifier: GPL-2.0
"""Churn lists: the files that are created, changed and deleted in a directory tree, version by version.

A list is text, with lines of these forms:

    ageing churn 1            first line; # begins a comment line
    version v2                the following lines lead to this version of the tree
    dir drivers/net           directory of the following names, from the tree's root (".", also after `version`)
    - old.c                   deleted
    + 1834 new.c              created, with this size in bytes
    = 1902 driver.c           changed: deleted, and created again with this size

Operations are in the order of the lines. Names are bytes; special ones are written as in a URL (%20). A directory
exists as long as it has files.
"""

from __future__ import annotations

import os
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tools.base.cli import EXIT_USAGE, ToolError

HEADER = "ageing churn 1"
ROOT = "."
CREATED, CHANGED, DELETED = "+", "=", "-"
_LINE = re.compile(r"(?P<deleted>-) (?P<gone>\S+)|(?P<kind>[+=]) (?P<size>\d{1,18}) (?P<name>\S+)")


class Operation(NamedTuple):
    """@path: from the tree's root; @size: bytes of the file that is created or changed."""

    kind: str
    path: str
    size: int = 0


@dataclass
class Version:
    """A version: its name, and the operations that lead to it from the version before."""

    name: str
    operations: list[Operation] = field(default_factory=list)


class Count(NamedTuple):
    """The counts of a version: files created and deleted (a change counts as both), then the contents of the tree."""

    version: str
    created: int
    deleted: int
    files: int
    directories: int
    bytes: int


def parents(path: str) -> Iterator[str]:
    """The directories that contain a path, the innermost first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


class Tree:
    """The files of a tree: the model that a replayed tree must equal."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.inside: Counter[str] = Counter()  # files below each directory

    def take(self, operation: Operation) -> None:
        """Apply an operation; raises ValueError if it is impossible."""
        kind, path, size = operation
        if (kind == CREATED) == (path in self.files):
            raise ValueError(f"{path} {'exists already' if kind == CREATED else 'does not exist'}")
        if kind == CREATED:
            self._enter(path)
        if kind == DELETED:
            del self.files[path]
            for parent in parents(path):
                self.inside[parent] -= 1
                if not self.inside[parent]:
                    del self.inside[parent]
        else:
            self.files[path] = size

    def _enter(self, path: str) -> None:
        if not all(part not in ("", ".", "..") for part in path.split("/")) or "\0" in path:
            raise ValueError(f"{path!r} is not a path within the tree")
        if path in self.inside:
            raise ValueError(f"{path} is a directory")
        for parent in parents(path):
            if parent in self.files:
                raise ValueError(f"{parent} is a file")
            self.inside[parent] += 1

    def directories(self) -> int:
        """The number of directories, including the root."""
        return len(self.inside) + 1


def sizes(versions: Sequence[Version]) -> Iterator[dict[str, int]]:
    """The files of each version and their bytes, in one dictionary that changes."""
    tree = Tree()
    for version in versions:
        for operation in version.operations:
            tree.take(operation)
        yield tree.files


def counts(versions: Sequence[Version]) -> list[Count]:
    """The counts of each version; raises ValueError for an impossible operation."""
    tree = Tree()
    found = []
    for version in versions:
        kinds: Counter[str] = Counter()
        for operation in version.operations:
            tree.take(operation)
            kinds[operation.kind] += 1
        found.append(Count(version.name, kinds[CREATED] + kinds[CHANGED], kinds[DELETED] + kinds[CHANGED],
                           len(tree.files), tree.directories(), sum(tree.files.values())))
    return found


def differences(before: dict[str, tuple[str, int]], after: dict[str, tuple[str, int]]) -> list[Operation]:
    """The operations that lead from one tree to another; a tree maps a path to contents (any ID) and bytes.

    They are in the order of a checkout: first deletions, then the rest, both by path.
    """
    gone = [Operation(DELETED, path) for path in sorted(before.keys() - after.keys(), key=os.fsencode)]
    return gone + [
        Operation(CHANGED if path in before else CREATED, path, after[path][1])
        for path in sorted(after, key=os.fsencode) if before.get(path) != after[path]
    ]


def _quoted(name: str) -> str:
    return urllib.parse.quote(os.fsencode(name), safe="/+,:=@!()[]{}^&;'$*")


def _unquoted(text: str) -> str:
    return os.fsdecode(urllib.parse.unquote_to_bytes(text))


def text(versions: Iterable[Version], comments: Sequence[str] = ()) -> str:
    """The text of a list; each comment is one line."""
    lines = [HEADER, *(f"# {comment}" for comment in comments)]
    for version in versions:
        lines.append(f"version {_quoted(version.name)}")
        folder = ROOT
        for kind, path, size in version.operations:
            parent, _, name = path.rpartition("/")
            if (parent or ROOT) != folder:
                folder = parent or ROOT
                lines.append(f"dir {_quoted(folder)}")
            lines.append(f"- {_quoted(name)}" if kind == DELETED else f"{kind} {size} {_quoted(name)}")
    return "\n".join(lines) + "\n"


def parse(lines: Iterable[str], where: str) -> list[Version]:
    """Parse a list; raises ToolError with @where and the line if it is not valid."""
    versions: list[Version] = []
    tree, folder = Tree(), ROOT
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\n")
        word, _, rest = line.partition(" ")
        try:
            if number == 1:
                if line != HEADER:
                    raise ValueError(f"a churn list begins with '{HEADER}'; `ageing churn` writes one")
            elif word == "version" and rest:
                versions.append(Version(_unquoted(rest)))
                folder = ROOT
            elif word == "dir" and rest:
                folder = _unquoted(rest)
            elif line and word != "#":
                operation = _operation(line, folder)
                if not versions:
                    raise ValueError("there is no `version` line before it")
                tree.take(operation)
                versions[-1].operations.append(operation)
        except ValueError as error:
            raise ToolError(f"{where}:{number}: {error}", EXIT_USAGE) from None
    if not versions:
        raise ToolError(f"{where}: the list has no version", EXIT_USAGE)
    return versions


def _operation(line: str, folder: str) -> Operation:
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError(f"'{line[:60]}' is not a line of a churn list")
    name = _unquoted(match["gone"] or match["name"])
    path = name if folder == ROOT else f"{folder}/{name}"
    return Operation(match["kind"] or DELETED, path, int(match["size"] or 0))


def read(path: Path) -> list[Version]:
    """Read a list from a file."""
    try:
        with path.open(encoding="ascii") as lines:
            return parse(lines, str(path))
    except UnicodeDecodeError:
        raise ToolError(f"{path}: not a churn list; `ageing churn` writes one", EXIT_USAGE) from None
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}", EXIT_USAGE) from None
