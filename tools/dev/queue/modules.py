# SPDX-License-Identifier: GPL-2.0
"""Checks that what the queue builds in can be built as a module, too."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from pathlib import Path

from .common import Project, git, run
from .findings import Finding, measured

# Objects that the queue's kernels build in and distributions build as modules.
MODULES = {"cfq-iosched.ko": "block/cfq-iosched.o", "null_blk.ko": "drivers/block/null_blk/*.o"}
EXPORT = re.compile(r"EXPORT_(TRACEPOINT_|STATIC_CALL_)?(?:PER_CPU_)?(?:SYMBOL)?\w*\((\w+)")


def modules(project: Project, linux: Path) -> list[Finding]:
    """Check that the kernel exports all symbols that a module would need."""
    text = git(linux, "grep", "-hE", r"EXPORT_[A-Z_]+\(", "--", "*.c", "*.S", "*.h").stdout
    have = exported(text)
    findings = []
    for module, pattern in MODULES.items():
        objects = sorted((project.build / "verify/um").glob(pattern))
        if not objects:
            continue
        findings.append(measured("module", module, not_exported, objects, have))
    return findings


def not_exported(objects: Sequence[Path], have: Set[str]) -> list[str]:
    """The symbols that the objects need and the kernel does not export."""
    symbols = run(["nm", *objects], check=False).stdout
    return [f"{name} is not exported" for name in sorted(needed(symbols) - have)]


def exported(text: str) -> set[str]:
    """The symbols that lines of source export."""
    names = set()
    for kind, name in EXPORT.findall(text):
        names |= {f"__tracepoint_{name}", f"__traceiter_{name}"} if kind == "TRACEPOINT_" else {name}
    return names


def needed(symbols: str) -> set[str]:
    """The symbols that objects take from other objects, from the output of nm."""
    lines = [line.split() for line in symbols.splitlines()]
    # param_*: those of the types of module parameters, which a macro makes and exports
    undefined = {words[1] for words in lines if len(words) == 2 and words[0] == "U"
                 and not words[1].startswith("param_")}
    return undefined - {words[2] for words in lines if len(words) == 3}
