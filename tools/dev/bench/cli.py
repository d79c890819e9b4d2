# SPDX-License-Identifier: GPL-2.0
"""Measure what the patches cost: instructions, lock times, memory; and the speed of blkviz's page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.base import cli
from tools.user.blkviz import html_speed

from . import cost, disk_cost, lock, timer, where, zeros

COMMANDS = {"cost": cost, "disk": disk_cost, "lock": lock, "page": html_speed, "timer": timer, "where": where,
            "zeros": zeros}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="bench", description=__doc__)
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = module.__doc__ or ""
        one = sub.add_parser(name, help=text.split("\n\n")[0].strip(), description=text,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
        module.add_options(one)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("bench", lambda: COMMANDS[args.command].command(args))


if __name__ == "__main__":
    sys.exit(main())
