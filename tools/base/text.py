# SPDX-License-Identifier: GPL-2.0
"""Formats tables and times."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[str]


def table(header: Row, rows: Sequence[Row], columns: str = "", rule: bool = True) -> str:
    """A table as text: the first column left-aligned, the others right-aligned.

    @columns: l or r for each column, instead
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    sides = _sides(header, columns)

    def line(row: Row) -> str:
        return "  ".join(cell.ljust(width) if side == "l" else cell.rjust(width)
                         for cell, width, side in zip(row, widths, sides, strict=True)).rstrip()

    lines = ["  ".join("-" * width for width in widths)] if rule else []
    return "\n".join([line(header), *lines, *map(line, rows)])


def markdown(header: Row, rows: Sequence[Row], columns: str = "") -> str:
    """A table in Markdown: the first column left-aligned, the others right-aligned.

    @columns: l or r for each column, instead
    """
    rule = ["---" if side == "l" else "---:" for side in _sides(header, columns)]

    def line(row: Row) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

    return "\n".join([line(header), "|" + "|".join(rule) + "|",
                      *map(line, rows)])


def _sides(header: Row, columns: str) -> str:
    return columns or "l" + "r" * (len(header) - 1)


def minutes(seconds: float) -> str:
    """Seconds as minutes: 62.4 as 1:02"""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
