# SPDX-License-Identifier: GPL-2.0
"""The trees in which faults are planted: copies below build/mutants, never the user's files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.paths import BUILD, ROOT
from tools.dev.queue import kernel
from tools.dev.queue.common import Project, git, git_out

from .table import Mutant

OUT = BUILD / "mutants"
TREE = OUT / "tree"  # the project's files as they are, committed or not
LINUX = OUT / "linux"  # what build/linux has committed
UML = OUT / "uml-kunit"
SMP = OUT / "uml-smp"


def copy_project() -> None:
    """Make the copy equal; what programs build there stays, and is older than the sources."""
    TREE.mkdir(parents=True, exist_ok=True)
    for left in TREE.iterdir():
        if left.is_dir() and left.name != "build":
            shutil.rmtree(left)
        elif not left.is_dir():
            left.unlink()
    for name in git_out(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        source, copy = ROOT / name, TREE / name
        if name and (source.is_symlink() or source.is_file()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy, follow_symlinks=False)
    venv = TREE / "build/venv"
    venv.parent.mkdir(exist_ok=True)
    venv.unlink(missing_ok=True)
    venv.symlink_to(BUILD / "venv")


def check_out_kernel(linux: Path) -> None:
    """A worktree of a git tree's commit; an old one that is broken is made anew."""
    commit = git_out(linux, "rev-parse", "HEAD")
    if (LINUX / ".git").exists():
        try:
            git(LINUX, "checkout", "-q", "-f", "--detach", commit)
            return
        except ToolError:
            shutil.rmtree(LINUX)
    LINUX.parent.mkdir(parents=True, exist_ok=True)
    git(linux, "worktree", "prune")
    git(linux, "worktree", "add", "-q", "-f", "--detach", LINUX, commit)


def build_kernel(flavour: str) -> None:
    """User-Mode Linux of the worktree, below OUT; raises ToolError if it does not build."""
    here = Project.here()
    kernel.build(Project(here.root, OUT, here.cache), flavour)


def path_of(mutant: Mutant) -> Path:
    """Its file, in the copy."""
    return (LINUX if mutant.kernel else TREE) / mutant.file


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The fault is in its tree, and gone afterwards."""
    path = path_of(mutant)
    good = path.read_text()
    path.write_text(mutant.planted(good))
    try:
        yield
    finally:
        path.write_text(good)


def environment() -> dict[str, str]:
    """For tests in the copy: its modules, and the kernel that is built here."""
    found = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "QUEUE_ROOT")}
    return found | {"LAB_KERNEL": str(UML / "vmlinux"), "SOAK_KERNEL": str(UML / "vmlinux"),
                    "VM_KERNEL_SMP": str(SMP / "linux"), "VM_LINUX": str(LINUX)}
