# SPDX-License-Identifier: GPL-2.0
"""Builds the tip of each series for selftests/series_tips: User-Mode Linux with KUnit tests, and the kselftests.

A tip has the patches of its series and of those that it depends on, and no others. All tips are
built in one folder, one after the other, so a build compiles only what differs from the tip before
it. A tip that was built from the same patches is not built again.
"""

from __future__ import annotations

import shutil
import subprocess
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


def build_tips(project: Project, kernel: str | None) -> list[Path]:
    """Build all tips; returns their folders in build/series-tips, which have `linux` and `selftests`."""
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
                build_tip(project, linux, groups[name], keys[name])
    return [folder(project, name) for name in groups]


def folder(project: Project, name: str) -> Path:
    return project.build / "series-tips" / name


def chain(groups: dict[str, Group], name: str) -> list[Path]:
    """The patches of a series, after those of the series that it depends on."""
    group = groups[name]
    return [*(chain(groups, group.on) if group.on else []), *group.patches]


def key(project: Project, base: Base, patches: list[Path]) -> str:
    """A digest of everything that a build depends on."""
    configs = [project.root / "configs" / f"{name}.config" for name in (*FLAVOURS[FLAVOUR].fragments, "queue")]
    return digest("tip", own_code(), base.commit, versions("gcc", "ld", "make"),
                  *(path for path in configs if path.is_file()), *patches)


def kept(tip: Path) -> str:
    """The key that a tip was built with; empty if it was not."""
    return (tip / KEY).read_text() if (tip / KEY).is_file() and (tip / IMAGE).is_file() else ""


def build_tip(project: Project, linux: Path, group: Group, new_key: str) -> None:
    say(f"building the tip of series {group}")
    git(linux, "checkout", "-q", "-f", "--detach", group.branch)
    tip = folder(project, group.name)
    shutil.rmtree(tip, ignore_errors=True)
    tip.mkdir(parents=True)
    shutil.copy(build(project, FLAVOUR, linux, "series-tips/build"), tip / IMAGE)
    extract(linux, tip / TREE)
    write_whole(tip / KEY, new_key)


def extract(linux: Path, where: Path) -> None:
    """Write the kselftests of the commit that is checked out, and what they include; none if it has none of ours."""
    where.mkdir()
    present = [name for name in ("kselftest", "kselftest.h", *KSELFTESTS)
             if git(linux, "cat-file", "-e", f"HEAD:{BELOW}/{name}", check=False).returncode == 0]
    archive = subprocess.run(["git", "-C", linux, "archive", f"HEAD:{BELOW}", *present], check=True,
                             stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", where], check=True, input=archive)
