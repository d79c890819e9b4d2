# SPDX-License-Identifier: GPL-2.0
"""The trees into which mutants are injected: copies below build/mutants, never the user's files."""

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
TREE = OUT / "tree"  # the project's files, committed or not
LINUX = OUT / "linux"  # the last commit of build/linux
UML = OUT / "uml-kunit"
SMP = OUT / "uml-smp"


def copy_project() -> None:
    """Update the copy of the project, except for its build folder."""
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
    """Check out the commit of a git tree into a worktree; replace a worktree that is broken."""
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
    """Build User-Mode Linux of the worktree, below OUT; raises ToolError if that fails."""
    here = Project.here()
    kernel.build(Project(here.root, OUT, here.cache), flavour)


def path_of(mutant: Mutant) -> Path:
    """The path of its file, in the copy."""
    return (LINUX if mutant.kernel else TREE) / mutant.file


@contextmanager
def injected(mutant: Mutant) -> Iterator[None]:
    """Inject a mutant into its tree, and remove it at the end."""
    path = path_of(mutant)
    good = path.read_text()
    path.write_text(mutant.injected(good))
    try:
        yield
    finally:
        path.write_text(good)


def environment() -> dict[str, str]:
    """The environment of tests in the copy, with its kernels."""
    found = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "QUEUE_ROOT")}
    return found | {"LAB_KERNEL": str(UML / "vmlinux"), "SOAK_KERNEL": str(UML / "vmlinux"),
                    "VM_KERNEL_SMP": str(SMP / "linux"), "VM_LINUX": str(LINUX)}
