# SPDX-License-Identifier: GPL-2.0
"""TOML to Structs of msgspec: kinds of values that msgspec does not have, and errors with the place of a key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path as FilePath
from typing import Annotated, Any, Self, TypeVar

import msgspec
from msgspec import inspect

from . import tomllines, units
from .errors import BadValue, ScenarioError
from .tomllines import Path

Value = Any  # of TOML, whatever its type is
T = TypeVar("T")

SETTING = re.compile(r"[a-z0-9_]+")
# What msgspec calls types, and what people do.
TYPES = {"str": "a string", "int": "an integer", "float": "a number", "bool": "a boolean", "array": "an array",
         "object": "a table"}
_PLACE = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")


class Where:
    """Turns the path of a key into file:line for a message."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.lines = tomllines.key_lines(source)

    def error(self, path: Path, what: str) -> ScenarioError:
        key = ".".join(str(part) for part in path)
        return ScenarioError(self.name, tomllines.line_of(self.lines, path), key, what.replace("\n", "\\n"))

    def convert(self, value: Value, kind: type[T], *path: str | int) -> T:
        """What the file has at @path, as a Struct."""
        try:
            return convert(value, kind)
        except BadValue as error:
            raise self.error((*path, *error.path), str(error)) from None


def convert(value: Value, kind: type[T]) -> T:
    """A value of TOML as a type that msgspec knows or that has a method read(); BadValue with what is wrong."""
    found: T = _convert(value, kind)
    return found


def _convert(value: Value, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, dec_hook=lambda special, raw: special.read(raw))
    except msgspec.ValidationError as error:
        raise _told(error, value, kind) from None


def _told(error: msgspec.ValidationError, value: Value, kind: Any) -> BadValue:
    """msgspec's message in the terms of TOML, and where in @value it is."""
    what, place = str(error), _PLACE.search(str(error))
    path: list[str | int] = []
    for step in _STEP.finditer(place[1] if place else ""):
        if step[0] == "[...]":  # a value of a table: msgspec does not say which
            break
        path.append(step[1] or int(step[2]))
    what = what[:place.start()] if place else what
    info: inspect.Type | None = inspect.type_info(kind)
    for key in path:
        value, info = value[key], _inside(info, key)
    if isinstance(error.__cause__, BadValue):
        path += error.__cause__.path
    elif found := re.fullmatch(r"Object contains unknown field `(.*)`", what):
        path.append(found[1])
        known = sorted(field.encode_name for field in _fields(info))
        what = f"unknown key (known here: {', '.join(known)})"
    elif found := re.fullmatch(r"Object missing required field `(.*)`", what):
        what = f"'{found[1]}' is missing"
    elif found := re.fullmatch(r"Expected `([^`]*)`, got `(\w+)`", what):
        wanted = " or ".join(TYPES.get(name, name) for name in found[1].split(" | ") if name != "null")
        what = f"must be {wanted}, not {TYPES.get(found[2], found[2])}"
    elif re.fullmatch(r"Expected `\w+` [<>]=? .*", what):
        what = f"{value} is not in {_range(info)}"
    elif what.startswith("Invalid enum value"):
        what = f"{value!r} is not one of {', '.join(map(str, _literals(info)))}"
    return BadValue(what, *path)


def plain(info: inspect.Type | None) -> inspect.Type | None:
    return info.type if isinstance(info, inspect.Metadata) else info


def _alternatives(info: inspect.Type | None) -> tuple[inspect.Type | None, ...]:
    info = plain(info)
    return tuple(map(plain, info.types)) if isinstance(info, inspect.UnionType) else (info,)


def _fields(info: inspect.Type | None) -> tuple[inspect.Field, ...]:
    return next((one.fields for one in _alternatives(info) if isinstance(one, inspect.StructType)), ())


def _literals(info: inspect.Type | None) -> tuple[object, ...]:
    return next((one.values for one in _alternatives(info) if isinstance(one, inspect.LiteralType)), ())


def _range(info: inspect.Type | None) -> str:
    numbers = (inspect.IntType, inspect.FloatType)
    return next((f"{one.ge}..{one.le}" for one in _alternatives(info) if isinstance(one, numbers)), "")


def _inside(info: inspect.Type | None, key: str | int) -> inspect.Type | None:
    """The type of a field or of an array's elements."""
    if isinstance(key, int):
        arrays = (inspect.ListType, inspect.VarTupleType)
        return next((one.item_type for one in _alternatives(info) if isinstance(one, arrays)), None)
    return next((field.type for field in _fields(info) if field.encode_name == key), None)


def read(name: str, source: str) -> tuple[dict[str, Value], Where]:
    """The whole of a file."""
    try:
        return tomllib.loads(source), Where(name, source)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        what = re.sub(r" \(at line .*", "", str(error))
        raise ScenarioError(name, int(found[1]) if found else None, "", f"not TOML: {what}") from None


def load(path: FilePath, kind: type[T]) -> T:
    """A file of this project, as a Struct."""
    raw, where = read(path.name, path.read_text())
    return where.convert(raw, kind)


def table(value: Value) -> dict[str, Value]:
    return convert(value, dict[str, Any])


def one_or_more(value: Value) -> list[Value]:
    """An array, or its only element."""
    return value if isinstance(value, list) else [value]


def setting(value: Value) -> str:
    """A value as it is written to the kernel's file."""
    if not isinstance(value, str | int | float):
        names: dict[type, str] = {list: "an array", dict: "a table"}
        raise BadValue(f"must be a string or number, not {names.get(type(value), type(value).__name__)}")
    written = str(int(value) if isinstance(value, bool) else value)
    if not re.fullmatch(r"\S(.*\S)?", written):
        raise BadValue("must be one line that is not empty")
    return written


class Names(tuple[str, ...]):
    """One name or an array of them."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Value) -> Names:
        return cls(convert(item, str) for item in one_or_more(value))


class Depths(tuple[int, ...]):
    """Queue depths of a drive, one or an array of them."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Value) -> Depths:
        if value == []:
            raise BadValue("names no queue depth")
        within = Annotated[int, msgspec.Meta(ge=1, le=1024)]
        return cls(_convert(item, within) for item in one_or_more(value))


class Labels(dict[str, tuple[str, ...]]):
    """Labels of [vary] keys: one or an array for each key."""

    @classmethod
    def read(cls, value: Value) -> Labels:
        if [] in table(value).values():
            raise BadValue("names no label")
        return cls({key: tuple(map(str, one_or_more(items))) for key, items in value.items()})


class Settings(dict[str, str]):
    """Values for files of the kernel, by their names."""

    NAME = SETTING
    WHAT = "a setting"

    @classmethod
    def read(cls, value: Value) -> Self:
        found = cls()
        for key, item in table(value).items():
            if not cls.NAME.fullmatch(key):
                raise BadValue(f"'{key}' is not the name of {cls.WHAT}")
            try:
                found[key] = setting(item)
            except BadValue as error:
                raise BadValue(f"'{key}' {error}") from None
        return found


class Size(int):
    """Bytes, as 3145728 or "3MiB"."""

    @classmethod
    def read(cls, value: Value) -> Size:
        return cls(units.parse_size(value))


class Rate(int):
    """Bytes a second, as "3MiB/s"."""

    @classmethod
    def read(cls, value: Value) -> Rate:
        return cls(units.parse_rate(value))
