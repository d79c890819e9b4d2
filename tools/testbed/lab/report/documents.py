# SPDX-License-Identifier: GPL-2.0
"""Numbers of results in texts: references are replaced by values from the committed records.

A scenario's text has `{{...}}` (model/references.py), and the page has the value. A document is read as it stands, so
it has both: `<!--{{players: misses of player in cfq-bw N=16}}-->0<!---->`. A whole table stands between
`<!--{{table SCENARIO "TITLE OF VIEW" configs=A,B}}-->` and `<!---->`. The cover letters have both as well, and tables
without Markdown; `queue submit-check` sends them without the marks.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from tools.base import text
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.files import write_if_changed
from tools.base.paths import DOCUMENTS, ROOT, TOOLS

from ..model.errors import BadValue
from ..model.reading import Names
from ..model.references import REFERENCE, Reference, Value, parse
from ..model.results import Result
from ..model.scenario import Scenario
from ..model.units import SCALES
from ..run import expect
from . import result_tables

DOCUMENTS_WITH_RESULTS = (ROOT / "README.md", DOCUMENTS / "administrators.md", DOCUMENTS / "developing.md",
                          DOCUMENTS / "submitting.md", *sorted((ROOT / "patches/cover").glob("*.txt")))
COSTS = TOOLS / "user/bwctl/costs.h"  # of settings, for `bwctl check`; made from costs.h.in
FILLED = re.compile(r"(<!--\{\{(.*?)\}\}-->)(.*?)(<!---->)", re.DOTALL)
TABLE = re.compile(r"table (.*)", re.DOTALL)

NO_RESULTS = "no results yet"
Found = tuple[Result, Scenario] | None  # None: a scenario without committed results


def number(value: float, of: Value) -> str:
    """With its unit: three significant digits, or as many behind the point as the reference says."""
    value /= SCALES[of.unit]
    if of.digits is not None:
        shown = f"{value:.{of.digits}f}"
    elif value == int(value) and abs(value) < 1e6:
        shown = f"{int(value):,}"
    else:
        shown = f"{float(f'{value:.3g}'):,g}"
    return shown + ("%" if of.unit == "%" else f" {of.unit}" if of.unit else "")


def value_of(reference: Reference, result: Result) -> str:
    """The text that a reference stands for. Raises BadValue if no run, or more than one, is meant."""
    values = []
    for select in reference.selects:
        found = expect.values_of(result, select)
        if found is None or len(found) != 1:
            count = "no run that was made" if found is None else f"{len(found)} runs"
            raise BadValue(f"{{{{{reference.text}}}}}: {count}; depth=, KEY=LABEL, in CONFIG or over= chooses")
        values.append(found[0][1])
    if not reference.per:
        return number(values[0], reference.value)
    if not values[1]:
        raise BadValue(f"{{{{{reference.text}}}}}: the second value is 0")
    return number(values[0] / values[1], replace(reference.value, unit=""))


def filled(source: str, result: Result) -> str:
    """A scenario's text with the values in it."""
    return REFERENCE.sub(lambda found: value_of(parse(found[1]), result), source)


def fill_in(path: Path, results: Mapping[str, Found]) -> bool:
    """Bring the values in a document up to date; whether the file changed."""
    if not path.is_file():
        return False
    return write_if_changed(path, with_values(path.read_text(), results, path.name).encode())


def with_values(source: str, results: Mapping[str, Found], name: str) -> str:
    """A document with the values of today's records."""

    def one(found: re.Match[str]) -> str:
        head, inner, _, end = found.groups()
        try:
            if table := TABLE.fullmatch(inner):
                return f"{head}\n\n{_table(table[1], results, plain=name.endswith('.txt'))}\n\n{end}"
            return f"{head}{_value(inner, results)}{end}"
        except BadValue as error:
            raise ToolError(f"{name}: {error}", EXIT_USAGE) from None

    return FILLED.sub(one, source)


def costs(results: Mapping[str, Found]) -> str:
    """The text of COSTS, with the values of today's records."""
    try:
        return REFERENCE.sub(lambda found: _value(found[1], results), COSTS.with_name(f"{COSTS.name}.in").read_text())
    except BadValue as error:
        raise ToolError(f"{COSTS.name}.in: {error}", EXIT_USAGE) from None


def _value(inner: str, results: Mapping[str, Found]) -> str:
    """What a reference of a document stands for."""
    reference = parse(inner)
    of = _result(reference.scenario, results)
    return value_of(reference, of[0]) if of else NO_RESULTS


def _result(scenario: str, results: Mapping[str, Found]) -> Found:
    if scenario not in results:
        raise BadValue(f"no scenario '{scenario}'")
    return results[scenario]


def _table(words: str, results: Mapping[str, Found], plain: bool) -> str:
    """A view of a scenario, with some configurations only. @plain: for a mail, not in Markdown"""
    name, title, *more = shlex.split(words)
    of = _result(name, results)
    if not of:
        return NO_RESULTS
    result, scenario = of
    views = [view for view in scenario.views if view.title == title]
    if not views:
        raise BadValue(f"{name} has no view '{title}' (it has {', '.join(view.title for view in scenario.views)})")
    view = views[0]
    for word in more:
        key, _, value = word.partition("=")
        if key != "configs":
            raise BadValue(f"table {words}: '{word}' is not configs=A,B")
        view = structs.replace(view, configs=Names(value.split(",")))
    rows = result_tables.view_rows(result, view, scenario)
    return textwrap.indent(text.table(*rows), "  ") if plain else text.markdown(*rows)
