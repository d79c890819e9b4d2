# SPDX-License-Identifier: GPL-2.0
"""Reads mutants.toml, the table of mutants: small bugs, each with the tests that must detect it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.base.cli import EXIT_USAGE, ToolError

TABLE = Path(__file__).resolve().with_name("mutants.toml")
# The kind of a mutant and the flavour of the kernel to build with it; none for the project's own files.
KINDS = {"kernel": "um-kunit", "smp": "um-smp", "project": ""}
CASE = re.compile(r"[\w-]+\.\w+")  # a KUnit case
PYTEST = "::"


@dataclass(frozen=True)
class Mutant:
    """One small bug: @old, which is in the file exactly once, becomes @new."""

    name: str
    what: str
    file: str
    old: str
    new: str
    killers: tuple[str, ...]  # cheapest first
    every: bool = False  # each killer must detect it, not only one of them
    kernel: str = ""  # the flavour to build with it

    def injected(self, text: str) -> str:
        """The text of the file with the bug in it."""
        if (found := text.count(self.old)) != 1:
            raise ToolError(f"mutant {self.name}: its old text is {found} times in {self.file}, not once: "
                            "update mutants.toml")
        return text.replace(self.old, self.new)


def read(path: Path = TABLE) -> list[Mutant]:
    """All mutants, in the order of the file."""
    try:
        entries = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ToolError(f"{path.name}: {error}", EXIT_USAGE) from None
    if unknown := set(entries) - set(KINDS):
        raise ToolError(f"{path.name}: unknown kind of mutant: {', '.join(sorted(unknown))}", EXIT_USAGE)
    found = [_mutant(entry, KINDS[kind]) for kind in entries for entry in entries[kind]]
    twice = [name for name, number in Counter(mutant.name for mutant in found).items() if number > 1]
    if twice:
        raise ToolError(f"{path.name}: several mutants are named {', '.join(twice)}", EXIT_USAGE)
    return found


def _mutant(entry: dict[str, Any], kernel: str) -> Mutant:
    name = entry.get("name", "without a name")
    try:
        mutant = Mutant(**{**entry, "killers": tuple(entry["killers"]), "kernel": kernel})
    except (KeyError, TypeError):
        raise ToolError(f"mutant {name}: required are name, what, file, old, new and killers; optional is every",
                        EXIT_USAGE) from None
    if not mutant.killers:
        raise ToolError(f"mutant {name}: it has no killers", EXIT_USAGE)
    for killer in mutant.killers:
        if PYTEST not in killer and not (kernel and CASE.fullmatch(killer)):
            raise ToolError(f"mutant {name}: '{killer}' is neither FILE::TEST nor, for the kernel, SUITE.CASE",
                            EXIT_USAGE)
    return mutant


def choose(mutants: list[Mutant], names: list[str]) -> list[Mutant]:
    """The mutants with these names, or all."""
    if unknown := set(names) - {mutant.name for mutant in mutants}:
        raise ToolError(f"no mutant {', '.join(sorted(unknown))}; see --list", EXIT_USAGE)
    return [mutant for mutant in mutants if not names or mutant.name in names]
