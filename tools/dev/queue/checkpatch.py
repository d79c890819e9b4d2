# SPDX-License-Identifier: GPL-2.0
"""Runs the kernel's scripts/checkpatch.pl on each patch, with a list of false positives."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from pathlib import Path

from .common import Project, git_out, run
from .findings import Finding, reasoned
from .stamps import Stamps, digest, own_code, versions

EXCEPTIONS = "tools/dev/queue/checkpatch-exceptions"


def read_exceptions(project: Project) -> list[tuple[re.Pattern[str], str]]:
    """The excused reports: pattern of the patch name, and type."""
    return [(re.compile(patch), kind)
            for kind, patch in reasoned(project, EXCEPTIONS, "a type", "a patch")]


def checkpatch_findings(project: Project, linux: Path, patches: Sequence[Path], stamps: Stamps) -> list[Finding]:
    """A finding for each patch, which checkpatch reads in a tree with all patches."""
    exceptions = read_exceptions(project)
    venv = project.build / "venv"
    # checkpatch reads itself, its word lists, the licenses and MAINTAINERS from the tree
    reads = git_out(linux, "ls-tree", "HEAD", "scripts", "LICENSES", "MAINTAINERS")
    site = digest(own_code(), git_out(linux, "rev-parse", "base"), reads, versions("perl"), venv.resolve().name)
    findings = []
    for path in patches:
        ignored = [kind for pattern, kind in exceptions if pattern.search(path.name)]
        findings.append(stamps.measured(digest("checkpatch", site, " ".join(ignored), path), "checkpatch", path.name,
                                        checkpatch_problems, linux, path, venv, ignored))
    return findings


def checkpatch_problems(linux: Path, path: Path, venv: Path, ignored: Sequence[str]) -> list[str]:
    args: list[str | Path] = [linux / "scripts/checkpatch.pl", "--strict", "--terse",
                              "--show-types", "--no-summary", "--color=never"]
    if ignored:
        args += ["--ignore", ",".join(ignored)]
    done = run([*args, path], cwd=linux, check=False, env=checkpatch_environment(venv))
    output = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    output = [line for line in output if not re.match(r"No structs that should be const|"
                                                  r"No codespell typos", line)]
    if done.returncode and not output:
        return [f"checkpatch.pl failed with exit code {done.returncode}"]
    if all(maintained(linux, name) for name in added_files(path.read_text(errors="replace"))):
        # MAINTAINERS covers all new files, so the question whether to update it is answered
        output = [line for line in output if "FILE_PATH_CHANGES" not in line]
    return [line.removeprefix(f"{path}:") for line in output]


def checkpatch_environment(venv: Path) -> dict[str, str]:
    """The environment in which spdxcheck.py, which checkpatch calls, finds its modules."""
    return {"PATH": f"{venv / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def added_files(patch: str) -> list[str]:
    """The files that a patch adds or renames."""
    return [new or moved for new, moved in re.findall(
        r"^--- /dev/null\n\+\+\+ b/(\S+)$|^rename to (\S+)$", patch, re.MULTILINE)]


def maintained(linux: Path, name: str) -> bool:
    """Whether an entry of MAINTAINERS other than the last, THE REST, covers the file."""
    for entry in re.split(r"\n\s*\n", (linux / "MAINTAINERS").read_text()):
        if entry.startswith("THE REST"):
            continue
        for pattern in re.findall(r"^F:\t(\S+)$", entry, re.MULTILINE):
            if pattern.endswith("/"):
                if fnmatch.fnmatchcase(name, pattern + "*"):
                    return True
            elif fnmatch.fnmatchcase(name, pattern) and name.count("/") == pattern.count("/"):
                return True
    return False
