# SPDX-License-Identifier: GPL-2.0
"""The private words of the project's texts, which the field has standard terms for.

    python3 -m tools.dev.check.prose [--all] [FILE...]

Single words are in words.txt, a dictionary of codespell; phrases and long sentences are in texts.py. A file in
prose-todo is not rewritten yet: it may fail, and once it passes its line has to go. --all shows what is wrong with
these, too. Sentences that are too long are counted and are no error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.base import cli
from tools.base.cli import EXIT_USAGE, ToolError
from tools.base.paths import ROOT
from tools.dev.queue.common import Project
from tools.dev.queue.groups import letter, read_groups

from .texts import WORDS_MOST, long_sentences, phrases

HERE = Path(__file__).parent
WORDS = HERE / "words.txt"
TODO = HERE / "prose-todo"
EXCEPTIONS = HERE / "prose-exceptions"

# Series whose messages and cover letters are not checked yet.
LATER = {
    "cfq": "its messages are being rewritten, together with the code",
    "bandwidth": "its messages are being rewritten, together with the code",
}
# The project's documents that a program writes: their words are in its source.
GENERATED = ("apex.md", "coverage.md", "blktests.md", "disk-validation.md", "scenarios.md")
SCENARIO_TEXTS = ("title", "about", "must_show", "differences", "says", "caption")

_INSIDE = re.compile(r"\s+\*\s")
_LITERAL = re.compile(r"``[^`]*``")
_CODE = re.compile(r"`[^`\n]*`|<!--.*?-->")
_FILLED = re.compile(r"<!--\{\{.*?<!---->", re.DOTALL)
_REFERENCE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TARGET = re.compile(r"\]\([^)]*\)")
_KEY = re.compile(r'\s*([A-Za-z_]+)\s*=\s*("""|"|)')
_TRAILER = re.compile(r"[A-Z][A-Za-z-]+: \S.*")
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Finding:
    """What is wrong in a line of a file."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def _without_results(text: str) -> str:
    """A text without references to results and what they are filled with: names of groups are no prose."""
    for pattern in (_FILLED, _REFERENCE):
        text = pattern.sub(lambda found: "-" + "\n" * found[0].count("\n"), text)
    return text


def of_markdown(text: str) -> str:
    """The prose of a page, line by line: no code, no targets of links, no results."""
    lines, fenced = [], False
    for line in _without_results(text).splitlines():
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        code = fenced or fence or line.startswith(("    ", "\t"))
        lines.append("" if code else _TARGET.sub("]", _CODE.sub("-", line)))
    return "\n".join(lines)


def without_tables(text: str) -> str:
    """The prose of the evaluation: its tables have the texts of the scenarios, which are checked there."""
    return "\n".join("" if line.startswith("|") else line for line in of_markdown(text).splitlines())


def of_message(text: str) -> str:
    """The subject and message of a patch, line by line: no other headers, trailers or quoted commits."""
    lines, head = [], True
    for line in text.splitlines():
        if line == "---":
            break
        if head:
            subject = line.removeprefix("Subject: ") if line.startswith("Subject: ") else ""
            lines.append(re.sub(r"^\[PATCH[^]]*\] *", "", subject))
            head = bool(line)
        else:
            lines.append("" if _TRAILER.fullmatch(line) or line.startswith(("    ", "\t")) else line)
    return "\n".join(lines)


def of_added(text: str) -> str:
    """The comments and documents that a patch adds, line by line."""
    lines, name, comment = [], "", False
    for line in text.splitlines():
        if line.startswith("+++ "):
            name = line
        elif line.startswith("@@") or line.startswith("diff --git "):
            comment = False
        there, added = line[1:], line.startswith("+") and not line.startswith("+++ ")
        if not line.startswith(("+", " ")) or line.startswith("+++ "):
            lines.append("")
        elif name.endswith((".c", ".h")):
            # A hunk may begin inside a comment.
            comment = comment or "/*" in there or bool(_INSIDE.match(there))
            _, begun, rest = there.partition("/*")
            lines.append((rest if begun else there).partition("*/")[0] if comment and added else "")
            comment = comment and "*/" not in there
        elif name.endswith(".sh"):
            lines.append(there if added and there.lstrip().startswith("# ") else "")
        else:
            lines.append(_LITERAL.sub("-", there) if added and "Documentation/" in name else "")
    return "\n".join(lines)


def of_help(text: str) -> str:
    """What `make help` prints, line by line."""
    return "\n".join(line.partition("##")[2] for line in text.splitlines())


def of_scenario(text: str) -> str:
    """The comments and the texts of a scenario file, line by line: no names and no settings."""
    tomllib.loads(text)
    lines, long, keep = [], False, False
    for line in _without_results(text).splitlines():
        if long:
            lines.append(line.removesuffix('"""') if keep else "")
            long = '"""' not in line
        elif line.startswith("#"):
            lines.append(line)
        elif found := _KEY.match(line):
            keep = found[1] in SCENARIO_TEXTS
            long = found[2] == '"""' and '"""' not in line[found.end():]
            lines.append(line[found.end():].removesuffix('"""') if keep else "")
        else:
            lines.append("")
    return "\n".join(lines)


def texts(root: Path) -> dict[str, str]:
    """The prose of every file that is checked, by the file's path; each line of it has its number in the file."""
    project = Project(root, root / "build", root)
    pages = [path for folder in ("Documentation/queue", "tools", "selftests") for path in sorted(
        (root / folder).glob("*.md" if folder.startswith("D") else "**/*.md")) if path.name not in GENERATED]
    pages.append(root / "README.md")
    found: dict[Path, Callable[[str], str]] = dict.fromkeys(pages, of_markdown)
    found |= {path: without_tables for path in pages if path.name == "evaluation.md"}
    patches = sorted((root / "patches").glob("*.patch"))
    for name, group in read_groups(project, patches).items():
        if name not in LATER:
            found |= dict.fromkeys(group.patches, of_message)
            if letter(project, name).is_file():
                found[letter(project, name)] = of_message
    found |= dict.fromkeys(sorted((root / "tools/testbed/lab/scenarios").rglob("*.toml")), of_scenario)
    return {str(path.relative_to(root)): prose(path.read_text()) for path, prose in found.items()}


def beside(root: Path, patches: Iterable[str]) -> dict[str, str]:
    """Prose whose sentences are not counted: comments and documents in patches, and the help of make."""
    found = {path: of_added((root / path).read_text()) for path in patches}
    return found | {"Makefile": of_help((root / "Makefile").read_text())}


def exceptions(path: Path = EXCEPTIONS) -> list[str]:
    """Names and phrases that are right as they are."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            phrase, _, reason = line.partition(": ")
            if not reason:
                raise ToolError(f"{path.name}:{number}: needs a phrase, ': ' and a reason", EXIT_USAGE)
            found.append(phrase)
    return found


def without(text: str, names: Sequence[str]) -> str:
    """A text without some phrases, which may go over the end of a line."""
    for name in names:
        spaced = r"\s+".join(map(re.escape, name.split()))
        text = re.sub(rf"(?<![\w-]){spaced}(?![\w-])", lambda match: "-" + "\n" * match[0].count("\n"), text)
    return text


def misused(prose: Mapping[str, str]) -> Iterator[Finding]:
    """Words of words.txt: codespell on a copy of the prose."""
    program = shutil.which("codespell") or str(ROOT / "build/venv/bin/codespell")
    if not Path(program).is_file():
        raise ToolError("no codespell here: `make venv` installs it", EXIT_USAGE)
    with tempfile.TemporaryDirectory() as work:
        for number, text in enumerate(prose.values()):
            (Path(work) / str(number)).write_text(text)
        # from that folder, and with no configuration of the user's
        options = ["--disable-colors", "--quiet-level=3", "--config", os.devnull, "-D", str(WORDS)]
        done = subprocess.run([program, *options, "."], cwd=work, capture_output=True, text=True)
    names = list(prose)
    said = re.findall(r"^\./(\d+):(\d+): (\S+) ==> (.*)$", done.stdout, re.M)
    if done.returncode and not said:
        raise ToolError(f"codespell: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    for number, line, word, better in said:
        yield Finding(names[int(number)], int(line), f"'{word}': use {better}")


def findings(prose: Mapping[str, str]) -> list[Finding]:
    found = list(misused(prose))
    found += [Finding(path, line, what) for path, text in prose.items() for line, what in phrases(text)]
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.what))


def listed(path: Path = TODO) -> list[str]:
    """Files that are not rewritten yet."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def report(prose: Mapping[str, str], todo: Sequence[str], everything: bool = False) -> list[str]:
    """What fails the check."""
    found = findings(prose)
    bad = {finding.path for finding in found}
    lines = [str(finding) for finding in found if everything or finding.path not in todo]
    lines += [f"{TODO.name}: {name} is not one of the files that are checked: remove its line"
              for name in todo if name not in prose]
    lines += [f"{TODO.name}: {name} passes: remove its line" for name in todo if name in prose and name not in bad]
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    top = argparse.ArgumentParser(prog="prose", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--all", action="store_true", help="also show what is wrong with files of prose-todo")
    top.add_argument("file", nargs="*", help="only these files, also those of prose-todo")
    return cli.run("prose", lambda: command(top.parse_args(argv)))


def command(args: argparse.Namespace) -> int:
    names = exceptions()
    prose = {path: without(text, names) for path, text in texts(ROOT).items()}
    if unknown := [name for name in args.file if name not in prose]:
        raise ToolError(f"{unknown[0]} is not one of the files that are checked", EXIT_USAGE)
    if args.file:
        prose = {path: prose[path] for path in args.file}
    lines = report(prose, [] if args.file else listed(), args.all)
    if not args.file:
        patches = [path for path in prose if path.endswith(".patch")]
        lines += map(str, findings({path: without(text, names) for path, text in beside(ROOT, patches).items()}))
    long = [(path, *sentence) for path, text in prose.items() for sentence in long_sentences(text)]
    print("".join(f"{line}\n" for line in lines), end="")
    if args.file:
        print("".join(f"{path}:{line}: a sentence of {words} words\n" for path, line, words in long), end="")
    print(f"note: {len(long)} sentences of more than {WORDS_MOST} words in {len({path for path, *_ in long})} files")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
