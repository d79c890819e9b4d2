# SPDX-License-Identifier: GPL-2.0
"""The command line of `lab`."""

from __future__ import annotations

import argparse

from tools.base import cli

from . import checking, claims, cluster, looking, pages, running


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="lab",
        description="I/O scheduling scenarios in virtual time.",
        epilog="Exit codes: 0 done, 1 something failed, 2 nothing was run.",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for add in (
        running.run_parser,
        running.try_parser,
        running.record_parser,
        cluster.cells_parsers,
        looking.list_parser,
        looking.show_parser,
        looking.keys_parser,
        looking.compare_parser,
        looking.plot_parser,
        checking.crosscheck_parser,
        checking.unchanged_parser,
        claims.matrix_parser,
        claims.hunt_parser,
        pages.pictures_parser,
        pages.pages_parser,
    ):
        add(commands)
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    return cli.run("lab", lambda: command(args))


def command(args: argparse.Namespace) -> int:
    code: int = args.function(args)
    return code
