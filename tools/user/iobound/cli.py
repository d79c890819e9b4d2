# SPDX-License-Identifier: GPL-2.0
"""Command line; all commands require numpy."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tools.base import cli


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    return cli.run("iobound", lambda: command(words))


def command(words: Sequence[str]) -> int:
    cli.need_numpy()
    from . import actions

    return actions.main(words)


if __name__ == "__main__":
    sys.exit(main())
