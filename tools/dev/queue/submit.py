# SPDX-License-Identifier: GPL-2.0
"""`make submit-check`: all checks that precede sending the series.

This file checks the files of the queue, each series, and its mails; analyse.py runs the programs
that check the code. Like `verify`, it works in build/verify/linux.
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

from . import analyse, oldsched, tree, verify
from .checkpatch import checkpatch_findings
from .common import PLAIN_GIT, Project, git, git_out, locked, run, say
from .findings import Finding, measured, reasoned, since
from .groups import COVER, GROUPS, Group, am_problems, group_findings, letter, letter_text, read_groups, spans
from .scratch import applied, scratch_tree
from .series import changed_files, message_problems, series_problems
from .source import fetch
from .stamps import Stamps

WORDS = "tools/dev/queue/codespell-exceptions"
BRANCH = "submit-check"  # of build/verify/linux, for b4


@dataclass(frozen=True)
class Site:
    """The input of the checks: the queue, a tree with all patches, and the series as branches of the tree."""

    project: Project
    linux: Path  # build/verify/linux, on its branch `queue`
    patches: tuple[Path, ...]
    groups: tuple[Group, ...] = ()  # series that apply
    made: tuple[Finding, ...] = ()  # result of applying each series

    def out(self, group: Group) -> Path:
        return self.project.build / "submit" / group.name

    def log(self, group: Group, form: str) -> list[str]:
        """A line for each commit of a series, in order."""
        return git_out(self.linux, "log", "--reverse", f"--format={form}",
                       f"{group.below}..{group.branch}").splitlines()


# The checks of this file, in the order of the report.
Check = Callable[[Site], list[Finding]]


def names() -> list[str]:
    return [*CHECKS, *analyse.names()]


def submit_check(project: Project, kernel: str | None, only: Sequence[str] = ()) -> list[Finding]:
    if unknown := [name for name in only if name not in names()]:
        raise ToolError(f"--only: no check {', '.join(unknown)}; known: {', '.join(names())}")
    if problems := series_problems(project):
        return [Finding("series", "series and patches/", tuple(problems))]
    tree.make_tree(project, kernel)
    base = fetch(project, kernel)
    patches = tuple(tree.queue_patches(project))
    try:
        groups = read_groups(project, patches)
    except ToolError as error:
        return [Finding("series", GROUPS, (str(error),))]
    if not groups:
        raise ToolError(f"{GROUPS} has no series: there is nothing to send")
    with locked(project.build / ".lock-verify"):
        linux = scratch_tree(project, base)
        try:
            applied(project, linux, base, patches)
        except ToolError as error:
            return [Finding("am", f"on linux {base.version}", (str(error),))]
        made = group_findings("am", linux, groups)
        good = tuple(group for group, finding in zip(groups.values(), made, strict=True) if finding.ok)
        site = Site(project, linux, patches, good, tuple(made))
        findings = [finding for finding in made if not finding.ok and only and "am" not in only]
        for name, check in CHECKS.items():
            if only and name not in only:
                continue
            begin = time.monotonic()
            try:
                found = check(site)
            except ToolError as error:
                found = [Finding(name, "could not run", (str(error),))]
            # a check with several findings has set their times itself
            findings += [replace(found[0], seconds=since(begin))] if len(found) == 1 else found
            say(f"submit-check {name}: {since(begin):.0f} s")
        findings += analyse.analyse(project, linux, [name for name in analyse.names()
                                                     if not only or name in only])
    return findings


def each(check: Callable[[Site, Group], Finding]) -> Check:
    """Run a check for each series, also if it fails for another one."""
    def checked(site: Site, group: Group) -> Finding:
        begin = time.monotonic()
        try:
            found = check(site, group)
        except ToolError as error:
            found = Finding(check.__name__.removeprefix("check_"), group.name, (str(error),))
        return replace(found, seconds=since(begin))

    return lambda site: [checked(site, group) for group in site.groups]


# --- the files ----------------------------------------------------------------------


def check_export(site: Site) -> list[Finding]:
    """Compare patches/ with format-patch of build/linux, byte by byte."""
    return [Finding("export", "patches/ matches build/linux",
                    tuple(verify.export_problems(site.project, site.project.linux, site.patches)))]


def check_am(site: Site) -> list[Finding]:
    """Run `git am patches/*.patch`, all in one run; add the results of applying each series."""
    globbed = sorted(site.project.patches.glob("*.patch"))
    wrong = [] if globbed == list(site.patches) else [
        "patches/*.patch and the file series name different files"]
    wrong += am_problems(site.linux, globbed, "base", BRANCH) or other_tree(
        site.linux, git_out(site.project.linux, "rev-parse", "HEAD^{tree}"), "build/linux")
    return [Finding("am", f"git am patches/*.patch, {len(globbed)} patches", tuple(wrong)), *site.made]


def other_tree(linux: Path, wanted: str, whose: str) -> list[str]:
    """Check that git am has made the expected tree."""
    return [] if git_out(linux, "rev-parse", f"{BRANCH}^{{tree}}") == wanted else [
        f"the tree that git am makes differs from {whose}"]


def check_message(site: Site) -> list[Finding]:
    return [measured("message", path.name, message_problems, path) for path in site.patches]


def check_pages(site: Site) -> list[Finding]:
    """Results that the letters and documents quote are those of the patches that are sent."""
    return [*verify.page_findings(site.project), *oldsched.page_findings(site.project)]


def check_checkpatch(site: Site) -> list[Finding]:
    return checkpatch_findings(site.project, site.linux, site.patches, Stamps(site.project, again=True))


# --- the series as mails ------------------------------------------------------------------


# Documentation/process/submitting-patches.rst: for patches of more than 300 kB, mail a link to the
# patch instead.
LIMIT, LONG = 300_000, 1000


def check_size(site: Site, group: Group) -> Finding:
    """Check the sizes of patches: lists refuse large mails, and reviewers refuse large patches earlier."""
    wrong, notes = [], []
    for path in group.patches:
        size = path.stat().st_size
        lines = changed_lines(path.read_text(errors="replace"))
        if size > LIMIT:
            wrong.append(f"{path.name}: {size:,} bytes; mailing lists accept {LIMIT:,}")
        elif lines > LONG:
            notes.append(f"{path.name}: {lines:,} changed lines are many for one review")
    return Finding("size", str(group), tuple(wrong), tuple(notes))


def changed_lines(patch: str) -> int:
    return sum(line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
               for line in patch.partition("\ndiff --git ")[2].splitlines())


# --- the cover letter -----------------------------------------------------------------


def check_cover(site: Site, group: Group) -> Finding:
    path = letter(site.project, group.name)
    subject = f"{group.name}, {site.project.show(path)}"
    if not path.is_file():
        return Finding("cover", subject, ("does not exist",))
    text = letter_text(path)
    with tempfile.TemporaryDirectory(dir=site.project.build) as work:
        git(site.linux, *tree.FORMAT_PATCH, "--cover-letter", "-o", work, f"{group.below}..{group.branch}",
            env={**PLAIN_GIT, **git_identity(site, group)})
        made = (Path(work) / "0000-cover-letter.patch").read_text()
    shortlog, diffstat = overview(made)
    wrong, notes = cover_problems(text, site.log(group, "%s"), shortlog, diffstat)
    wrong += [f"mentions {name}, which does not exist after the series" for name in files_of(text)
              if git(site.linux, "cat-file", "-e", f"{group.branch}:{name}", check=False).returncode]
    below = letter(site.project, group.on)
    if group.on and below.is_file():
        stands_on = f'"{title(letter_text(below))}"'
        if stands_on not in " ".join(text.split()):
            wrong.append(f"does not mention the series that it depends on, {stands_on}")
    if not wrong:
        whole = site.out(group) / "0000-cover-letter.patch"
        write_if_changed(whole, whole_letter(text, made).encode())
        notes.append(f"complete, with shortlog and diffstat: {site.project.show(whole)}")
    return Finding("cover", subject, tuple(wrong), tuple(notes))


def git_identity(site: Site, group: Group) -> dict[str, str]:
    """The author of the first patch, as the user of git."""
    name, mail = site.log(group, "%an%n%ae")[:2]
    return {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail}


def overview(letter: str) -> tuple[str, str]:
    """The shortlog and the diffstat of a cover letter that format-patch made."""
    body = letter.partition("*** BLURB HERE ***\n")[2].strip("\n")
    shortlog, _, diffstat = body.rpartition("\n\n")
    return shortlog, diffstat


def whole_letter(text: str, made: str) -> str:
    """The letter as it is sent: git's headers, our subject and text, git's shortlog and diffstat."""
    subject, body = split_cover(text)
    head, _, rest = made.partition("\n\n")
    shortlog, diffstat = overview(made)
    head = re.sub(r"^Subject: .*$", lambda _: subject, head, flags=re.M)
    added = [part for part in (shortlog, diffstat) if part not in body]
    return "\n\n".join([head, body.strip("\n"), *added]) + "\n"


def split_cover(text: str) -> tuple[str, str]:
    head, _, body = text.partition("\n\n")
    return head, body


def title(text: str) -> str:
    """The subject of a letter, without its number."""
    return re.sub(r"^Subject: (?:\[[^\]]*\] )?", "", split_cover(text)[0])


SUMMARY = re.compile(r"^ \d+ files? changed.*$", re.M)
AUTHOR = re.compile(r"^\S.* \(\d+\):$", re.M)
NUMBERED = re.compile(r"Subject: \[(PATCH(?: RFC)?) (\d+/\d+)\] \S")  # as b4 writes it
REFERENCE = re.compile(r"\b[Pp]atch(?:es)?\s+(\d+(?:(?:\s+to\s+|-|,\s*|\s+and\s+)\d+)*)(?:\s+\(\"([^\"]+)\"\))?")
PATH = re.compile(r"(?<![\w/.-])(?:[\w-]+/)+[\w.-]+\.(?:[ch]|rst|sh)\b")
UNFINISHED = re.compile(r"\*\*\* (?:SUBJECT|BLURB) HERE \*\*\*|\bEDITME\b|\bTODO\b|\bFIXME\b")
WIDE = 75  # columns; git and mail readers indent the text


def prefix(text: str) -> str:
    """The prefix before the number in the subjects of a series: PATCH, or PATCH RFC."""
    found = NUMBERED.match(text)
    return found.group(1) if found else "PATCH"


def files_of(text: str) -> list[str]:
    """The files of the kernel that a letter mentions."""
    return sorted(set(PATH.findall(text)))


def cover_problems(text: str, subjects: Sequence[str], shortlog: str,
                   diffstat: str) -> tuple[list[str], list[str]]:
    """The problems of the letter of patches with these subjects, and notes about it."""
    wrong, notes = [], []
    head, body = split_cover(text)
    count = len(subjects)
    number = f"{0:0{len(str(count))}}/{count}"
    found = NUMBERED.match(head)
    if not head.startswith("Subject: ") or "\n" in head:
        wrong.append("does not begin with a Subject: line and an empty line")
    elif not found or found.group(2) != number:
        wrong.append(f"the subject has no [PATCH {number}] or [PATCH RFC {number}] with the number of patches")
    if not body.strip():
        wrong.append("has no text")
    if unfinished := UNFINISHED.search(text):
        wrong.append(f"is not finished: {unfinished.group()}")
    wrong += reference_problems(body, subjects)
    for name, has, made in (("shortlog", AUTHOR.search(body), shortlog),
                            ("diffstat", SUMMARY.search(body), diffstat)):
        if has and made not in body:
            wrong.append(f"the {name} is not that of the series: remove it (git and b4 add it), "
                         "or update it")
    wide = [n for n, line in enumerate(text.splitlines(), 1)
            if len(line) > WIDE and line not in diffstat and line not in shortlog]
    if wide:
        notes.append(f"more than {WIDE} columns in line{'s' if len(wide) > 1 else ''} "
                     + ", ".join(map(str, wide)))
    return wrong, notes


def reference_problems(body: str, subjects: Sequence[str]) -> list[str]:
    """References to patches that do not exist or have another subject, and patches without a reference."""
    wrong = []
    mentioned: set[int] = set()
    for numbers, name in REFERENCE.findall(body):
        parts = [[int(end) for end in re.findall(r"\d+", part)] for part in re.split(r",|\band\b", numbers)]
        mentioned.update(number for part in parts for number in range(part[0], part[-1] + 1))
        number = parts[-1][-1]
        if name and number <= len(subjects) and " ".join(name.split()) != subjects[number - 1]:
            wrong.append(f'patch {number} is not "{" ".join(name.split())}" but "{subjects[number - 1]}"')
    numbered = set(range(1, len(subjects) + 1))
    return [*(f"mentions patch {number} of {len(subjects)}" for number in sorted(mentioned - numbered)), *wrong,
            *(f'does not mention patch {number} ("{subjects[number - 1]}")' for number in sorted(numbered - mentioned))]


# --- recipients ------------------------------------------------------------------------

# The required recipients of a patch, by the path of a changed file.
WANTED = {
    "block/": ("axboe@kernel.dk", "linux-block@vger.kernel.org"),
    "block/cfq-cgroup": ("tj@kernel.org", "cgroups@vger.kernel.org"),
    "drivers/block/": ("axboe@kernel.dk", "linux-block@vger.kernel.org"),
    "drivers/scsi/": ("linux-scsi@vger.kernel.org",),
    "fs/": ("linux-fsdevel@vger.kernel.org",),
    "io_uring/": ("io-uring@vger.kernel.org",),
    "kernel/trace/": ("linux-trace-kernel@vger.kernel.org",),
    "mm/": ("linux-mm@kvack.org",),
    "Documentation/": ("linux-doc@vger.kernel.org",),
    "tools/testing/selftests/": ("linux-kselftest@vger.kernel.org",),
}
# The required recipients of each series; b4 sends a whole series to the recipients of all its patches.
EVERYBODY = {"axboe@kernel.dk", "linux-block@vger.kernel.org"}


def check_maintainers(site: Site, group: Group) -> Finding:
    table: dict[str, tuple[str, list[int]]] = {}
    want = set(EVERYBODY)
    for number, path in enumerate(group.patches, 1):
        want |= wanted(changed_files(path.read_text(errors="replace")))
        have = recipients(run(["scripts/get_maintainer.pl", "--nogit", "--nogit-fallback",
                               "--norolestats", "--roles", path], cwd=site.linux).stdout)
        for address, role in have.items():
            table.setdefault(address, (role, []))[1].append(number)
    return Finding("maintainers", str(group), tuple(
        f"get_maintainer.pl does not name {address}" for address in sorted(want - table.keys())), tuple(rows(table)))


def recipients(output: str) -> dict[str, str]:
    """get_maintainer.pl's lines: address -> role."""
    found = {}
    for line in output.splitlines():
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
    """Recipient, patches and role; recipients of most patches first."""
    order = sorted(table.items(), key=lambda item: (-len(item[1][1]), item[0]))
    lines = [[address, spans(numbers), role] for address, (role, numbers) in order]
    return text_table(["recipient", "patches", "role"], lines, "lll", rule=False).splitlines()


# --- spelling --------------------------------------------------------------------------


def check_spelling(site: Site) -> list[Finding]:
    """Run codespell on messages and added lines of the patches, on cover letters and documents."""
    project = site.project
    program = analyse.program(project, "codespell")
    if not program:
        return [Finding("spelling", "added lines and documents",
                        skipped="codespell is not installed (`make venv`)")]
    words = read_words(project)
    tracked = git_out(project.root, "ls-files", "-co", "--exclude-standard", "--", "*.md",
                      "tools/user/bwctl/bwctl.8", f"patches/{COVER}").splitlines()
    findings = []
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        files = {path.name: only_added(path.read_text(errors="replace"))
                 for path in site.patches}
        files |= {name: (project.root / name).read_text(errors="replace") for name in tracked
                  if (project.root / name).is_file()}
        for name, text in files.items():
            path = Path(work) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        # from the folder above, and without the user's configuration
        done = run([program, "--disable-colors", "--quiet-level=3", "--config", os.devnull,
                    "--ignore-words-list", ",".join(words) or "no-such-word", "."],
                   cwd=Path(work), check=False)
        output = misspelt(done.stdout)
        if done.returncode and not output:
            raise ToolError(f"codespell: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
        for name in files:
            if path_problems := [f"{line}: {text}" for file, line, text in output if file == name]:
                findings.append(Finding("spelling", name, tuple(path_problems)))
    return findings or [Finding("spelling", f"{len(site.patches)} patches, "
                                            f"{len(files) - len(site.patches)} documents")]


def read_words(project: Project) -> list[str]:
    """Technical words that codespell takes for misspelled ones."""
    return [word for word, in reasoned(project, WORDS, "a word")]


def only_added(patch: str) -> str:
    """The message and the added lines; other lines are empty, to keep the line numbers."""
    head, found, diff = patch.partition("\ndiff --git ")
    lines = [line[1:] if line.startswith("+") and not line.startswith("+++ ") else ""
             for line in (found + diff).split("\n")[1:]] if found else []
    return "\n".join([head, *lines])


def misspelt(output: str) -> list[tuple[str, str, str]]:
    """Parse the output of codespell: file, line, misspelling."""
    return [(file.removeprefix("./"), line, text) for file, line, text in
            re.findall(r"^(\S+?):(\d+): (.* ==> .*)$", output, re.M)]


# --- b4 ----------------------------------------------------------------------------------

def check_b4(site: Site, group: Group) -> Finding:
    """Enrol a branch with b4, write the mails that it would send, and apply them."""
    project, linux = site.project, site.linux
    mails = site.out(group) / "mails"
    subject = f"{group.name} as mails, {project.show(mails)}"
    program = analyse.program(project, "b4")
    if not program:
        return Finding("b4", subject, skipped="b4 is not installed (`make venv`)")
    cover = letter(project, group.name)
    if not cover.is_file():
        return Finding("b4", subject, (f"{project.show(cover)} does not exist",))
    text = letter_text(cover)
    shutil.rmtree(mails, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=project.build) as work:
        home = Path(work)
        who = git_identity(site, group)
        (home / "gitconfig").write_text(f"[user]\n\tname = {who['GIT_COMMITTER_NAME']}\n"
                                        f"\temail = {who['GIT_COMMITTER_EMAIL']}\n"
                                        # without a mail server b4 requires a key to sign with
                                        "[sendemail]\n\tsmtpserver = /bin/false\n")
        (home / "cover").write_text(f"{title(text)}\n\n{split_cover(text)[1]}")
        env = {"GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
               "XDG_DATA_HOME": work, "XDG_CACHE_HOME": work, "XDG_CONFIG_HOME": work,
               "GIT_EDITOR": f"cp {home / 'cover'}", "EDITOR": f"cp {home / 'cover'}"}
        git(linux, "branch", "-q", "-D", BRANCH, check=False)  # and b4's notes about it
        git(linux, "checkout", "-q", "-b", BRANCH, group.branch)
        try:
            # check_checkpatch() runs checkpatch, with the list of false positives
            b4 = [program, "--offline-mode", "--no-interactive", "-c", "b4.prep-perpatch-check-cmd=true"]
            run([*b4, "prep", "--enroll", group.below], cwd=linux, env=env, input_text="")
            run([*b4, "prep", "--edit-cover"], cwd=linux, env=env, input_text="")
            if words := prefix(text).split()[1:]:
                run([*b4, "prep", "--set-prefixes", *words], cwd=linux, env=env, input_text="")
            run([*b4, "prep", "--check"], cwd=linux, env=env, input_text="")
            run([*b4, "send", "--no-sign", "-o", mails], cwd=linux, env=env, input_text="")
        finally:
            git(linux, "checkout", "-q", "-f", "queue")
    wrong = mail_problems(mails, len(group.patches), prefix(text))
    wrong += am_problems(linux, sorted(mails.glob("*.eml"))[1:], group.below, BRANCH) or other_tree(
        linux, git_out(linux, "rev-parse", f"{group.branch}^{{tree}}"), "the series")
    return Finding("b4", subject, tuple(wrong))


def mail_problems(mails: Path, count: int, words: str) -> list[str]:
    """Check that there is a mail for each patch and the letter, with prefix and number in the subject."""
    found = sorted(mails.glob("*.eml"))
    if len(found) != count + 1:
        return [f"b4 send wrote {len(found)} mails for {count} patches and a cover letter"]
    wrong = []
    for number, path in enumerate(found):
        subject = re.search(r"^Subject: (.*(?:\n[ \t].*)*)", path.read_text(errors="replace"), re.M)
        if not subject or f"[{words} {number:0{len(str(count))}}/{count}]" not in subject.group(1):
            wrong.append(f"{path.name}: the subject has no {words} {number} of {count}")
    return wrong


CHECKS: dict[str, Check] = {
    "export": check_export,
    "am": check_am,
    "message": check_message,
    "pages": check_pages,
    "checkpatch": check_checkpatch,
    "cover": each(check_cover),
    "size": each(check_size),
    "maintainers": each(check_maintainers),
    "spelling": check_spelling,
    "b4": each(check_b4),
}
