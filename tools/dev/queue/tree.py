# SPDX-License-Identifier: GPL-2.0
"""Writes build/linux from the patches (`make tree`), and the patches from it (`make export`)."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.files import write_if_changed

from .common import (
    NO_SPACE,
    PLAIN_GIT,
    QUEUE_IDENT,
    NamedProgress,
    Project,
    abort_am,
    disk_full,
    git,
    git_out,
    locked,
    need_space,
    say,
)
from .source import Base, fetch

STATE = Path(".git/queue-state.json")
SERIES_HEAD = "# The order of the queue, for quilt; written by `make export`.\n"

# All options that would make two exports of the same commits differ are fixed.
FORMAT_PATCH = (
    "-c", "core.abbrev=12", "-c", "diff.algorithm=myers", "-c", "core.quotepath=true",
    "format-patch", "-q", "-N", "--zero-commit", "--no-signature", "--no-base", "--no-thread",
    "--find-renames", "--stat=72", "--summary", "--subject-prefix=PATCH", "--suffix=.patch",
)


@dataclass
class State:
    """The state after the last `make tree` or `make export`: patches and their commits."""

    base: str = ""
    kernel: str | None = None
    patches: list[list[str]] = field(default_factory=list)  # name, sha256, commit
    updating_from: str = ""  # HEAD before an update that was interrupted

    @classmethod
    def load(cls, linux: Path) -> State | None:
        try:
            return cls(**json.loads((linux / STATE).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def save(self, linux: Path) -> None:
        write_if_changed(linux / STATE, json.dumps(asdict(self), indent=1).encode())

    @property
    def head(self) -> str:
        return self.patches[-1][2] if self.patches else self.base


def read_series(project: Project) -> list[str]:
    """The patches in their order: quilt's format, without options and folders."""
    if not project.series.is_file():
        return []
    names = []
    for number, line in enumerate(project.series.read_text().splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 1 or "/" in words[0]:
            raise ToolError(f"series:{number}: '{line}' is not just the name of a patch")
        names.append(words[0])
    return names


def queue_patches(project: Project) -> list[Path]:
    """The files of the series; all must exist."""
    paths = [project.patches / name for name in read_series(project)]
    for path in paths:
        if not path.is_file():
            raise ToolError(f"series names {path.name}, but {project.show(path)} does not exist")
    return paths


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- make tree -----------------------------------------------------------------


def make_tree(project: Project, kernel: str | None) -> None:
    base = fetch(project, kernel)
    patches = queue_patches(project)
    with locked(project.build / ".lock-tree"):
        linux = project.linux
        if not linux.exists():
            _create(project, linux, base, kernel, patches)
        else:
            _update(project, linux, base, kernel, patches)


def _create(project: Project, linux: Path, base: Base, kernel: str | None,
            patches: Sequence[Path]) -> None:
    """Create build/linux under another name, and rename it when it is complete."""
    new = linux.with_name(linux.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    check_out(project, new, base)
    state = State(base.commit, _kernel_path(kernel))
    apply(project, new, state, patches)
    state.save(new)
    new.rename(linux)
    say(f"{project.show(linux)}: linux {base.version} and {len(patches)} patches")


def _kernel_path(kernel: str | None) -> str | None:
    return str(Path(kernel).expanduser().resolve()) if kernel else None


def check_out(project: Project, where: Path, base: Base) -> None:
    """Create a git tree of the base, on branch `queue`, with the tag `base`."""
    need_space(project.build, 2500, "a kernel tree")
    progress = NamedProgress(f"check out linux {base.version}")
    where.parent.mkdir(parents=True, exist_ok=True)
    try:
        git(where.parent, "clone", "-q", "--local", "--no-checkout", "--no-tags", "--branch",
            base.origin, "--single-branch", project.pristine, where, env=PLAIN_GIT)
        git(where, "checkout", "-q", "-B", "queue", base.commit, env=PLAIN_GIT)
    except ToolError as error:
        shutil.rmtree(where, ignore_errors=True)
        if NO_SPACE in str(error):
            raise ToolError(disk_full(where.parent)) from error
        raise
    git(where, "remote", "remove", "origin")
    git(where, "tag", "base", base.commit)
    git(where, "config", "gc.auto", "0")
    progress.finish()


def _update(project: Project, linux: Path, base: Base, kernel: str | None,
            patches: Sequence[Path]) -> None:
    shown = project.show(linux)
    state = State.load(linux)
    if state is None or not (linux / ".git").is_dir():
        raise ToolError(f"{shown} was not made by `make tree`: move it away and run it again")
    _repair(linux, state)
    head = git_out(linux, "rev-parse", "HEAD")
    wanted = [[path.name, sha256(path)] for path in patches]
    if state.base == base.commit and [entry[:2] for entry in state.patches] == wanted:
        if head != state.head:
            say(f"{shown}: has commits that are not exported yet (`make export` writes them)")
        return

    if git_out(linux, "status", "--porcelain", "-uno"):
        raise ToolError(f"{shown} has uncommitted changes and patches/ has changed since: "
                         "commit and `make export` them, or `git stash`, and run it again")
    if head != state.head:
        raise ToolError(f"{shown} has commits that are not exported, and patches/ or the base "
                         "has changed since: `make export` them, or move the folder away")
    keep = 0
    if state.base == base.commit:
        while keep < min(len(wanted), len(state.patches)) and \
                state.patches[keep][:2] == wanted[keep]:
            keep += 1
    else:
        git(linux, "fetch", "-q", "--no-tags", project.pristine, base.commit, env=PLAIN_GIT)
        say(f"{shown}: new base, linux {base.version}")
    old = State(state.base, state.kernel, state.patches, updating_from=head)
    old.save(linux)
    new = State(base.commit, _kernel_path(kernel) or state.kernel, state.patches[:keep])
    try:
        git(linux, "reset", "-q", "--keep", new.head)
        apply(project, linux, new, patches[keep:])
    except BaseException:
        _repair(linux, old)
        raise
    git(linux, "tag", "-f", "base", base.commit)
    new.save(linux)
    say(f"{shown}: linux {base.version} and {len(patches)} patches, "
        f"{len(patches) - keep} of them applied again")


def _repair(linux: Path, state: State) -> None:
    """Undo an update that was interrupted."""
    if not state.updating_from:
        return
    (linux / ".git/index.lock").unlink(missing_ok=True)
    if (linux / ".git/rebase-apply").is_dir():
        abort_am(linux)
    git(linux, "reset", "-q", "--hard", state.updating_from)
    state.updating_from = ""
    state.save(linux)


def apply(project: Project, linux: Path, state: State, patches: Sequence[Path]) -> None:
    """Run git am one patch at a time, to name the patch that fails."""
    progress = NamedProgress("git am", len(patches))
    for number, path in enumerate(patches):
        done = git(linux, "-c", "commit.gpgsign=false", "am", "-q", "--keep-non-patch",
                   "--committer-date-is-author-date", "--no-3way", "--whitespace=nowarn", path,
                   check=False, env=QUEUE_IDENT)
        if done.returncode:
            output = done.stdout + done.stderr
            abort_am(linux)
            raise ToolError(disk_full(linux) if NO_SPACE in output
                             else explain_am(path, project.show(path), output))
        state.patches.append([path.name, sha256(path), git_out(linux, "rev-parse", "HEAD")])
        progress.update(number)
    if patches:
        progress.finish(f"{len(patches)} patches applied")


def explain_am(path: Path, patch: str, output: str) -> str:
    """The error of git am: patch, file and hunk."""
    if found := re.search(r"patch failed: (\S+):(\d+)", output):
        name, line = found.groups()
        return (f"{patch} does not apply: {name}, the hunk at line {line}"
                f"{_hunk(path, name, line)}")
    if found := re.search(r"error: (\S+): (does not exist in index|already exists in \S+)", output):
        return f"{patch} does not apply: {found.group(1)} {found.group(2)}"
    if found := re.search(r"corrupt patch at (?:\S+:|line )(\d+)", output):
        return f"{patch} is damaged at line {found.group(1)}"
    if "Patch is empty" in output or "format detection failed" in output:
        return f"{patch} is not a patch that git am can read"
    errors = [line for line in output.splitlines() if line.startswith(("error:", "fatal:"))]
    return f"{patch} does not apply: {(errors or [output.strip() or 'no message'])[0]}"


def _hunk(path: Path, name: str, line: str) -> str:
    """The number of the hunk in its file of the patch."""
    text = path.read_text(errors="replace")
    part = re.search(rf"^diff --git a/\S+ b/{re.escape(name)}$(.*?)(?=^diff --git |\Z)", text,
                     re.M | re.S)
    hunks = re.findall(r"^@@ -(\d+)", part.group(1), re.M) if part else []
    return f" (hunk #{hunks.index(line) + 1} of {len(hunks)})" if line in hunks else ""


# --- make export ---------------------------------------------------------------


def commits(linux: Path) -> list[str]:
    return git_out(linux, "rev-list", "--reverse", "base..HEAD").split()


def format_patches(linux: Path, where: Path) -> list[Path]:
    """Write base..HEAD with format-patch: always the same bytes for the same commits."""
    git(linux, *FORMAT_PATCH, "-o", where, "base..HEAD", env=PLAIN_GIT)
    return sorted(where.glob("*.patch"))


def export(project: Project) -> None:
    linux, shown = project.linux, project.show(project.linux)
    with locked(project.build / ".lock-tree"):
        state = State.load(linux)
        if state is None:
            raise ToolError(f"{shown}: no tree of the queue; run `make tree` first")
        _repair(linux, state)
        _exportable(linux, shown)
        mirror = mirrored(linux, "HEAD")
        _no_stray(project, mirror)
        with tempfile.TemporaryDirectory(dir=project.build) as work:
            new = format_patches(linux, Path(work))
            changed = _write_patches(project, new)
        changed += _write_mirror(project, mirror)
        ids = commits(linux)
        names = read_series(project)
        state.patches = [[name, sha256(project.patches / name), commit]
                         for name, commit in zip(names, ids, strict=True)]
        state.save(linux)
    say(f"{len(names)} patches and {len(mirror)} mirrored files, "
        f"{changed} of these files changed" if changed else
        f"{len(names)} patches and {len(mirror)} mirrored files, none changed")


def _exportable(linux: Path, shown: str) -> None:
    for folder in ("rebase-apply", "rebase-merge"):
        if (linux / ".git" / folder).is_dir():
            raise ToolError(f"{shown} is in the middle of a rebase or am: "
                             "finish it (see git status) and export again")
    if dirty := git(linux, "status", "--porcelain").stdout:
        raise ToolError(f"{shown} has uncommitted changes ({dirty.splitlines()[0][3:]}): "
                         "commit them, or remove them, and export again")
    if git(linux, "merge-base", "--is-ancestor", "base", "HEAD", check=False).returncode:
        raise ToolError(f"{shown}: HEAD is not based on `base`; rebase it onto `base`")
    if git_out(linux, "rev-list", "--merges", "base..HEAD"):
        raise ToolError(f"{shown} has a merge commit: rebase it onto `base`, as a queue is linear")
    for line in git_out(linux, "log", "--format=%h %s", "base..HEAD").splitlines():
        if re.match(r"\w+ (fixup|squash|amend)!", line):
            raise ToolError(f"{shown} has a fixup that is not squashed ({line}): "
                             "run `git rebase -i --autosquash base` there, then export again")


def _write_patches(project: Project, new: Sequence[Path]) -> int:
    changed = 0
    for path in new:
        changed += write_if_changed(project.patches / path.name, path.read_bytes())
    names = {path.name for path in new}
    series = SERIES_HEAD + "".join(f"{path.name}\n" for path in new)
    changed += write_if_changed(project.series, series.encode())
    for old in project.patches.glob("*.patch"):
        if old.name not in names:
            old.unlink()
            changed += 1
    return changed


# --- mirrored files --------------------------------------------------------------

SNIPPET = "MAINTAINERS-snippet"


def mirrored(linux: Path, commit: str) -> dict[str, tuple[int, bytes]]:
    """The mirrored files of the queue: path in the checkout -> mode, content.

    Only files that the queue adds: those that it changes are others' text.
    """
    found: dict[str, tuple[int, bytes]] = {}
    listing = git_out(linux, "diff", "--raw", "-z", "--no-renames", "--no-abbrev",
                      "--diff-filter=A", "base", commit, "--", "Documentation")
    fields = listing.split("\0")
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, _ = meta.split()
        found[path] = (0o755 if mode == "100755" else 0o644, _notice(path) + _blob(linux, blob))
    if snippet := maintainers_snippet(linux, commit):
        found[SNIPPET] = (0o644, _notice(SNIPPET) + snippet.encode())
    return found


def _notice(path: str) -> bytes:
    """The first line of a mirrored file, a comment."""
    if "." in Path(path).name and not path.endswith(".rst"):
        raise ToolError(f"{path}: how is a comment written in such a file? tools/dev/queue/tree.py: _notice()")
    comment = ".." if path.endswith(".rst") else "#"
    return f"{comment} Written by `make export` from the patches; do not edit.\n".encode()


def _blob(linux: Path, blob: str) -> bytes:
    return subprocess.run(["git", "cat-file", "blob", blob], cwd=linux, check=True,
                          capture_output=True).stdout


def maintainers_snippet(linux: Path, commit: str) -> str:
    """The entries that the queue adds to MAINTAINERS, each complete.

    The list is sorted, so a diff may begin an entry with the blank line before
    it or with the last lines of its neighbour; entries are compared whole.
    """
    if not git_out(linux, "diff", "--name-only", "base", commit, "--", "MAINTAINERS"):
        return ""
    before = set(_entries(git(linux, "show", "base:MAINTAINERS").stdout))
    after = _entries(git(linux, "show", f"{commit}:MAINTAINERS").stdout)
    titles = {entry.partition("\n")[0] for entry in before}
    return "\n".join(entry for entry in after
                     if entry not in before and entry.partition("\n")[0] not in titles)


def _entries(text: str) -> list[str]:
    return [part.strip("\n") + "\n" for part in re.split(r"\n\s*\n", text)
            if re.search(r"^[A-Z]:\t", part, re.M)]


def mirror_here(project: Project) -> set[str]:
    """The mirrored files of the checkout."""
    found = set()
    for path in (project.root / "Documentation").rglob("*"):
        relative = str(path.relative_to(project.root))
        if path.is_file() and not relative.startswith("Documentation/queue/"):
            found.add(relative)
    if (project.root / SNIPPET).is_file():
        found.add(SNIPPET)
    return found


def _no_stray(project: Project, mirror: dict[str, tuple[int, bytes]]) -> None:
    """Raise ToolError for a file that only the checkout has and that git does not have: export would delete it."""
    for path in sorted(mirror_here(project) - mirror.keys()):
        tracked = git(project.root, "ls-files", "--error-unmatch", path, check=False)
        changed = git(project.root, "status", "--porcelain", "--", path, check=False).stdout
        if tracked.returncode or changed:
            raise ToolError(f"{path} is not in build/linux and not committed here: add it to "
                             "a patch there, or remove it (`make export` writes these files)")


def _write_mirror(project: Project, mirror: dict[str, tuple[int, bytes]]) -> int:
    changed = 0
    for path, (mode, data) in mirror.items():
        changed += write_if_changed(project.root / path, data, mode)
    for path in mirror_here(project) - mirror.keys():
        (project.root / path).unlink()
        changed += 1
    return changed


def compare_mirror(project: Project, linux: Path, commit: str) -> list[str]:
    """The differences between the mirrored files of the checkout and a tree."""
    mirror = mirrored(linux, commit)
    here = mirror_here(project)
    wrong = [f"{path}: in the tree, but not in the checkout" for path in sorted(mirror.keys() - here)]
    wrong += [f"{path}: in the checkout, but not in the tree" for path in sorted(here - mirror.keys())]
    for path in sorted(here & mirror.keys()):
        mode, data = mirror[path]
        file = project.root / path
        if file.read_bytes() != data:
            wrong.append(f"{path}: differs from the tree")
        elif (file.stat().st_mode & 0o100) != (mode & 0o100):
            wrong.append(f"{path}: its mode differs from the tree")
    return wrong


def refuse_to_lose(project: Project) -> None:
    """Raise ToolError if build/linux has work that is not exported."""
    linux, shown = project.linux, project.show(project.linux)
    state = State.load(linux)
    if state is None:
        raise ToolError(f"{shown} was not made by `make tree`: move it away first")
    if git_out(linux, "status", "--porcelain"):
        raise ToolError(f"{shown} has uncommitted changes: commit and export them first, "
                         "or use FORCE=1 to lose them")
    if git_out(linux, "rev-parse", "HEAD") != state.head:
        raise ToolError(f"{shown} has commits that are not exported: run `make export` first, "
                         "or use FORCE=1 to lose them")
