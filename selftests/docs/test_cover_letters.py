# SPDX-License-Identifier: GPL-2.0
"""The numbers in tables of the cover letters are those of the evaluation, if they come from a scenario."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.base.paths import ROOT
from tools.testbed.lab.model.catalog import find_scenario, record_of
from tools.testbed.lab.report import result_tables
from tools.testbed.lab.run import figures as records

LETTERS = sorted((ROOT / "patches/cover").glob("*.txt"))
FIGURE = r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w.%]|,\d)"


def tables(letter: str) -> Iterator[tuple[str, list[str]]]:
    """The scenario, and the numbers in the columns above the line that names it."""
    rows: list[str] = []
    for line in letter.splitlines():
        if command := re.match(r" +\(`lab run ([\w-]+)", line):
            yield command.group(1), [figure for row in rows for figure in columns(row)]
            rows = []
        elif not line:
            rows = []
        else:
            rows.append(line)


def columns(row: str) -> list[str]:
    """The cells after the text of a row; two or more spaces separate them."""
    cells = re.split(r" {2,}", row.strip())
    return cells[1:] if cells[1:] and all(re.fullmatch(FIGURE, cell) for cell in cells[1:]) else []


def is_there(figure: str, found: list[str]) -> bool:
    """Whether the number is found, rounded to its digits."""
    digits = len(figure.partition(".")[2])
    value = float(figure.replace(",", ""))
    return any(abs(float(one.replace(",", "")) - value) <= 0.5 * 10**-digits + 1e-9 for one in found)


def values(name: str) -> list[str]:
    """All that the tables of a scenario have, from its committed results; a range has two values."""
    scenario = find_scenario(name)
    result = records.load(record_of(name), scenario)
    tables = (result_tables.view_rows(result, view, scenario)[1] for view in scenario.views)
    return re.findall(FIGURE, " ".join(cell for rows in tables for row in rows for cell in row).replace("..", " "))


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_numbers_of_a_letter_are_those_of_the_evaluation(letter: Path) -> None:
    text = letter.read_text()
    missing = []
    for scenario, figures in tables(text):
        if not record_of(scenario).is_file():
            continue  # `make submit-check` wants it
        found = values(scenario)
        missing += [f"{scenario}: {figure}" for figure in figures if not is_there(figure, found)]
    assert not missing, f"{letter.name} has numbers that are not in the evaluation: {', '.join(missing)}"


def test_letters_with_tables_are_checked() -> None:
    counts = {letter.stem: sum(len(figures) for _, figures in tables(letter.read_text())) for letter in LETTERS}
    assert counts["cfq"] > 20 and counts["bandwidth"] > 10, counts
