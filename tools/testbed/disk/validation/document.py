# SPDX-License-Identifier: GPL-2.0
"""Writes the results into disk-validation.md, between two marks; the rest of the page is written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tools.base.code_id import DISK_MODEL, code_id, of_patches
from tools.base.files import write_whole
from tools.base.paths import DOCUMENTS
from tools.testbed.disk.errors import DiskError

from . import demerit, plot
from .replay import Times

PAGE = DOCUMENTS / "disk-validation.md"
PICTURE = DOCUMENTS / "figures" / "disk-validation.svg"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"


def figures(text: str, path: Path = PAGE) -> str:
    """The part of the page between the marks."""
    before, begin, rest = text.partition(BEGIN)
    inside, end, after = rest.partition(END)
    if not (begin and end):
        raise DiskError(f"{path}: the marks '{BEGIN.strip()}' and '{END.strip()}' for the results are missing")
    return inside


def written(found: Sequence[Times], code: str) -> str:
    """The text between the marks, from response times."""
    return (f"{of_patches(code, *DISK_MODEL)}\n\n{demerit.markdown([one.verdict() for one in found])}\n\n"
            f"![Distributions of response times](figures/{PICTURE.name})\n")


def write(found: Sequence[Times], path: Path = PAGE, picture: Path = PICTURE) -> None:
    text = path.read_text()
    old = figures(text, path)
    plot.write(found, picture)
    write_whole(path, text.replace(BEGIN + old + END, BEGIN + written(found, code_id(folders=DISK_MODEL)) + END))
