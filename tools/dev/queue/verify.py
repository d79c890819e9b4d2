# SPDX-License-Identifier: GPL-2.0
"""`make verify`: is the queue fit to be sent?

Works in build/verify/linux, which is reset each time; nothing that somebody works in is
touched.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.code_id import COVERED, DISK_MODEL, SCHEDULING, code_id, of_patches

from .checkpatch import checkpatch_findings
from .common import Project, git, git_out, locked, run
from .findings import Finding, measured, refusal
from .groups import group_findings, read_groups
from .kernel import OWN, unknown_options
from .oldsched import oldsched_findings
from .scratch import applied, scratch_tree
from .series import line_problems, message_problems, series_problems
from .source import fetch
from .stamps import Stamps
from .tree import SNIPPET, compare_mirror, format_patches, queue_patches

# Pages with results: the folders whose code they depend on, and the command that regenerates them.
PAGES = {"Documentation/queue/evaluation.md": (SCHEDULING, "make evaluation pages"),
         "Documentation/queue/coverage.md": (COVERED, "make coverage COVERAGE_ARGS=--write"),
         "Documentation/queue/disk-validation.md": (DISK_MODEL, "tools/testbed/disk/disk validate --write")}
RESULTS, SCENARIOS = "Documentation/queue/results", "tools/testbed/lab/scenarios"
NO_REASON = "**no reason**"  # in coverage.md, for a branch that no test takes


def verify(project: Project, kernel: str | None, again: bool = False) -> list[Finding]:
    """Run all checks. @again: also the slow ones that have passed before."""
    files = measured("series", "series and patches/", series_problems, project)
    if not files.ok:
        return [files]
    base = fetch(project, kernel)
    patches = queue_patches(project)
    messages = [measured("message", path.name, message_problems, path) for path in patches]
    messages += [measured("lines", path.name, line_problems, path) for path in patches]
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        am = measured("git am", f"on linux {base.version}",
                      refusal, lambda: applied(project, linux, base, patches))
        if not am.ok:
            return [files, *messages, am]
        return [
            files, *messages, am,
            measured("export", "patches/ is what make export writes", export_problems, project, linux, patches),
            measured("mirror", f"Documentation/, {SNIPPET}", compare_mirror, project, linux, "HEAD"),
            measured("quilt push -a", f"on linux {base.version}", quilt_problems, project, linux, patches),
            measured("options", ", ".join(f"configs/{name}.config" for name in OWN),
                     option_problems, project, linux),
            *(replace(found, problems=(), notes=found.problems) for found in page_findings(project)),
            *cut_findings(project, linux, patches),
            *checkpatch_findings(project, linux, patches, Stamps(project, again)),
            *oldsched_findings(project, linux, base, Stamps(project, again))]


def cut_findings(project: Project, linux: Path, patches: Sequence[Path]) -> list[Finding]:
    """Check that each series applies to the series that it depends on."""
    try:
        return group_findings("groups", linux, read_groups(project, patches))
    except ToolError as error:
        return [Finding("groups", "cannot be read", (str(error),))]


def page_findings(project: Project) -> list[Finding]:
    """Check whether the results of pages are of the current code: an error only before the series are sent."""
    pages = [measured("page", page, page_problems, project, page, *how) for page, how in PAGES.items()]
    return [*pages, measured("results", RESULTS, missing_results, project)]


def missing_results(project: Project) -> list[str]:
    """Scenarios without committed results."""
    names = [path.stem for path in sorted((project.root / SCENARIOS).glob("*.toml"))]
    return [f"no results of {name}: `make evaluation pages`" for name in names
            if not (project.root / RESULTS / f"{name}.json").is_file()]


def page_problems(project: Project, name: str, folders: tuple[str, ...], command: str) -> list[str]:
    """Check that the results of a page are of the current code, and that no row lacks a reason."""
    page = project.root / name
    if not page.is_file():
        return []
    text = page.read_text()
    line = of_patches(code_id(project.root, folders), *folders)
    problems = [] if line in text.splitlines() else [f"out of date, '{line[:-1]}' expected: run `{command}`"]
    if number := text.count(NO_REASON):
        problems.append(f"{number} rows have '{NO_REASON}': test them, or add a reason to "
                        f"tools/dev/coverage/reasons.toml; then run `{command}`")
    return problems


def option_problems(project: Project, linux: Path) -> list[str]:
    """The options that the queue's fragments set and the queue does not add."""
    return [f"CONFIG_{name}: no patch of the queue adds it" for name in sorted(unknown_options(project, linux))]


def export_problems(project: Project, linux: Path, patches: Sequence[Path]) -> list[str]:
    """The patches that `make export` would write differently."""
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        new = {path.name: path.read_bytes() for path in format_patches(linux, Path(work))}
    old = {path.name: path.read_bytes() for path in patches}
    return [f"patches/{name}: make export writes it differently (`make tree export` fixes it)"
            for name in sorted(new.keys() | old.keys()) if new.get(name) != old.get(name)]


def quilt_problems(project: Project, linux: Path, patches: Sequence[Path]) -> list[str]:
    """Check that quilt push -a --fuzz=0 makes the same files as git am."""
    if not patches:
        return []
    if not shutil.which("quilt"):
        return ["quilt is not installed"]
    touched = git_out(linux, "diff", "--name-only", "--no-renames", "base", "HEAD").splitlines()
    before = [name for name in touched
              if git(linux, "cat-file", "-e", f"base:{name}", check=False).returncode == 0]
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        where = Path(work)
        if before:
            archive = subprocess.run(["git", "archive", "base", "--", *before], cwd=linux,
                                     capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x"], cwd=where, input=archive, check=True)
        shutil.copytree(project.patches, where / "patches")
        shutil.copy(project.series, where / "patches/series")
        done = run(["quilt", "--quiltrc=-", "push", "-a", "--fuzz=0"], cwd=where, check=False,
                   env={"LC_ALL": "C", "QUILT_PATCHES": "patches", "QUILT_SERIES": "series"})
        if done.returncode:
            output = (done.stdout + done.stderr).splitlines()
            patch = [line for line in output if line.startswith("Applying patch ")]
            wrong = [line for line in output if "FAILED" in line or "can't find file" in line]
            return [f"{(patch or ['?'])[-1].removeprefix('Applying patch ')}: "
                    f"{(wrong or output or ['no message'])[0]}"]
        return [f"{name}: quilt and git am make different files" for name in touched
                if _content(where / name) != _blob_at(linux, f"HEAD:{name}")]


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _blob_at(linux: Path, name: str) -> bytes | None:
    done = subprocess.run(["git", "cat-file", "blob", name], cwd=linux, capture_output=True)
    return done.stdout if done.returncode == 0 else None
