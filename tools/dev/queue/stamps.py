# SPDX-License-Identifier: GPL-2.0
"""Stamps record checks that have passed, so that they are not repeated.

The name of a stamp is a digest of everything that the check depends on. So stamps are valid for
every checkout, and are in the user's cache. A check that fails leaves no stamp.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec

from tools.base.cli import ToolError
from tools.base.files import write_json
from tools.base.paths import TOOLS

from .common import Project, run
from .findings import Finding, measured

P = ParamSpec("P")

AS_BEFORE = "as before"
CODE = (TOOLS / "base", TOOLS / "dev/queue")
KEPT_S = 100 * 24 * 3600  # since it was last used


class Stamps:
    """The checks that have passed, by a digest of everything that they depend on. @again: ignore them."""

    def __init__(self, project: Project, again: bool = False) -> None:
        self.folder = project.cache / "passed"
        self.again = again

    def recall(self, key: str) -> Any:
        """The stamp of a key, or None."""
        path = self.folder / key
        if self.again:
            return None
        try:
            value = json.loads(path.read_text())
            path.touch()
        except (OSError, ValueError):
            return None
        return value

    def keep(self, key: str, value: Any) -> None:
        write_json(self.folder / key, value)
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run may have removed it
                if path.stat().st_mtime < time.time() - KEPT_S:
                    path.unlink()

    def forget(self, key: str) -> None:
        (self.folder / key).unlink(missing_ok=True)

    def measured(self, key: str, check: str, subject: str, problems: Callable[P, Iterable[str]],
                 *args: P.args, **kwargs: P.kwargs) -> Finding:
        """Run a check, unless it has passed before."""
        if self.recall(key) is not None:
            return Finding(check, subject, notes=(AS_BEFORE,))
        finding = measured(check, subject, problems, *args, **kwargs)
        if finding.ok:
            self.keep(key, f"{check}: {subject}")
        else:
            self.forget(key)
        return finding

    def findings(self, key: str, check: Callable[[], list[Finding]]) -> list[Finding]:
        """Run several checks, unless all of them have passed before."""
        known = self.recall(key)
        if known is not None:
            return [Finding(name, subject, notes=(*notes, AS_BEFORE)) for name, subject, notes in known]
        found = check()
        if all(finding.ok and not finding.skipped for finding in found):
            self.keep(key, [[finding.check, finding.subject, finding.notes] for finding in found])
        else:
            self.forget(key)
        return found


def digest(*parts: str | Path) -> str:
    """The digest of texts and of the contents of files, in this order."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        whole.update(hashlib.sha256(data).digest())
    return whole.hexdigest()


@functools.cache
def own_code() -> str:
    """The digest of the code of the checks."""
    return digest(*(path for folder in CODE for path in sorted(folder.glob("*.py"))))


def versions(*programs: str) -> str:
    """The versions of programs, as they print them; empty for a missing program."""
    output = []
    for program in programs:
        try:
            output.append(run([program, "--version"], check=False).stdout)
        except ToolError:
            output.append("")
    return "\n".join(output)
