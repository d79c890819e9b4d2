# SPDX-License-Identifier: GPL-2.0
"""Control groups (v2) that a scenario's processes are in, and what a configuration sets in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .errors import BadValue
from .reading import Value, setting, table, text

MOUNTED = "/sys/fs/cgroup"
ROOT = "root"
CONTROLLERS = "+io +memory"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
FILE = re.compile(r"[a-z]+(\.[a-z0-9_]+)+")
# Before a value that is for one device; the kernel wants its numbers there.
DEVICE = "DEV "


def name(value: Value) -> str:
    """What a control group may be called."""
    if not NAME.fullmatch(text(value)) or value == ROOT:
        raise BadValue(f"{value!r} is no name of a control group: small letters, digits and -, and not {ROOT}")
    return str(value)


def settings(value: Value) -> dict[str, dict[str, str]]:
    """The files of control groups, and what is written to them."""
    found: dict[str, dict[str, str]] = {}
    for group, files in table(value).items():
        found[group] = {}
        for file, item in table(files).items():
            if not FILE.fullmatch(file):
                raise BadValue(f"'{file}' is not the name of a control group's file")
            found[group][file] = setting(item)
    return found


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
