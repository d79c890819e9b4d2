# SPDX-License-Identifier: GPL-2.0
"""An identifier of the code that the patches leave, as the compiler sees it.

It is the same for the same code, however the code is cut into patches; comments, blank lines and tests do not count.
Read from patches/ alone. A file that the patches add is known whole. Of a file that the kernel has already, only the
numbers of the lines that remain are known, and the lines that the patches add between them.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from .csource import stripped_runs
from .paths import ROOT

ELSEWHERE = ("Documentation/", "tools/", "samples/")  # than in the kernel
TEST = re.compile(r"[-_](?:test|kunit)\.c$")
HEAD = re.compile(r"^diff --git a/(\S+) b/(\S+)$")
HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
DISK_MODEL = ("drivers/block/null_blk/",)  # what results of the disk alone depend on
SCHEDULING = ("block/", *DISK_MODEL, "include/")  # what results of scenarios depend on
COVERED = ("block/", *DISK_MODEL, "kernel/trace/")  # what coverage is measured of
END = 1 << 40  # of a file that is not known
KERNEL_ID = "kernel-id.json"  # beside an image: digests of it and of the code that it was built from
OLDSCHED = "patches/oldsched"  # old schedulers to compare with, a series of their own on top of the queue

# Lines first to last of the base (without last), or a line that a patch added.
Part = tuple[int, int] | str


@functools.cache
def code_id(root: Path = ROOT, folders: tuple[str, ...] = (), series: str = "") -> str:
    """A short digest of the C sources and headers that the patches leave, without tests.

    @folders: only files below these, or all
    @series: a folder whose patches count, in the order of their names, instead of the queue
    """
    names = [line.partition("#")[0].strip() for line in (root / "series").read_text().splitlines()]
    paths = sorted((root / series).glob("*.patch")) if series else [root / "patches" / name for name in names if name]
    files = left_by(path.read_text(errors="replace") for path in paths)
    compiled = {name: (parts, joined(stripped_runs(parts))) for name, parts in files.items()
                if name.startswith(folders or "")}
    # without a part from the start the file is removed; one that has only comments is no code
    code = sorted((name, code) for name, (parts, code) in compiled.items() if code or not parts)
    return hashlib.sha256(repr(code).encode()).hexdigest()[:12]


def is_code(name: str) -> bool:
    """Whether a file decides what the kernel does."""
    return name.endswith((".c", ".h")) and not name.startswith(ELSEWHERE) and not TEST.search(name)


def of_patches(code: str, *folders: str) -> str:
    """The line in which a page of results names its code."""
    where = ", ".join(folder.rstrip("/") for folder in folders)
    return f"Of {where} of the patches {code}." if folders else f"Of the patches {code}."


def left_by(patches: Iterable[str]) -> dict[str, list[Part]]:
    """Each file of code that patches change, as it is behind the last."""
    files: dict[str, list[Part]] = {}
    for patch in patches:
        name = ""
        lines = iter(patch.splitlines())
        for line in lines:
            if head := HEAD.match(line):
                name = head[2] if is_code(head[2]) else ""
                if name:
                    files[name] = files.get(head[1], [(1, END)])
                if name and name != head[1]:
                    files[head[1]] = []
            elif name and line == "--- /dev/null":
                files[name] = []
            elif name and line == "+++ /dev/null":
                files[name] = []
                name = ""
            elif name and (hunk := HUNK.match(line)):
                apply(files[name], int(hunk[2]), int(hunk[1] or 1), int(hunk[3] or 1), lines)
    return files


def apply(parts: list[Part], at: int, old: int, new: int, lines: Iterable[str]) -> None:
    """Take one hunk's lines. @at: where it begins in the file that it makes."""
    line = at if new else at + 1
    for text in lines:
        kind = text[:1]
        if kind == "+":
            parts.insert(split(parts, line), text[1:])
        elif kind == "-":
            first = split(parts, line)
            split(parts, line + 1)
            del parts[first]
        old -= kind not in ("+", "\\")
        new -= kind not in ("-", "\\")
        line += kind not in ("-", "\\")
        if old <= 0 and new <= 0:
            return


def joined(parts: Iterable[Part]) -> list[Part]:
    """The same, with lines of the base that follow each other in one part."""
    whole: list[Part] = []
    for part in parts:
        before = whole[-1] if whole else ""
        if not isinstance(part, str) and not isinstance(before, str) and before[1] == part[0]:
            whole[-1] = (before[0], part[1])
        else:
            whole.append(part)
    return whole


def split(parts: list[Part], line: int) -> int:
    """The number of the part that begins at a line of the file."""
    at = 1
    for number, part in enumerate(parts):
        if at == line:
            return number
        length = 1 if isinstance(part, str) else part[1] - part[0]
        if not isinstance(part, str) and at < line < at + length:
            middle = part[0] + line - at
            parts[number:number + 1] = [(part[0], middle), (middle, part[1])]
            return number + 1
        at += length
    return len(parts)
