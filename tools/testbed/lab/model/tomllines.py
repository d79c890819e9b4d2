# SPDX-License-Identifier: GPL-2.0
"""Which line of a TOML file a key stands on; tomllib does not say."""

import re
import tomllib
from collections.abc import Iterator

# What decides where a statement ends: strings and comments hide brackets and line ends. Up to
# two quotes may stand before the three that close a string.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_NAME = rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*"
_STATEMENT = re.compile(rf"\s*(?:\[\[{_NAME}\]\]|\[{_NAME}\]|{_NAME}=)")

Path = tuple[str | int, ...]


def key_lines(text: str) -> dict[Path, int]:
    """Map each key's path (indices for arrays of tables) of a valid file to its line, from 1 on.

    Keys inside an inline table are not listed: line_of() answers for them with
    the line of the nearest key around them.
    """
    lines: dict[Path, int] = {}
    counts: dict[tuple[str, ...], int] = {}
    table: Path = ()
    for number, statement in _statements(text):
        found = _STATEMENT.match(statement)
        if not found:
            continue
        array, plain, key = found.groups()
        name = _parts(array or plain or key)
        if key:
            for end in range(1, len(name) + 1):
                lines.setdefault(table + name[:end], number)
            continue
        if array:
            counts[name] = counts.get(name, -1) + 1
        table = _indexed(name, counts)
        lines[table] = number
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header and each key with its value, which may have several lines, and the first of its lines."""
    start = depth = 0
    number = 1
    text += "\n"
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif token[0] == "\n" and not depth:
            statement = text[start : token.end()]
            yield number, statement
            number += statement.count("\n")
            start = token.end()


def _parts(dotted: str) -> tuple[str, ...]:
    """The keys of a.'b.c'."""
    parts = []
    table = tomllib.loads(f"{dotted} = 0")
    while isinstance(table, dict):
        ((key, table),) = table.items()
        parts.append(key)
    return tuple(parts)


def _indexed(name: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> Path:
    """A table's name with the index of the array element that it belongs to."""
    path: Path = ()
    for end in range(1, len(name) + 1):
        path += (name[end - 1],)
        if name[:end] in counts:
            path += (counts[name[:end]],)
    return path


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a key, or of the nearest thing around it that has one."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None
