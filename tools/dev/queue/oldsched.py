# SPDX-License-Identifier: GPL-2.0
"""patches/oldsched: patches on top of the queue that are never sent: old schedulers for comparison.

`queue uml --flavour um-oldsched` builds User-Mode Linux with them. To change one, commit to a branch `oldsched` in
build/linux that is based on the queue's last commit; `make export` writes the patches.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.code_id import OLDSCHED, SCHEDULING, code_id, of_patches
from tools.base.files import write_if_changed

from .checkpatch import checkpatch_findings
from .common import PLAIN_GIT, Project, git, git_out, locked, say
from .findings import Finding, measured
from .kernel import FLAVOURS, build, configure, fragments, make, make_args, warnings
from .scratch import applied, scratch_tree
from .series import changed_files, line_problems, message_problems
from .source import Base, fetch
from .stamps import Stamps, digest, own_code, versions
from .tree import FORMAT_PATCH, State, apply, queue_patches

BRANCH = "oldsched"
FLAVOUR, KUNIT = "um-oldsched", "um-oldsched-kunit"
# Pages with results of such a kernel, and the command that regenerates each.
PAGES = {"Documentation/queue/apex.md": "run scenarios/oldsched, then `lab record --all` and `make pages`",
         "Documentation/queue/evaluation.md": "run those of its scenarios, then `lab record --all` and `make pages`"}
# The targets that must compile without warnings, tests included.
FRAGMENTS = FLAVOURS[KUNIT].fragments


def oldsched_patches(project: Project) -> list[Path]:
    """The patches in their order, which is that of their names."""
    return sorted((project.root / OLDSCHED).glob("*.patch"))


def build_oldsched(project: Project, kernel: str | None, flavour: str = FLAVOUR) -> Path:
    """Build User-Mode Linux of the queue and patches/oldsched; returns its image."""
    patches = oldsched_patches(project)
    if not patches:
        raise ToolError(f"{OLDSCHED} has no patches")
    base = fetch(project, kernel)
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        applied(project, linux, base, [*queue_patches(project), *patches])
        return build(project, flavour, linux)


# --- make export ---------------------------------------------------------------------


def format_oldsched(linux: Path, since: str, head: str, where: Path) -> list[Path]:
    """Write commits with format-patch."""
    git(linux, *FORMAT_PATCH, "-o", where, f"{since}..{head}", env=PLAIN_GIT)
    return sorted(where.glob("*.patch"))


def export_oldsched(project: Project) -> None:
    """Write patches/oldsched from the branch, if it is based on the queue's last commit."""
    linux = project.linux
    if git(linux, "rev-parse", "-q", "--verify", BRANCH, check=False).returncode:
        return
    if git(linux, "merge-base", "--is-ancestor", "HEAD", BRANCH, check=False).returncode:
        say(f"{OLDSCHED}: not changed, as branch {BRANCH} of {project.show(linux)} is not based on the queue's last "
            f"commit (run `git rebase --onto queue OLD-HEAD {BRANCH}` in a work tree of its own)")
        return
    if fixups := re.findall(r"^\w+ (?:fixup|squash|amend)!.*$",
                            git_out(linux, "log", "--format=%h %s", f"HEAD..{BRANCH}"), re.M):
        raise ToolError(f"branch {BRANCH} has a fixup that is not squashed ({fixups[0]}): "
                        "run `git rebase -i --autosquash queue` there")
    folder = project.root / OLDSCHED
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        new = format_oldsched(linux, "HEAD", BRANCH, Path(work))
        changed = sum(write_if_changed(folder / path.name, path.read_bytes()) for path in new)
    for old in oldsched_patches(project):
        if old.name not in {path.name for path in new}:
            old.unlink()
            changed += 1
    say(f"{OLDSCHED}: {len(new)} patches, {f'{changed} of them changed' if changed else 'none changed'}")


# --- make verify ---------------------------------------------------------------------


def oldsched_findings(project: Project, linux: Path, base: Base, stamps: Stamps) -> list[Finding]:
    """Check that patches/oldsched applies to the queue, which is checked out, and builds."""
    patches = oldsched_patches(project)
    if not patches:
        return []
    head = git_out(linux, "rev-parse", "HEAD")
    found = [measured("message", f"oldsched/{path.name}", message_problems, path) for path in patches]
    found += [measured("lines", f"oldsched/{path.name}", line_problems, path) for path in patches]
    try:
        am = measured("git am", f"{OLDSCHED} on the queue", apply_problems, project, linux, base, patches)
        if not am.ok:
            return [*found, am]
        key = digest("oldsched builds", own_code(), git_out(linux, "rev-parse", "HEAD"), versions("gcc", "ld", "make"),
                     *(project.root / "configs" / f"{name}.config" for name in (*FRAGMENTS, "queue")))
        return [
            *found, am,
            measured("export", f"{OLDSCHED} is what make export writes",
                     export_problems, project, linux, head, patches),
            *checkpatch_findings(project, linux, patches, stamps),
            stamps.measured(key, "builds", f"block/ with {OLDSCHED}", build_problems, project, linux, patches)]
    finally:
        git(linux, "checkout", "-q", "-f", "-B", "queue", head)


def page_findings(project: Project) -> list[Finding]:
    """Which pages have results of other code than the patches'."""
    return [measured("page", f"{page}, {OLDSCHED}", page_problems, project, page, how) for page, how in PAGES.items()
            ] if oldsched_patches(project) else []


def page_problems(project: Project, name: str, how: str) -> list[str]:
    """Check that the results of a page are of the current code, of these patches and of the queue."""
    page = project.root / name
    if not page.is_file():
        return []
    lines = page.read_text().splitlines()
    wanted = [of_patches(code_id(project.root, SCHEDULING), *SCHEDULING),
              of_patches(code_id(project.root, series=OLDSCHED), OLDSCHED)]
    return [f"out of date, '{line[:-1]}' expected: {how}" for line in wanted if line not in lines]


def apply_problems(project: Project, linux: Path, base: Base, patches: Sequence[Path]) -> list[str]:
    """The error of the patch that does not apply, if any."""
    try:
        apply(project, linux, State(base.commit), patches)
    except ToolError as error:
        return [str(error)]
    return []


def export_problems(project: Project, linux: Path, head: str, patches: Sequence[Path]) -> list[str]:
    """The patches that `make export` would write differently."""
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        new = {path.name: path.read_bytes() for path in format_oldsched(linux, head, "HEAD", Path(work))}
    old = {path.name: path.read_bytes() for path in patches}
    return [f"{OLDSCHED}/{name}: make export writes it differently"
            for name in sorted(new.keys() | old.keys()) if new.get(name) != old.get(name)]


def build_problems(project: Project, linux: Path, patches: Sequence[Path]) -> list[str]:
    """Errors of block/ with the patches, and warnings of the files that they change, at W=1."""
    out = project.build / "verify" / "um-oldsched"
    changed = {name for path in patches for name in changed_files(path.read_text(errors="replace"))}
    try:
        configure(project, linux, out, "um", fragments(project, linux, out, FRAGMENTS))
        output = make(project, OLDSCHED, [*make_args(linux, out, "um"), "W=1", "block/"], out / "build.log", 150)
    except ToolError as error:
        return [str(error)]
    wrong = {f"{name}: {text}" for name, text in warnings(output.replace(f"{linux}/", "")) if name in changed}
    # a test may be a part of another file
    built = (name for name in changed if name.endswith(".c") and not name.endswith("-test.c"))
    wrong |= {f"{name}: not built, see configs/oldsched.config" for name in built
              if not (out / name).with_suffix(".o").is_file()}
    return sorted(wrong)
