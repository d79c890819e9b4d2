# SPDX-License-Identifier: GPL-2.0
"""Tables of a TOML file with the places of their keys, and checks of single values.

A check takes what TOML has and returns what the program uses, or raises BadValue.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import tomllines
from .errors import BadValue, ScenarioError
from .tomllines import Path

Value = Any  # of TOML, whatever its type is
T = TypeVar("T")

SETTING = re.compile(r"[a-z0-9_]+")
TYPES = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", list: "an array", dict: "a table"}


class Where:
    """Turns the path of a key into file:line for a message."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.lines = tomllines.key_lines(source)

    def error(self, path: Path, what: str) -> ScenarioError:
        key = ".".join(str(part) for part in path)
        return ScenarioError(self.name, tomllines.line_of(self.lines, path), key, what.replace("\n", "\\n"))


class Reader:
    """A table that knows its place, and which of its keys were asked for."""

    def __init__(self, table: Value, where: Where, path: Path) -> None:
        self.where = where
        self.path = path
        if not isinstance(table, dict):
            raise self.error("", f"must be a table, not {type_name(table)}")
        self.table = table
        self.asked: set[str] = set()

    def error(self, key: str, what: str) -> ScenarioError:
        """Of the key, or of the table itself."""
        return self.where.error(self.path + ((key,) if key else ()), what)

    def need(self, key: str, check: Callable[[Value], T]) -> T:
        """The value of a key that must be there."""
        self.asked.add(key)
        if key not in self.table:
            raise self.error("", f"'{key}' is missing")
        try:
            return check(self.table[key])
        except ValueError as error:
            raise self.error(key, str(error)) from None

    def take(self, key: str, check: Callable[[Value], T], default: T) -> T:
        """The value of a key, or the default."""
        self.asked.add(key)
        return self.need(key, check) if key in self.table else default

    def table_of(self, key: str) -> Reader:
        """The table, or an empty one."""
        self.asked.add(key)
        return Reader(self.table.get(key, {}), self.where, self.path + (key,))

    def tables_of(self, key: str) -> list[Reader]:
        """The [[key]] tables."""
        self.asked.add(key)
        value = self.table.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"must be [[{key}]] tables, not {type_name(value)}")
        return [Reader(item, self.where, self.path + (key, index)) for index, item in enumerate(value)]

    def check_names(self, key: str, used: Iterable[str], known: Iterable[str], what: str) -> None:
        """What the value of a key names must be known."""
        known = sorted(known)
        for name in used:
            if name not in known:
                raise self.error(key, f"no {what} '{name}' (known: {', '.join(known)})")

    def finish(self) -> None:
        """Refuse keys that nothing asked for."""
        for key in self.table:
            if key not in self.asked:
                known = ", ".join(sorted(self.asked))
                raise self.error(key, f"unknown key (known here: {known})")


def read(name: str, source: str) -> Reader:
    """The whole of a file."""
    try:
        table = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        what = re.sub(r" \(at line .*", "", str(error))
        raise ScenarioError(name, int(found[1]) if found else None, "", f"not TOML: {what}") from None
    return Reader(table, Where(name, source), ())


def type_name(value: Value) -> str:
    return TYPES.get(type(value), type(value).__name__)


def anything(value: Value) -> Value:
    return value


def text(value: Value) -> str:
    if not isinstance(value, str):
        raise BadValue(f"must be a string, not {type_name(value)}")
    return value


def boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"must be true or false, not {type_name(value)}")
    return value


def table(value: Value) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise BadValue(f"must be a table, not {type_name(value)}")
    return value


def one_or_more(value: Value) -> list[Value]:
    """An array, or its only element."""
    return value if isinstance(value, list) else [value]


def integer(low: int, high: int) -> Callable[[Value], int]:
    def check(value: Value) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadValue(f"must be an integer, not {type_name(value)}")
        return _within(value, low, high)

    return check


def number(low: float, high: float) -> Callable[[Value], float]:
    def check(value: Value) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadValue(f"must be a number, not {type_name(value)}")
        return _within(value, low, high)

    return check


Number = TypeVar("Number", int, float)


def _within(value: Number, low: float, high: float) -> Number:
    if not low <= value <= high:
        raise BadValue(f"{value} is not in {low}..{high}")
    return value


def one_of(*words: str) -> Callable[[Value], str]:
    def check(value: Value) -> str:
        if value not in words:
            raise BadValue(f"{value!r} is not one of {', '.join(words)}")
        return str(value)

    return check


def names(value: Value) -> tuple[str, ...]:
    return tuple(text(item) for item in one_or_more(value))


def setting(value: Value) -> str:
    """A value as it is written to the kernel's file."""
    if not isinstance(value, str | int | float):
        raise BadValue(f"must be a string or number, not {type_name(value)}")
    written = str(int(value) if isinstance(value, bool) else value)
    if not re.fullmatch(r"\S(.*\S)?", written):
        raise BadValue("must be one line that is not empty")
    return written


def settings(value: Value) -> dict[str, str]:
    found = {}
    for key, item in table(value).items():
        if not SETTING.fullmatch(key):
            raise BadValue(f"'{key}' is not the name of a setting")
        try:
            found[key] = setting(item)
        except BadValue as error:
            raise BadValue(f"'{key}' {error}") from None
    return found


def rows(value: Value) -> list[list[str]]:
    """Rows of a table of texts."""
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise BadValue("must be an array of rows, each an array of strings")
    return [[text(cell) for cell in row] for row in value]
