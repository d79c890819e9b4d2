# SPDX-License-Identifier: GPL-2.0
"""Tables and amounts of time for people."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[str]


def table(header: Row, rows: Sequence[Row], left: int = 1, rule: bool = True) -> str:
    """Columns as wide as they must be: the first @left to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: Row) -> str:
        return "  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                         for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()

    lines = ["  ".join("-" * width for width in widths)] if rule else []
    return "\n".join([line(header), *lines, *map(line, rows)])


def markdown(header: Row, rows: Sequence[Row], columns: str = "") -> str:
    """A table of Markdown: the first column to the left, the others to the right.

    @columns: l or r for each, instead
    """
    rule = ["---" if side == "l" else "---:" for side in columns or "l" + "r" * (len(header) - 1)]

    def line(row: Row) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

    return "\n".join([line(header), "|" + "|".join(rule) + "|",
                      *map(line, rows)])


def minutes(seconds: float) -> str:
    """62.4 as 1:02"""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
