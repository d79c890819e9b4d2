# SPDX-License-Identifier: GPL-2.0
"""Parts of the queue that are series of their own, as tools/queue/groups names them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.base.cli import ToolError

from .common import PLAIN_GIT, Project, git
from .findings import Finding, measured

GROUPS = "tools/queue/groups"


@dataclass
class Group:
    """A part of the queue that is a series of its own, and what it stands on."""

    name: str
    on: str
    numbers: list[int] = field(default_factory=list)  # of its patches, from 1 on


def group_findings(project: Project, linux: Path, patches: Sequence[Path]) -> list[Finding]:
    """Of each group, what keeps it from applying to the base and the groups it stands on."""
    try:
        groups = read_groups(project, patches)
    except ToolError as error:
        return [Finding("groups", "could not be read", (str(error),))]
    found = []
    for group in groups.values():
        under: list[Group] = []
        below = group.on
        while below:
            under.insert(0, groups[below])
            below = groups[below].on
        on = " and ".join(each.name for each in under) or "the base"
        parts = [patches[number - 1] for each in (*under, group) for number in sorted(each.numbers)]
        found.append(measured("groups", f"{group.name}, {spans(sorted(group.numbers))}, on {on}",
                              problems, project, linux, parts))
    return found


def read_groups(project: Project, patches: Sequence[Path]) -> dict[str, Group]:
    """Lines 'NAME [on NAME]:', and below each the subjects of its patches; every patch in one group."""
    path = project.root / GROUPS
    groups: dict[str, Group] = {}
    known = {subject(patch.name): number for number, patch in enumerate(patches, 1)}
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        words = line.partition("#")[0].rstrip()
        try:
            if words:
                read_line(words, groups, known)
        except ValueError as error:
            raise ToolError(f"{GROUPS}:{number}: {error}") from None
    taken = {number for group in groups.values() for number in group.numbers}
    missing = [name for name, number in known.items() if number not in taken]
    if groups and missing:
        raise ToolError(f"{GROUPS}: {missing[0]} is in no group")
    return groups


def read_line(words: str, groups: dict[str, Group], known: Mapping[str, int]) -> None:
    """Begin a group, or put a patch into the last."""
    if head := re.fullmatch(r"(\w+)(?: +on +(\w+))? *:", words):
        name, on = head.groups(default="")
        if on and on not in groups:
            raise ValueError(f"{name} is on {on}, which is not named above it")
        if name in groups:
            raise ValueError(f"there is a group {name} above it")
        groups[name] = Group(name, on)
        return
    patch = words.strip()
    if not groups or not re.fullmatch(r"\s+\S+", words):
        raise ValueError(f"'{patch}' is neither 'NAME [on NAME]:' nor, below one, the subject of a patch")
    number = known.get(subject(patch))
    if number is None:
        raise ValueError(f"no patch of series is named NNNN-{subject(patch)}.patch")
    for group in groups.values():
        if number in group.numbers:
            raise ValueError(f"{patch} is in {group.name} already")
    group.numbers.append(number)


def subject(name: str) -> str:
    """A patch's subject as its file has it, without number."""
    return re.sub(r"^\d+-", "", name).removesuffix(".patch")


def spans(numbers: Sequence[int]) -> str:
    """1,2,3,7 as 1-3,7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def problems(project: Project, linux: Path, patches: Sequence[Path]) -> list[str]:
    """The first patch that does not apply after those before; in an index of its own."""
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        env = {**PLAIN_GIT, "GIT_INDEX_FILE": str(Path(work) / "index")}
        git(linux, "read-tree", "base", env=env)
        for path in patches:
            done = git(linux, "apply", "--cached", "--whitespace=nowarn", path,
                       check=False, env=env)
            if done.returncode:
                said = re.sub(r"^error: (?:patch failed: )?", "", done.stderr).splitlines()
                return [f"{path.name}: {(said or ['no message'])[0]}"]
    return []
