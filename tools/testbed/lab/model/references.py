# SPDX-License-Identifier: GPL-2.0
"""References to results in prose: `{{misses of hd in cfq-bw depth=31 N=25}}` stands for the number.

    {{METRIC of GROUP,... in CONFIG KEY=VALUE ... as UNIT .DIGITS}}    all but the metric may be left out
    {{A / B}}                                                          the ratio of two such values
    {{SCENARIO: ...}}                                                  in a document, which belongs to no scenario

KEY is `depth`, a key of [vary], `reduce` (over the processes of a run, default: sum) or `over` (over the runs,
default: each, which names exactly one run).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace

from .errors import BadValue
from .scenario import Scenario, Select

REFERENCE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
DOCUMENT = re.compile(r"([a-z0-9/-]+): (.*)", re.DOTALL)


@dataclass(frozen=True)
class Value:
    """One value and how it is written."""

    select: Select = field(default_factory=Select)
    unit: str = ""
    digits: int | None = None  # behind the point; None: three significant digits


@dataclass(frozen=True)
class Reference:
    """A value, or with @per its ratio to another one. @scenario: in a document."""

    text: str
    value: Value
    per: Value | None = None
    scenario: str = ""

    @property
    def selects(self) -> list[Select]:
        return [self.value.select, *([self.per.select] if self.per else [])]


def parse(text: str) -> Reference:
    """The text between the braces."""
    scenario, inner = "", " ".join(text.split())
    if found := DOCUMENT.fullmatch(inner):
        scenario, inner = found.groups()
    first, slash, second = inner.partition(" / ")
    try:
        return Reference(text, _value(first), _value(second) if slash else None, scenario)
    except ValueError as error:
        raise BadValue(f"{{{{{text}}}}}: {error}") from None


def _value(text: str) -> Value:
    words = shlex.split(text)
    if not words:
        raise ValueError("names no metric")
    select, unit, digits = Select(metric=words[0]), "", None
    rest = iter(words[1:])
    for word in rest:
        key, equals, value = word.partition("=")
        if word == "of":
            select = replace(select, groups=tuple(next(rest, "").split(",")))
        elif word == "in":
            select = replace(select, config=(next(rest, ""),))
        elif word == "as":
            unit = next(rest, "")
        elif re.fullmatch(r"\.\d", word):
            digits = int(word[1:])
        elif not equals:
            raise ValueError(f"'{word}' is none of: of GROUP, in CONFIG, KEY=VALUE, as UNIT, .DIGITS")
        elif key == "depth":
            select = replace(select, depth=(int(value),))
        elif key in ("reduce", "over"):
            select = replace(select, reduce=value) if key == "reduce" else replace(select, over=value)
        else:
            select = replace(select, vary=select.vary | {key: (value,)})
    return Value(select, unit, digits)


def of_scenario(scenario: Scenario) -> list[Reference]:
    """The references in a scenario's texts."""
    texts = (scenario.about, scenario.must_show, scenario.differences)
    return [parse(found) for text in texts for found in REFERENCE.findall(text)]
