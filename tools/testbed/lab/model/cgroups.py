# SPDX-License-Identifier: GPL-2.0
"""Control groups (v2) that a scenario's processes are in, and what a configuration sets in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .errors import BadValue
from .reading import Settings, Value, convert, table

MOUNTED = "/sys/fs/cgroup"
ROOT = "root"
CONTROLLERS = "+io +memory"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
FILE = re.compile(r"[a-z]+(\.[a-z0-9_]+)+")
# Before a value that is for one device; the kernel wants its numbers there.
DEVICE = "DEV "


class Name(str):
    """What a control group may be called."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Value) -> Name:
        if not NAME.fullmatch(convert(value, str)) or value == ROOT:
            raise BadValue(f"{value!r} is no name of a control group: small letters, digits and -, and not {ROOT}")
        return cls(value)


class FilesOfOne(Settings):
    """The files of a control group, and what is written to them."""

    NAME = FILE
    WHAT = "a control group's file"


class Files(dict[str, dict[str, str]]):
    """The files of control groups."""

    @classmethod
    def read(cls, value: Value) -> Files:
        return cls({group: FilesOfOne.read(files) for group, files in table(value).items()})


def folder(group: str) -> str:
    return MOUNTED if group == ROOT else f"{MOUNTED}/{group}"


def job_lines(groups: Iterable[str], files: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Make the groups, and set what @files says; nothing where nobody is in one."""
    names = sorted(set(groups))
    if not names:
        return []
    lines = [f"mount cgroup2 cgroup2 {MOUNTED}",
             f"write {MOUNTED}/cgroup.subtree_control {CONTROLLERS}"]
    lines += [f"mkdir {folder(group)}" for group in names]
    for group, settings_of in files.items():
        for file, value in settings_of.items():
            verb = "write_for_device" if value.startswith(DEVICE) else "write"
            lines.append(f"{verb} {folder(group)}/{file} {value.removeprefix(DEVICE)}")
    return lines
