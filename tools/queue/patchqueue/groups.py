# SPDX-License-Identifier: GPL-2.0
"""Parts of the queue that are series of their own, as tools/queue/groups names them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .common import PLAIN_GIT, Project, QueueError, git

GROUPS = "tools/queue/groups"


@dataclass(frozen=True)
class Group:
    """A part of the queue that is a series of its own, and what it stands on."""

    name: str
    first: int
    last: int
    on: str = ""


def apply_groups(project: Project, linux: Path,
                 patches: Sequence[Path]) -> list[tuple[str, list[str]]]:
    """Each group, and what keeps it from applying to the base and the groups it stands on."""
    groups = read_groups(project, len(patches))
    found = []
    for group in groups.values():
        under: list[Group] = []
        below = group.on
        while below:
            under.insert(0, groups[below])
            below = groups[below].on
        on = " and ".join(each.name for each in under) or "the base"
        parts = [path for each in (*under, group) for path in patches[each.first - 1:each.last]]
        found.append((f"{group.name}, {group.first}-{group.last}, on {on}",
                      problems(project, linux, parts)))
    return found


def read_groups(project: Project, count: int) -> dict[str, Group]:
    """Lines of 'name first-last [on name]'; every patch in one of them."""
    path = project.root / GROUPS
    groups: dict[str, Group] = {}
    taken: list[int] = []
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = re.fullmatch(r"(\S+)\s+(\d+)-(\d+)(?:\s+on\s+(\S+))?\s*", line)
        if not found:
            raise QueueError(f"{GROUPS}:{number}: '{line}' is not 'name first-last [on name]'")
        name, first, last, on = found.groups(default="")
        if on and on not in groups:
            raise QueueError(f"{GROUPS}:{number}: {name} is on {on}, which is not named above it")
        groups[name] = Group(name, int(first), int(last), on)
        taken += range(int(first), int(last) + 1)
    if groups and sorted(taken) != list(range(1, count + 1)):
        raise QueueError(f"{GROUPS}: not every patch of {count} is in one group")
    return groups


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
