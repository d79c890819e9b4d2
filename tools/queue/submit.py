# SPDX-License-Identifier: GPL-2.0
"""`make submit-check`: all that can be done for the series without sending it.

The files of the queue and their mail are looked at here; analyse.py has the
programs that read the code. Like `verify` it works in build/verify/linux.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.files import write_if_changed
from tools.base.text import table as text_table

from . import analyse, tree
from .checkpatch import checkpatch_environment, checkpatch_findings
from .common import PLAIN_GIT, QUEUE_IDENT, Project, git, git_out, locked, run, say
from .findings import Finding, measured, reasoned, since
from .groups import group_findings, spans
from .scratch import applied, scratch_tree
from .series import changed_files, message_problems, series_problems
from .source import fetch
from .stamps import Stamps
from .verify import export_problems

COVER = "cover-letter.txt"
WORDS = "tools/queue/codespell-exceptions"
BRANCH = "submit-check"  # in the scratch tree, while b4 works on it


@dataclass(frozen=True)
class Series:
    """What the checks look at: the queue, and a tree that has it applied."""

    project: Project
    linux: Path  # build/verify/linux, on its branch `queue`
    patches: tuple[Path, ...]

    @property
    def out(self) -> Path:
        return self.project.build / "submit"


# The checks of this file, in the order of the report.
Check = Callable[[Series], list[Finding]]


def names() -> list[str]:
    return [*CHECKS, *analyse.names()]


def submit_check(project: Project, kernel: str | None, only: Sequence[str] = ()) -> list[Finding]:
    if unknown := [name for name in only if name not in names()]:
        raise ToolError(f"no check named {', '.join(unknown)}; there are {', '.join(names())}")
    if problems := series_problems(project):
        return [Finding("series", "series and patches/", tuple(problems))]
    tree.make_tree(project, kernel)
    base = fetch(project, kernel)
    patches = tuple(tree.queue_patches(project))
    if not patches:
        raise ToolError("series names no patch: there is nothing to send")
    findings: list[Finding] = []
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        try:
            applied(project, linux, base, patches)
        except ToolError as error:
            return [Finding("am", f"on linux {base.version}", (str(error),))]
        series = Series(project, linux, patches)
        for name, check in CHECKS.items():
            if only and name not in only:
                continue
            begin = time.monotonic()
            try:
                found = check(series)
            except ToolError as error:
                found = [Finding(name, "could not be made", (str(error),))]
            # the time of one that is many findings is in each of them
            findings += [replace(found[0], seconds=since(begin))] if len(found) == 1 else found
            say(f"submit-check {name}: {since(begin):.0f} s")
        findings += analyse.analyse(project, linux, [name for name in analyse.names()
                                                     if not only or name in only])
    return findings


# --- the files ----------------------------------------------------------------------


def check_export(series: Series) -> list[Finding]:
    """format-patch of build/linux, byte for byte."""
    return [Finding("export", "patches/ is what build/linux holds",
                    tuple(export_problems(series.project, series.project.linux, series.patches)))]


def check_am(series: Series) -> list[Finding]:
    """`git am patches/*.patch` as somebody types it: one run, and the cover letter left out."""
    linux, folder = series.linux, series.project.patches
    globbed = sorted(folder.glob("*.patch"))
    wrong = [] if globbed == list(series.patches) else [
        "patches/*.patch are other files than those that series names"]
    wanted = git_out(series.project.linux, "rev-parse", "HEAD^{tree}")
    wrong += am_problems(linux, globbed, wanted)
    return [Finding("am", f"git am patches/*.patch, {len(globbed)} patches", tuple(wrong))]


def am_problems(linux: Path, patches: Sequence[Path], wanted: str) -> list[str]:
    """One git am of all files on the base; the tree that it must end with."""
    git(linux, "checkout", "-q", "--detach", "base")
    try:
        done = git(linux, "-c", "commit.gpgsign=false", "am", "-q", *patches, check=False,
                   env=QUEUE_IDENT)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            git(linux, "am", "--abort", check=False)
            return [f"git am: {(said or ['no message'])[0]}"]
        wrong = []
        count = int(git_out(linux, "rev-list", "--count", "base..HEAD"))
        if count != len(patches):
            wrong.append(f"git am made {count} commits of {len(patches)} patches")
        if git_out(linux, "rev-parse", "HEAD^{tree}") != wanted:
            wrong.append("git am makes another tree than build/linux has")
        return wrong
    finally:
        git(linux, "checkout", "-q", "-f", "queue")


def check_message(series: Series) -> list[Finding]:
    return [measured("message", path.name, message_problems, path) for path in series.patches]


def check_checkpatch(series: Series) -> list[Finding]:
    return checkpatch_findings(series.project, series.linux, series.patches, Stamps(series.project, again=True))


# --- the series as others meet it ---------------------------------------------------------


def check_groups(series: Series) -> list[Finding]:
    """The parts that can be sent apart."""
    return group_findings(series.project, series.linux, series.patches)


# Documentation/process/submitting-patches.rst: beyond 300 kB a list should
# be given an address where the patch is instead.
LIMIT, LONG = 300_000, 1000


def check_size(series: Series) -> list[Finding]:
    """Lists refuse what is too large; reviewers do too, and earlier."""
    wrong, notes = [], []
    for path in series.patches:
        size = path.stat().st_size
        lines = changed_lines(path.read_text(errors="replace"))
        if size > LIMIT:
            wrong.append(f"{path.name}: {size:,} bytes, more than lists take ({LIMIT:,})")
        elif lines > LONG:
            notes.append(f"{path.name}: {lines:,} changed lines are much for one reading")
    return [Finding("size", f"{len(series.patches)} patches", tuple(wrong), tuple(notes))]


def changed_lines(patch: str) -> int:
    return sum(line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
               for line in patch.partition("\ndiff --git ")[2].splitlines())


# --- the cover letter -----------------------------------------------------------------


def check_cover(series: Series) -> list[Finding]:
    path = series.project.patches / COVER
    if not path.is_file():
        return [Finding("cover", f"patches/{COVER}", ("does not exist",))]
    text = path.read_text(errors="replace")
    with tempfile.TemporaryDirectory(dir=series.project.build) as work:
        git(series.linux, *tree.FORMAT_PATCH, "--cover-letter", "-o", work, "base..HEAD",
            env={**PLAIN_GIT, **git_identity(series)})
        made = (Path(work) / "0000-cover-letter.patch").read_text()
    shortlog, diffstat = overview(made)
    wrong, notes = cover_problems(text, len(series.patches), shortlog, diffstat)
    if not wrong:
        whole = series.out / "0000-cover-letter.patch"
        write_if_changed(whole, whole_letter(text, made).encode())
        notes.append(f"with what git adds to it: {series.project.show(whole)}")
    return [Finding("cover", f"patches/{COVER}", tuple(wrong), tuple(notes))]


def git_identity(series: Series) -> dict[str, str]:
    """The author of the first patch, as the user of git."""
    author = git(series.linux, "log", "--reverse", "--format=%an%n%ae", "base..HEAD").stdout
    name, mail = author.splitlines()[:2]
    return {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail}


def overview(letter: str) -> tuple[str, str]:
    """The shortlog and the diffstat of a cover letter that format-patch made."""
    body = letter.partition("*** BLURB HERE ***\n")[2].strip("\n")
    shortlog, _, diffstat = body.rpartition("\n\n")
    return shortlog, diffstat


def whole_letter(text: str, made: str) -> str:
    """The letter as it is sent: git's headers, the subject and text of ours, git's overview."""
    subject, body = split_cover(text)
    head, _, rest = made.partition("\n\n")
    shortlog, diffstat = overview(made)
    head = re.sub(r"^Subject: .*$", lambda _: subject, head, flags=re.M)
    added = [part for part in (shortlog, diffstat) if part not in body]
    return "\n\n".join([head, body.strip("\n"), *added]) + "\n"


def split_cover(text: str) -> tuple[str, str]:
    head, _, body = text.partition("\n\n")
    return head, body


SUMMARY = re.compile(r"^ \d+ files? changed.*$", re.M)
AUTHOR = re.compile(r"^\S.* \(\d+\):$", re.M)
REFERENCE = re.compile(r"\b[Pp]atch(?:es)?\s+(\d+)(?:(?:\s+to\s+|\s+and\s+|-)(\d+))?")
UNFINISHED = re.compile(r"\*\*\* (?:SUBJECT|BLURB) HERE \*\*\*|\bEDITME\b|\bTODO\b|\bFIXME\b")
WIDE = 78  # RFC 5322's recommendation


def cover_problems(text: str, count: int, shortlog: str,
                   diffstat: str) -> tuple[list[str], list[str]]:
    """What is wrong with the letter, and what is worth knowing."""
    wrong, notes = [], []
    head, body = split_cover(text)
    number = f"[PATCH {0:0{len(str(count))}}/{count}]"
    if not head.startswith("Subject: ") or "\n" in head:
        wrong.append("does not begin with a Subject: line and an empty one")
    elif not re.match(rf"Subject: {re.escape(number)} \S", head):
        wrong.append(f"its subject does not say {number}, which is the number of patches")
    if not body.strip():
        wrong.append("has no text")
    if found := UNFINISHED.search(text):
        wrong.append(f"is not finished: {found.group()}")
    for first, last in REFERENCE.findall(body):
        if int(last or first) > count or int(first) < 1:
            wrong.append(f"speaks of patch {last or first}, there are {count}")
    for name, has, made in (("shortlog", AUTHOR.search(body), shortlog),
                            ("diffstat", SUMMARY.search(body), diffstat)):
        if has and made not in body:
            wrong.append(f"its {name} is not that of the series: take it out (git and b4 add it), "
                         "or write it anew")
    wide = [n for n, line in enumerate(text.splitlines(), 1)
            if len(line) > WIDE and line not in diffstat]
    if wide:
        notes.append(f"more than {WIDE} columns in line{'s' if len(wide) > 1 else ''} "
                     + ", ".join(map(str, wide)))
    return wrong, notes


# --- recipients ------------------------------------------------------------------------

# To whom a patch that changes a file there must be sent.
WANTED = {
    "block/": ("axboe@kernel.dk", "linux-block@vger.kernel.org"),
    "drivers/block/": ("axboe@kernel.dk", "linux-block@vger.kernel.org"),
    "drivers/scsi/": ("linux-scsi@vger.kernel.org",),
    "fs/": ("linux-fsdevel@vger.kernel.org",),
    "io_uring/": ("io-uring@vger.kernel.org",),
    "kernel/trace/": ("linux-trace-kernel@vger.kernel.org",),
    "mm/": ("linux-mm@kvack.org",),
    "Documentation/": ("linux-doc@vger.kernel.org",),
    "tools/testing/selftests/": ("linux-kselftest@vger.kernel.org",),
}
# To whom the series must be sent; b4 sends all of it to everybody whom one patch is for.
EVERYBODY = {"axboe@kernel.dk", "linux-block@vger.kernel.org"}


def check_maintainers(series: Series) -> list[Finding]:
    findings = []
    table: dict[str, tuple[str, list[int]]] = {}
    for number, path in enumerate(series.patches, 1):
        text = path.read_text(errors="replace")
        have = recipients(run(["scripts/get_maintainer.pl", "--nogit", "--nogit-fallback",
                               "--norolestats", "--roles", path], cwd=series.linux).stdout)
        for address, role in have.items():
            table.setdefault(address, (role, []))[1].append(number)
        lost = sorted(wanted(changed_files(text)) - have.keys())
        findings.append(Finding("maintainers", path.name, tuple(
            f"get_maintainer.pl does not name {address}" for address in lost)))
    lost = sorted(EVERYBODY - table.keys())
    return [*findings, Finding("maintainers", "of the series", tuple(
        f"get_maintainer.pl does not name {address}" for address in lost), tuple(rows(table)))]


def recipients(said: str) -> dict[str, str]:
    """get_maintainer.pl's lines: address -> role."""
    found = {}
    for line in said.splitlines():
        if match := re.match(r"(?:.*<([^<>\s]+@[^<>\s]+)>|([^<>\s]+@\S+))\s+\((.*)\)$", line):
            found[match.group(1) or match.group(2)] = match.group(3)
    return found


def wanted(files: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for name in files:
        for folder, addresses in WANTED.items():
            if name.startswith(folder):
                found.update(addresses)
    return found


def rows(table: dict[str, tuple[str, list[int]]]) -> list[str]:
    """Recipient, of which patches, why; those of most patches first."""
    order = sorted(table.items(), key=lambda item: (-len(item[1][1]), item[0]))
    lines = [[address, spans(numbers), role] for address, (role, numbers) in order]
    return text_table(["recipient", "patches", "role"], lines, "lll", rule=False).splitlines()


# --- spelling --------------------------------------------------------------------------


def check_spelling(series: Series) -> list[Finding]:
    """codespell on the text and the added lines of the patches, and on the documents."""
    project = series.project
    program = analyse.program(project, "codespell")
    if not program:
        return [Finding("spelling", "added lines and documents",
                        skipped="codespell is not installed (`make venv`)")]
    words = read_words(project)
    tracked = git_out(project.root, "ls-files", "-co", "--exclude-standard", "--", "*.md",
                      "tools/bwctl/bwctl.8").splitlines()
    cover = project.patches / COVER
    findings = []
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        files = {path.name: only_added(path.read_text(errors="replace"))
                 for path in series.patches}
        files |= {name: (project.root / name).read_text(errors="replace") for name in tracked
                  if (project.root / name).is_file()}
        if cover.is_file():
            files[COVER] = cover.read_text(errors="replace")
        for name, text in files.items():
            path = Path(work) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        # from the folder above, and with no configuration of the user's
        done = run([program, "--disable-colors", "--quiet-level=3", "--config", os.devnull,
                    "--ignore-words-list", ",".join(words) or "no-such-word", "."],
                   cwd=Path(work), check=False)
        said = misspelt(done.stdout)
        if done.returncode and not said:
            raise ToolError(f"codespell: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
        for name in files:
            if path_problems := [f"{line}: {text}" for file, line, text in said if file == name]:
                findings.append(Finding("spelling", name, tuple(path_problems)))
    return findings or [Finding("spelling", f"{len(series.patches)} patches, "
                                            f"{len(files) - len(series.patches)} documents")]


def read_words(project: Project) -> list[str]:
    """Words of the field that codespell takes for others."""
    return [word for word, in reasoned(project, WORDS, "a word")]


def only_added(patch: str) -> str:
    """The message and the added lines, the rest empty: the numbers of the lines stay."""
    head, found, diff = patch.partition("\ndiff --git ")
    lines = [line[1:] if line.startswith("+") and not line.startswith("+++ ") else ""
             for line in (found + diff).split("\n")[1:]] if found else []
    return "\n".join([head, *lines])


def misspelt(said: str) -> list[tuple[str, str, str]]:
    """codespell's lines: file, line, what is wrong."""
    return [(file.removeprefix("./"), line, text) for file, line, text in
            re.findall(r"^(\S+?):(\d+): (.* ==> .*)$", said, re.M)]


# --- b4 ----------------------------------------------------------------------------------

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check_b4(series: Series) -> list[Finding]:
    """Enrol a branch, check it and write the mails that would be sent; apply those."""
    project, linux = series.project, series.linux
    program = analyse.program(project, "b4")
    if not program:
        return [Finding("b4", "the series as mails",
                        skipped="b4 is not installed (`make venv`)")]
    cover = project.patches / COVER
    if not cover.is_file():
        return [Finding("b4", "the series as mails", (f"patches/{COVER} does not exist",))]
    mails = series.out / "mails"
    shutil.rmtree(mails, ignore_errors=True)
    wanted_tree = git_out(linux, "rev-parse", "HEAD^{tree}")
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        home = Path(work)
        who = git_identity(series)
        (home / "gitconfig").write_text(f"[user]\n\tname = {who['GIT_COMMITTER_NAME']}\n"
                                        f"\temail = {who['GIT_COMMITTER_EMAIL']}\n"
                                        # without a mail server b4 wants a key to sign with
                                        "[sendemail]\n\tsmtpserver = /bin/false\n")
        title, body = split_cover(cover.read_text(errors="replace"))
        (home / "cover").write_text(re.sub(r"^Subject: (?:\[[^\]]*\] )?", "", title) + "\n\n" + body)
        env = {"GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
               "XDG_DATA_HOME": work, "XDG_CACHE_HOME": work, "XDG_CONFIG_HOME": work,
               "GIT_EDITOR": f"cp {home / 'cover'}", "EDITOR": f"cp {home / 'cover'}",
               **checkpatch_environment(project.build / "venv")}
        git(linux, "branch", "-q", "-D", BRANCH, check=False)
        git(linux, "checkout", "-q", "-b", BRANCH)
        try:
            # whether MAINTAINERS has the new files is asked by check_checkpatch()
            b4 = [program, "--offline-mode", "--no-interactive", "-c",
                  "b4.prep-perpatch-check-cmd=./scripts/checkpatch.pl -q --terse --no-summary "
                  "--mailback --showfile --ignore FILE_PATH_CHANGES"]
            run([*b4, "prep", "--enroll", "base"], cwd=linux, env=env, input_text="")
            run([*b4, "prep", "--edit-cover"], cwd=linux, env=env, input_text="")
            checked = run([*b4, "prep", "--check"], cwd=linux, env=env, input_text="")
            run([*b4, "send", "--no-sign", "-o", mails], cwd=linux, env=env, input_text="")
        finally:
            git(linux, "checkout", "-q", "-f", "queue")
            git(linux, "branch", "-q", "-D", BRANCH, check=False)
    wrong = b4_problems(checked.stdout + checked.stderr, len(series.patches))
    wrong += mail_problems(mails, len(series.patches))
    wrong += am_problems(linux, sorted(mails.glob("*.eml"))[1:], wanted_tree)
    return [Finding("b4", f"the series as mails, {project.show(mails)}", tuple(wrong))]


def b4_problems(said: str, count: int) -> list[str]:
    """What `b4 prep --check` reported, patch by patch."""
    wrong, subject = [], ""
    lines = COLOURS.sub("", said).splitlines()
    for line in lines:
        if found := re.match(r"● \w{12}: (.*)", line):
            subject = found.group(1)
        elif found := re.match(r" +● (.*)", line):
            wrong.append(f"{subject}: {found.group(1)}")
    total = re.search(r"^Success: (\d+), Warning: \d+, Error: \d+$", "\n".join(lines), re.M)
    if not total:
        wrong.append("b4 prep --check has no summary")
    elif int(total.group(1)) != count and not wrong:
        wrong.append(f"b4 prep --check: {total.group()}")
    return wrong


def mail_problems(mails: Path, count: int) -> list[str]:
    """One mail a patch and the letter, numbered."""
    found = sorted(mails.glob("*.eml"))
    if len(found) != count + 1:
        return [f"b4 send wrote {len(found)} mails of {count} patches and a cover letter"]
    wrong = []
    for number, path in enumerate(found):
        subject = re.search(r"^Subject: (.*(?:\n[ \t].*)*)", path.read_text(errors="replace"), re.M)
        if not subject or f" {number:0{len(str(count))}}/{count}]" not in subject.group(1):
            wrong.append(f"{path.name}: its subject does not say {number} of {count}")
    return wrong


CHECKS: dict[str, Check] = {
    "export": check_export,
    "am": check_am,
    "message": check_message,
    "checkpatch": check_checkpatch,
    "cover": check_cover,
    "size": check_size,
    "groups": check_groups,
    "maintainers": check_maintainers,
    "spelling": check_spelling,
    "b4": check_b4,
}
