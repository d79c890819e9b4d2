# SPDX-License-Identifier: GPL-2.0
"""build/verify/linux: the kernel tree of the checks, which is reset each time."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.base.cli import ToolError

from .common import PLAIN_GIT, Project, git, git_out, locked
from .kernel import FLAVOURS, build
from .source import Base, fetch
from .tree import State, apply, check_out, read_series


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


def build_before(project: Project, kernel: str | None, name: str) -> Path:
    """Build User-Mode Linux of the patches before the one whose name contains `name`; returns its image."""
    names = read_series(project)
    found = [number for number, patch in enumerate(names) if name in patch]
    if len(found) != 1:
        raise ToolError(f"series: {len(found) or 'no'} patches have '{name}' in their names, "
                         "not one")
    base = fetch(project, kernel)
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        applied(project, linux, base, [project.patches / patch for patch in names[:found[0]]])
        return build(project, "um", linux, "uml-before")
