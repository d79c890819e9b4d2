# SPDX-License-Identifier: GPL-2.0
"""Command line: `blkviz record` requires only Python, everything else also numpy."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tools.base import cli


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    return cli.run("blkviz", lambda: command(words))


def command(words: Sequence[str]) -> int:
    if words[:1] == ["record"]:
        from . import capture

        return capture.main(words[1:])
    cli.need_numpy()
    from . import view

    return view.main(words)


if __name__ == "__main__":
    sys.exit(main())
