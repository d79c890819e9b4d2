# SPDX-License-Identifier: GPL-2.0
"""C source as the compiler sees it: without comments and blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A comment, or what only looks like the beginning of one inside a literal.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
ENDS_COMMENT = re.compile(r"\A(?:(?!/\*).)*?\*/", re.DOTALL)  # of a text that begins inside a comment
INNER_LINE = re.compile(r"\s*\*(?:\s|$)")  # of a comment of several lines, as the kernel writes them


def stripped(text: str, fragment: bool = False) -> list[str]:
    """The lines that are left, without white space at their ends.

    @fragment: the text is a part of a file, and may begin inside a comment
    """
    if fragment:
        text = ENDS_COMMENT.sub("", text, count=1)
        lines = text.split("\n")
        while lines and INNER_LINE.match(lines[0]):
            del lines[0]
        text = "\n".join(lines)
    code = TOKEN.sub(lambda found: " " if found[0].startswith("/") else found[0], text)
    return [line.rstrip() for line in code.split("\n") if line.strip()]


def stripped_runs(parts: Iterable[tuple[int, int] | str]) -> list[tuple[int, int] | str]:
    """The same for lines between parts of a file that are known by their numbers only."""
    done: list[tuple[int, int] | str] = []
    run: list[str] = []
    for part in [*parts, None]:
        if isinstance(part, str):
            run.append(part)
            continue
        done += stripped("\n".join(run), fragment=bool(done))
        run = []
        if part is not None:
            done.append(part)
    return done
