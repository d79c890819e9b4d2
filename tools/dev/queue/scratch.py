# SPDX-License-Identifier: GPL-2.0
"""build/verify/linux: the kernel tree of the checks, which is reset each time."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from . import groups
from .common import PLAIN_GIT, Project, git, git_out, locked
from .kernel import FLAVOURS, build
from .source import Base, fetch
from .tree import State, apply, check_out, queue_patches


def scratch_tree(project: Project, base: Base) -> Path:
    """The kernel tree of the checks, at the base."""
    linux = project.build / "verify" / "linux"
    state = State.load(linux)
    if state is None:
        shutil.rmtree(linux, ignore_errors=True)
        check_out(project, linux, base)
    else:
        (linux / ".git/index.lock").unlink(missing_ok=True)
        shutil.rmtree(linux / ".git/rebase-apply", ignore_errors=True)
        if git_out(linux, "rev-parse", "base") != base.commit:
            git(linux, "fetch", "-q", "--no-tags", project.pristine, base.commit, env=PLAIN_GIT)
            git(linux, "tag", "-f", "base", base.commit)
        git(linux, "reset", "-q", "--hard")
        git(linux, "clean", "-fdxq", env=PLAIN_GIT)
    State(base.commit).save(linux)
    return linux


def applied(project: Project, linux: Path, base: Base, patches: Sequence[Path]) -> list[str]:
    """Reset to the base and apply all patches with git am; returns the commits."""
    git(linux, "checkout", "-q", "-B", "queue", "base")
    state = State(base.commit)
    apply(project, linux, state, patches)
    return [entry[2] for entry in state.patches]


def build_base(project: Project, kernel: str | None, flavour: str) -> Path:
    """Build a flavour of the base without patches; returns its image."""
    base = fetch(project, kernel)
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        git(linux, "checkout", "-q", "--detach", "base")
        return build(project, flavour, linux, f"{FLAVOURS[flavour].folder}-base")


def build_without(project: Project, kernel: str | None, name: str) -> Path:
    """Build User-Mode Linux without a series and those that stand on it; returns its image."""
    patches = queue_patches(project)
    left_out = groups.standing_on(groups.read_groups(project, patches), name)
    base = fetch(project, kernel)
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        applied(project, linux, base, [patch for patch in patches if patch not in left_out])
        return build(project, "um", linux, f"uml-without-{name}")
