# SPDX-License-Identifier: GPL-2.0
"""Runs sparse on the files that the queue adds, with the kernel's own make."""

from __future__ import annotations

import shutil
from pathlib import Path

from .common import Project, git_out, run
from .findings import Finding, measured
from .kernel import build_environment, make_args, warnings

# Sparse 0.6.4 does not support __typeof_unqual__, which the kernel's headers use: make then prints
# a note and skips sparse. With this definition sparse works, except that it takes MODULE_LICENSE()
# and module_init() for non-constant expressions.
SPARSES = ("sparse", "sparse -D__typeof_unqual__=__typeof__")
OLD_SPARSE = "bad constant expression"


def sparse_command(linux: Path) -> str:
    """The value of make's CHECK with which sparse runs, or ''."""
    return next((command for command in SPARSES if usable_checker(linux, command)), "")


def usable_checker(linux: Path, command: str) -> bool:
    """Whether the kernel's make would run a checker: it silently skips those that it cannot use."""
    script = linux / "scripts/checker-valid.sh"
    if not script.is_file():
        return bool(shutil.which(command.split()[0]))
    return run([script, *command.split()], check=False).stdout.strip() == "1"


def sparse(project: Project, linux: Path) -> list[Finding]:
    """Run sparse on every C file that the queue adds to the kernel."""
    command = sparse_command(linux)
    if not command:
        return [Finding("sparse", "added files",
                        ("sparse is not installed, or too old for this kernel",))]
    added = git_out(linux, "diff", "--name-only", "--diff-filter=A", "base", "HEAD", "--",
                    "*.c", ":!tools").splitlines()
    return [measured("sparse", name, sparse_problems, project, linux, command, name)
            for name in added]


def sparse_problems(project: Project, linux: Path, command: str, name: str) -> list[str]:
    """The reports of sparse about a file."""
    done = run([*make_args(linux, project.build / "verify" / "um", "um"), "C=2", f"CHECK={command}",
                name.removesuffix(".c") + ".o"], check=False, env=build_environment(project))
    output = sorted({f"{where}: {problem}" for where, problem in warnings(done.stdout + done.stderr)
                   if where.endswith(Path(name).name)
                   and not (command != SPARSES[0] and problem == OLD_SPARSE)})
    if done.returncode and not output:
        return [(done.stderr.strip().splitlines() or ["no message"])[-1]]
    return output
