# SPDX-License-Identifier: GPL-2.0
"""Tables in text and Markdown."""

from __future__ import annotations

from tools.base import text


def test_table_has_the_first_column_on_the_left_or_the_given_alignment() -> None:
    rows = [["one", "1", "why"], ["two", "10", ""]]
    assert text.table(["what", "n", "reason"], rows).splitlines() == [
        "what   n  reason", "----  --  ------", "one    1     why", "two   10"]
    assert text.table(["what", "n", "reason"], rows, "lrl", rule=False).splitlines() == [
        "what   n  reason", "one    1  why", "two   10"]


def test_markdown_has_the_first_column_on_the_left_or_the_given_alignment() -> None:
    rows = [["a|b", "1", "why"]]
    assert text.markdown(["what", "number", "reason"], rows) == (
        "| what | number | reason |\n|---|---:|---:|\n| a\\|b | 1 | why |")
    assert text.markdown(["what", "number", "reason"], rows, "lrl").splitlines()[1] == "|---|---:|---|"
