# SPDX-License-Identifier: GPL-2.0
"""Run mutation tests: inject small bugs (mutants) one by one, and check that the tests detect them.

Exit codes: 0 every mutant was killed; 1 a mutant survived, cannot be built or its text is not found, or a killer
fails without it; 2 nothing was run; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.base import cli
from tools.base.arguments import words
from tools.base.cli import ToolError
from tools.base.progress import Progress
from tools.base.text import table as text_table
from tools.dev.queue.common import Project, locked
from tools.dev.queue.tree import make_tree

from . import killers, table, trees
from .table import Mutant


@dataclass
class Result:
    """The result of a mutant; `problem`: why it was not killed."""

    mutant: str
    file: str
    killed_by: list[str] = field(default_factory=list)
    seconds: float = 0
    problem: str = ""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="mutants", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--only", type=words, default=[], metavar="A,B", help="run only these mutants (default: all)")
    top.add_argument("--list", action="store_true", help="list the mutants")
    top.add_argument("--json", action="store_true", help="print the results as JSON")
    return top


def prepare(mutants: Sequence[Mutant]) -> None:
    """Make the copies without a mutant; raises ToolError if the text of a mutant is not found."""
    trees.copy_project()
    if any(mutant.kernel for mutant in mutants):
        project = Project.here()
        make_tree(project, os.environ.get("KERNEL") or None)
        trees.check_out_kernel(project.linux)
    for mutant in mutants:
        mutant.injected(trees.path_of(mutant).read_text())
    for flavour in sorted({mutant.kernel for mutant in mutants} - {""}):
        trees.build_kernel(flavour)


def try_mutant(mutant: Mutant) -> Result:
    """Inject a mutant, and run its killers until one detects it, or all of them."""
    begin = time.monotonic()
    result = Result(mutant.name, mutant.file)
    log = trees.OUT / "logs" / f"{mutant.name}.log"
    with trees.injected(mutant):
        try:
            if mutant.kernel:
                trees.build_kernel(mutant.kernel)
            result.killed_by, result.problem = run_killers(mutant, log)
        except ToolError as error:
            result.problem = str(error)
    result.seconds = round(time.monotonic() - begin, 1)
    return result


def run_killers(mutant: Mutant, log: Path) -> tuple[list[str], str]:
    """The killers that detected the mutant, and the problem, if any."""
    detected, missed = [], []
    for killer in mutant.killers:
        if killers.run([killer], log).failures:
            detected.append(killer)
            if not mutant.every:
                return detected, ""
        else:
            missed.append(killer)
    if detected and not missed:
        return detected, ""
    return detected, f"survived {', '.join(missed)}"


def show(results: Sequence[Result]) -> str:
    rows = [(result.mutant, result.file, result.problem or ", ".join(result.killed_by), f"{result.seconds:.0f}")
            for result in results]
    return text_table(("mutant", "file", "killed by", "seconds"), rows, "lllr")


def command(args: argparse.Namespace) -> int:
    mutants = table.choose(table.read(), args.only)
    if args.list:
        print(text_table(("mutant", "file", "description"), [(m.name, m.file, m.what) for m in mutants], "lll"))
        return 0
    with locked(trees.OUT / ".lock"):
        results = try_all(mutants)
    print(json.dumps([asdict(result) for result in results], indent=1) if args.json else show(results))
    return cli.EXIT_FAILED if any(result.problem for result in results) else 0


def try_all(mutants: Sequence[Mutant]) -> list[Result]:
    progress = Progress()
    logs = trees.OUT / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    prepare(mutants)
    progress.finish(f"mutants: {len(mutants)}; running their killers without a mutant")
    killers.check_without_mutant(mutants, logs / "without-a-mutant.log")
    results = []
    for number, mutant in enumerate(mutants, 1):
        result = try_mutant(mutant)
        results.append(result)
        outcome = result.problem or f"killed by {', '.join(result.killed_by)}"
        progress.finish(f"mutants {number}/{len(mutants)}: {mutant.name}: {outcome}, {result.seconds:.0f} s")
    return results


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    # programs that it starts would otherwise ignore the signal that ends them
    cli.heed_interrupts()
    return cli.run("mutants", lambda: command(args), "interrupted; run it again; only build/mutants was changed")


if __name__ == "__main__":
    sys.exit(main())
