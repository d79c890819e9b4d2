# SPDX-License-Identifier: GPL-2.0
"""What lint requires of the project's own files: narrow READMEs, sources with a license, standard terms in prose.

    python3 -m tools.dev.check.texts width|license FILE...

The check of prose (prose.py) uses the phrases and the length of sentences.
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


# Phrases that have a standard term, which codespell, word by word, cannot find: a regular expression, and the term.
BARE = r"(?:(?:\A|[.,:;(]|\n\s*\n|\b(?:and|as|beside|by|for|from|of|or|than|that|to|with))\s*\b)"
PHRASES = {
    r"in place of": "instead of",
    r"(?:is|are|was|were|has|have) to be there": "must complete, must exist",
    # without a noun before it: "people who read" is plain
    rf"{BARE}who (?:waits?|reads?|writes?|syncs?|wants?|(?:has|have) reserved|reserves?)":
        "the submitter, reader, writer, reservation holder",
    r"(?:is|are|was|were|comes?|came) (?:too )?late": "misses its deadline",
    r"the laboratory": "the simulation testbed, lab",
    r"must show": "expected",
    r"reads? without a pause": "closed-loop reader",
    r"queues? in the drive": "command queueing (NCQ), queue depth 31",
    r"way of the head": "seek, access path",
    r"the wire": "the bus, host interface",
    r"memory for reading": "read cache",
    r"memory for writing": "write cache",
    r"(?:go|goes|going|went) aside": "yields",
    r"(?:stand|stands|standing|stood) back": "yields",
    r"leaves? tags to": "reserves tags for a class",
    r"let through by age": "aging",
    r"waits? too long": "starved",
    r"(?:faults|mutants) (?:are )?planted|plants? (?:small )?(?:faults|mutants)": "injects (mutation testing)",
    r"by the numbers of the thesis": "index of the thesis' tables and figures",
}
_PHRASES = {re.compile(rf"(?<!\w)(?:{phrase})\b".replace(" ", r"\s+"), re.IGNORECASE): term
            for phrase, term in PHRASES.items()}
WORDS_MOST = 25  # of a sentence
_WORD = re.compile(r"[A-Za-z][\w'-]*")
# A sentence ends at a full stop, and a paragraph, a row of a table or an item of a list ends one, too.
_END = re.compile(r"[.!?](?=\s)|\n\s*\n|\n\s*(?=[-*#|]|\d+\.)|\|")


def phrases(text: str) -> Iterator[tuple[int, str]]:
    """Lines with phrases that have a standard term; a phrase may go over the end of a line."""
    for pattern, term in _PHRASES.items():
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.end()) + 1, f"'{' '.join(match[0].split())}': use {term}"


def long_sentences(text: str) -> Iterator[tuple[int, int]]:
    """The line in which a sentence begins that is too long, and its number of words."""
    begin = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        sentence = text[begin:end]
        words = _WORD.findall(sentence)
        if len(words) > WORDS_MOST:
            yield text.count("\n", 0, begin + len(sentence) - len(sentence.lstrip())) + 1, len(words)
        begin = end


CHECKS = {"width": wide_lines, "license": missing_license}


def main(argv: Sequence[str]) -> int:
    name, *paths = argv
    found = [f"{path}:{said}" for path in paths for said in CHECKS[name](Path(path).read_text(errors="replace"))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
