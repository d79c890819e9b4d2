# SPDX-License-Identifier: GPL-2.0
"""The series that are sent, as tools/dev/queue/groups cuts the queue into them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.base.cli import ToolError

from .common import QUEUE_IDENT, Project, abort_am, git, git_out
from .findings import Finding, measured

GROUPS = "tools/dev/queue/groups"
COVER = "cover"  # folder below patches/ with the cover letters
MARK = re.compile(r"<!--.*?-->", re.DOTALL)
MARK_LINE = re.compile(r"^<!--[^>]*-->\n\n?", re.MULTILINE)  # with the empty line that follows


@dataclass
class Group:
    """Patches of the queue that are sent together, and the group that they stand on."""

    name: str
    on: str
    patches: list[Path] = field(default_factory=list)  # in the order of the queue

    @property
    def branch(self) -> str:
        """Where the scratch tree has it."""
        return f"series/{self.name}"

    @property
    def below(self) -> str:
        """The branch or tag that it stands on."""
        return f"series/{self.on}" if self.on else "base"

    def __str__(self) -> str:
        return f"{self.name}, {len(self.patches)} patches, on {self.on or 'the base'}"


def letter(project: Project, name: str) -> Path:
    return project.patches / COVER / f"{name}.txt"


def letter_text(path: Path) -> str:
    """A cover letter as it is sent: without the marks between which `make pages` writes results."""
    return MARK.sub("", MARK_LINE.sub("", path.read_text(errors="replace")))


def group_findings(check: str, linux: Path, groups: Mapping[str, Group]) -> list[Finding]:
    """Make the branch of each group by git am, on that of the one below; what keeps it from it."""
    found: dict[str, Finding] = {}
    for name, group in groups.items():
        made = not group.on or found[group.on].ok
        found[name] = measured(check, str(group), am_problems, linux, group.patches, group.below, group.branch) \
            if made else Finding(check, str(group), (f"{group.on} does not apply",))
    return list(found.values())


def am_problems(linux: Path, patches: Sequence[Path], below: str, branch: str) -> list[str]:
    """One git am of all files, from a commit to a branch; and back to the branch `queue`."""
    git(linux, "checkout", "-q", "-B", branch, below)
    try:
        done = git(linux, "-c", "commit.gpgsign=false", "am", "-q", *patches, check=False,
                   env=QUEUE_IDENT)
        if done.returncode:
            output = re.findall(r"^error: (?:patch failed: )?(.*)", done.stderr, re.M)
            failed = re.findall(r"^Patch failed at \d+ (.*)", done.stdout + done.stderr, re.M)
            abort_am(linux)
            return [": ".join(["git am", *failed, (output or (done.stderr or done.stdout).strip().splitlines()
                                                   or ["no message"])[0]])]
        count = int(git_out(linux, "rev-list", "--count", f"{below}..{branch}"))
        return [] if count == len(patches) else [f"git am made {count} commits of {len(patches)} patches"]
    finally:
        git(linux, "checkout", "-q", "-f", "queue")


def read_groups(project: Project, patches: Sequence[Path]) -> dict[str, Group]:
    """Lines 'NAME [on NAME]:', and below each the subjects of its patches; every patch in one group."""
    path = project.root / GROUPS
    groups: dict[str, Group] = {}
    left = {subject(patch.name): patch for patch in patches}
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        words = line.partition("#")[0].rstrip()
        try:
            if words:
                read_line(words, groups, left)
        except ValueError as error:
            raise ToolError(f"{GROUPS}:{number}: {error}") from None
    if groups and left:
        raise ToolError(f"{GROUPS}: {next(iter(left))} is in no group")
    for group in groups.values():
        group.patches.sort(key=patches.index)
    for stray in sorted((project.patches / COVER).glob("*")):
        if stray not in [letter(project, name) for name in groups]:
            raise ToolError(f"{project.show(stray)}: {GROUPS} names no {stray.stem}")
    return groups


def standing_on(groups: Mapping[str, Group], name: str) -> list[Path]:
    """The patches of a group, and of each that stands on it."""
    found = group_of(groups, name).patches
    return [*found, *(patch for other in groups.values() if other.on == name
                      for patch in standing_on(groups, other.name))]


def group_of(groups: Mapping[str, Group], name: str) -> Group:
    if name not in groups:
        raise ToolError(f"no series '{name}' in {GROUPS}; it has {', '.join(groups)}")
    return groups[name]


def read_line(words: str, groups: dict[str, Group], left: dict[str, Path]) -> None:
    """Begin a group, or put one of the patches that are left into the last."""
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
    for group in groups.values():
        if patch in map(subject, (path.name for path in group.patches)):
            raise ValueError(f"{patch} is in {group.name} already")
    if patch not in left:
        raise ValueError(f"no patch of series is named NNNN-{patch}.patch")
    list(groups.values())[-1].patches.append(left.pop(patch))


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
