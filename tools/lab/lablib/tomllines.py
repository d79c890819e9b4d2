# SPDX-License-Identifier: GPL-2.0-only
"""Which line of a TOML file a key stands on; tomllib does not say."""

import re

_TABLE = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ARRAY = re.compile(r"^\s*\[\[\s*([^\[\]]+?)\s*\]\]\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_\-\.\"']+(?:\s*\.\s*[A-Za-z0-9_\-\"']+)*)\s*=")

Path = tuple[str | int, ...]


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def key_lines(text: str) -> dict[Path, int]:
    """Map each key's path (indices for arrays of tables) to its line, from 1 on.

    Keys inside an inline table are not listed: line_of() answers for them with
    the line of the nearest key around them.
    """
    lines: dict[Path, int] = {}
    counts: dict[tuple[str, ...], int] = {}
    table: Path = ()
    in_string = False
    for number, line in enumerate(text.splitlines(), 1):
        triples = line.count('"""') + line.count("'''")
        if in_string:
            in_string = triples % 2 == 0
            continue
        array = _ARRAY.match(line)
        plain = _TABLE.match(line)
        key = _KEY.match(line)
        if array:
            name = _parts(array[1])
            index = counts.get(name, -1) + 1
            counts[name] = index
            table = _indexed(name[:-1], counts) + (name[-1], index)
            lines[table] = number
        elif plain:
            table = _indexed(_parts(plain[1]), counts)
            lines[table] = number
        elif key:
            path = table
            for part in _parts(key[1]):
                path += (part,)
                lines.setdefault(path, number)
        in_string = triples % 2 == 1
    return lines


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
