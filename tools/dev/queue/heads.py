# SPDX-License-Identifier: GPL-2.0
"""The head of each series, with nothing of the others but what it stands on: User-Mode Linux with
its KUnit tests, and its kselftests, for selftests/heads to run.

All heads are built in one folder, one after the other: a build compiles what differs from the
head before it. What is built already of the same patches is not built again.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.files import write_whole

from .common import Project, git, locked, say
from .groups import Group, group_findings, read_groups
from .kernel import FLAVOURS, build
from .kselftests import BELOW, KSELFTESTS
from .scratch import applied, scratch_tree
from .source import Base, fetch
from .stamps import digest, own_code, versions
from .tree import queue_patches

FLAVOUR = "um-kunit"
IMAGE, TREE, KEY = "linux", "selftests", "key"


def build_heads(project: Project, kernel: str | None) -> list[Path]:
    """Build them; the folder of each in build/heads: `linux`, and `selftests` as its tree has them."""
    base = fetch(project, kernel)
    patches = queue_patches(project)
    groups = read_groups(project, patches)
    keys = {name: key(project, base, chain(groups, name)) for name in groups}
    old = [name for name in groups if keys[name] != kept(folder(project, name))]
    if old:
        with locked(project.build / ".lock-verify"):
            linux = scratch_tree(project, base)
            applied(project, linux, base, patches)
            for found in group_findings("git am", linux, groups):
                if not found.ok:
                    raise ToolError(f"{found.subject}: {found.problems[0]}")
            for name in old:
                build_head(project, linux, groups[name], keys[name])
    return [folder(project, name) for name in groups]


def folder(project: Project, name: str) -> Path:
    return project.build / "heads" / name


def chain(groups: dict[str, Group], name: str) -> list[Path]:
    """The patches of a series, behind those of all that it stands on."""
    group = groups[name]
    return [*(chain(groups, group.on) if group.on else []), *group.patches]


def key(project: Project, base: Base, patches: list[Path]) -> str:
    """What decides how a head is built."""
    configs = [project.root / "configs" / f"{name}.config" for name in (*FLAVOURS[FLAVOUR].fragments, "queue")]
    return digest("head", own_code(), base.commit, versions("gcc", "ld", "make"),
                  *(path for path in configs if path.is_file()), *patches)


def kept(head: Path) -> str:
    return (head / KEY).read_text() if (head / KEY).is_file() and (head / IMAGE).is_file() else ""


def build_head(project: Project, linux: Path, group: Group, new_key: str) -> None:
    say(f"head of {group}")
    git(linux, "checkout", "-q", "-f", "--detach", group.branch)
    head = folder(project, group.name)
    shutil.rmtree(head, ignore_errors=True)
    head.mkdir(parents=True)
    shutil.copy(build(project, FLAVOUR, linux, "heads/build"), head / IMAGE)
    extract(linux, head / TREE)
    write_whole(head / KEY, new_key)


def extract(linux: Path, where: Path) -> None:
    """The kselftests of the commit that is checked out, and what they include; none, if it has none of ours."""
    where.mkdir()
    there = [name for name in ("kselftest", "kselftest.h", *KSELFTESTS)
             if git(linux, "cat-file", "-e", f"HEAD:{BELOW}/{name}", check=False).returncode == 0]
    archive = subprocess.run(["git", "-C", linux, "archive", f"HEAD:{BELOW}", *there], check=True,
                             stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(where, filter="data")
