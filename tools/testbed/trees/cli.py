# SPDX-License-Identifier: GPL-2.0
"""Measure how fast programs read a tree of files: the programs of tools/user/sweep and the ones that they replace."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.base import cli

from . import cpu, run

COMMANDS = {"run": run, "cpu": cpu}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="trees", description=__doc__)
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = module.__doc__ or ""
        one = sub.add_parser(name, help=text.split("\n\n")[0].strip(), description=text,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_options(one)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("trees", lambda: COMMANDS[args.command].command(args))


if __name__ == "__main__":
    sys.exit(main())
