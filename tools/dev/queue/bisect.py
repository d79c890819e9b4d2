# SPDX-License-Identifier: GPL-2.0
"""`make bisect-check`: builds every prefix of the queue without new warnings, and checks its kselftests.

Each prefix builds the same targets: block/, and every other folder with a C file that a patch
changes; of fs/ and mm/ only these files, as soon as they exist. configs/bisect.config has the
options that they need in User-Mode Linux, which is quick to prepare. `make uml` and `make kernel`
link complete kernels.

The check works in build/verify/linux, which is reset each time. A prefix that has passed before is
not built again.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tools.base.cli import ToolError

from .common import Project, git, git_out, locked, say
from .findings import Finding, measured, since
from .kernel import configure, fragments, make, make_args, warnings
from .kselftests import shell_problems
from .modules import modules
from .scratch import applied, scratch_tree
from .series import changed_files, series_problems
from .source import Base, fetch
from .sparse import sparse
from .stamps import AS_BEFORE, Stamps, digest, own_code, versions
from .tree import queue_patches

FRAGMENTS = ("base", "um", "bisect-um", "kunit", "bisect")
# Folders with a large part of the kernel: only the changed files are built.
LARGE = ("fs", "mm")


def bisect_check(project: Project, kernel: str | None, again: bool = False) -> list[Finding]:
    """Check each prefix. @again: also those that have passed before."""
    base = fetch(project, kernel)
    if problems := series_problems(project):
        return [Finding("series", "series and patches/", tuple(problems))]
    patches = queue_patches(project)
    with locked(project.build / ".lock-verify"):
        prefixes = Prefixes(project, base, patches, Stamps(project, again))
        findings = [prefixes.base_finding()]
        for number in range(1, len(patches) + 1):
            findings += prefixes.findings(number)
        return findings + prefixes.whole_findings()


class Prefixes:
    """The prefixes of the queue; prefix 0 is the base."""

    def __init__(self, project: Project, base: Base, patches: Sequence[Path], stamps: Stamps) -> None:
        self.project, self.base, self.patches, self.stamps = project, base, patches, stamps
        self.targets = touched(project, base, patches)
        self.known: set[tuple[str, str]] = set()  # warnings of the base and of prefixes that are built
        self.built = -1

    @cached_property
    def linux(self) -> Path:
        """The tree. All patches are applied, so whatever they touch is newer than its object:
        the first build compiles it, and shows its warnings."""
        linux = scratch_tree(self.project, self.base)
        self.commits = [self.base.commit, *applied(self.project, linux, self.base, self.patches)]
        return linux

    def key(self, number: int, check: str) -> str:
        """A digest of everything that the result of a check depends on."""
        configs = [self.project.root / "configs" / f"{name}.config" for name in (*FRAGMENTS, "queue")]
        first = self.patches[:number]
        return digest(check, own_code(), self.base.commit, versions("gcc", "ld", "make"), " ".join(self.targets),
                      *(path for path in configs if path.is_file()), *(path.name for path in first), *first)

    def build(self, number: int) -> set[tuple[str, str]]:
        """Build a prefix; returns its warnings."""
        linux = self.linux
        say(f"bisect-check {number}/{len(self.patches)}: {self.subject(number)}")
        git(linux, "checkout", "-q", "-B", "queue", self.commits[number])
        self.built = number
        output = build_prefix(self.project, linux, [target for target in self.targets if has(linux, target)])
        return warnings(output.replace(f"{linux}/", ""))  # stamps are valid for every checkout

    def subject(self, number: int) -> str:
        return self.patches[number - 1].name if number else f"linux {self.base.version}"

    def base_finding(self) -> Finding:
        """Build the base and record its warnings, which are allowed."""
        key = self.key(0, "base")
        known = self.stamps.recall(key)
        if known is not None:
            self.known = {(where, text) for where, text in known}
            return Finding("builds", self.subject(0), notes=(AS_BEFORE,))
        begin = time.monotonic()
        shutil.rmtree(objects(self.project), ignore_errors=True)  # make only prints warnings of what it compiles
        try:
            self.known = self.build(0)
        except ToolError as error:
            return Finding("builds", self.subject(0), (str(error),), seconds=since(begin))
        self.stamps.keep(key, sorted(self.known))
        return Finding("builds", self.subject(0), seconds=since(begin))

    def findings(self, number: int) -> list[Finding]:
        subject = self.subject(number)
        return [self.stamps.measured(self.key(number, check), check, subject, problems, number)
                for check, problems in (("kselftests", self.shell_problems), ("builds", self.build_problems))]

    def shell_problems(self, number: int) -> list[str]:
        linux = self.linux
        return shell_problems(linux, self.commits[number])

    def build_problems(self, number: int) -> list[str]:
        try:
            found = self.build(number)
        except ToolError as error:
            return [str(error)]
        new = sorted(found - self.known)
        self.known |= found
        return [f"{where}: {text}" for where, text in new]

    def whole_findings(self) -> list[Finding]:
        """The checks that need all patches."""
        number = len(self.patches)
        key = digest(self.key(number, "whole"), versions("sparse"))

        def check() -> list[Finding]:
            if self.built != number:
                with contextlib.suppress(ToolError):  # a finding reports it
                    self.build(number)
            return [measured("builds", "every C file that the queue changes", not_built, self.project, self.linux),
                    *sparse(self.project, self.linux), *modules(self.project, self.linux)]

        return self.stamps.findings(key, check)


def objects(project: Project) -> Path:
    """The build folder of prefixes."""
    return project.build / "verify" / "um"


def touched(project: Project, base: Base, patches: Sequence[Path]) -> list[str]:
    """The targets for make: block/, and the other folders or files with C files that the queue changes."""
    changed = [name for name in sorted({name for path in patches for name in changed_files(path.read_text(
        errors="replace"))}) if name.endswith(".c") and not name.startswith("tools/")]
    folders = {"block", *(str(Path(name).parent) for name in changed)}
    present = {name for name in folders - set(LARGE) if git(
        project.pristine, "cat-file", "-e", f"{base.commit}:{name}/Makefile", check=False).returncode == 0}
    return sorted([f"{name}/" for name in present]
                  + [f"{name[:-2]}.o" for name in changed if str(Path(name).parent) in LARGE])


def has(linux: Path, target: str) -> bool:
    """Whether a prefix has the source of a target: a later patch may add it."""
    return target.endswith("/") or (linux / target).with_suffix(".c").is_file()


def build_prefix(project: Project, linux: Path, targets: Sequence[str]) -> str:
    """Build a prefix; returns make's output."""
    out = objects(project)
    configure(project, linux, out, "um", fragments(project, linux, out, FRAGMENTS))
    return make(project, "prefix", [*make_args(linux, out, "um"), "W=1", *targets], out / "build.log", 150)


def not_built(project: Project, linux: Path) -> list[str]:
    """The changed C files that no prefix has compiled, because an option is missing."""
    changed = git_out(linux, "diff", "--name-only", "base", "HEAD", "--", "*.c", ":!tools").splitlines()
    return [f"{name}: not built, see configs/bisect.config" for name in changed
            if not (objects(project) / name).with_suffix(".o").is_file()]
