# SPDX-License-Identifier: GPL-2.0
"""Write a working template for a new scenario, disk, kselftest or tool.

  scenario   tools/testbed/lab/scenarios/NAME.toml
  disk       configs/disks/NAME.conf, with the values of another disk
  kselftest  test_NAME.sh in build/linux, and its line in the Makefile there
  tool       tools/WING/NAME, with a command line, a README and a test

Prints each file that was written or changed, and the commands to run next. A name that exists
or is malformed is refused with exit code 2, and nothing is written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.base import cli
from tools.base.paths import ROOT

from . import kinds


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="new", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("kind", choices=kinds.KINDS, metavar="KIND", help=", ".join(kinds.KINDS))
    top.add_argument("name", metavar="NAME", help="small letters, digits and '-' ('_' for a kselftest or a tool)")
    top.add_argument("--wing", choices=kinds.WINGS, help="folder of tools/ for a new tool (default: dev)")
    top.add_argument("--like", metavar="DISK", help="preset whose values a new disk begins with"
                                                    f" (default: {kinds.LIKE})")
    return top


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    args = parser().parse_args(argv)
    return cli.run("new", lambda: command(args, root))


def command(args: argparse.Namespace, root: Path) -> int:
    for option, kind in (("wing", "tool"), ("like", "disk")):
        if getattr(args, option) and args.kind != kind:
            raise cli.ToolError(f"--{option} is an option of the kind {kind}", cli.EXIT_USAGE)
    made = kinds.KINDS[args.kind](kinds.Wanted(root, args.name, args.wing or "dev", args.like or kinds.LIKE))
    for path in made.written:
        print(path.relative_to(root))
    print("next:")
    for line in made.following:
        print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
