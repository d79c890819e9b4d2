# SPDX-License-Identifier: GPL-2.0
"""What lint asks of the project's own files beside what linters know: narrow READMEs, sources with a license.

    python3 -m tools.dev.check.texts width|license FILE...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PROSE = 120
OTHER = 200  # tables and code
LINK_TARGET = re.compile(r"\]\([^)]*\)")
LICENSE = re.compile(r"SPDX-License-Identifier: GPL-2\.0(?: \*/| -->)?$")


def wide_lines(text: str) -> Iterator[str]:
    """Lines of a README that are too wide; the target of a link does not count."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        most = OTHER if fenced or fence or line.startswith(("|", "    ", "\t")) else PROSE
        if len(LINK_TARGET.sub("]", line)) > most:
            yield f"{number}: wider than {most}"


def missing_license(text: str) -> Iterator[str]:
    """Of a source; its first line may be for the interpreter, or name the kind of document."""
    if not any(LICENSE.search(line) for line in text.splitlines()[:2]):
        yield "1: no SPDX-License-Identifier: GPL-2.0"


CHECKS = {"width": wide_lines, "license": missing_license}


def main(argv: Sequence[str]) -> int:
    name, *paths = argv
    found = [f"{path}:{said}" for path in paths for said in CHECKS[name](Path(path).read_text(errors="replace"))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
