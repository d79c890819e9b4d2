# SPDX-License-Identifier: GPL-2.0
"""Checks of the queue's files: the file series, and the message and size of each patch."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path

from tools.base.cli import ToolError
from tools.base.code_id import OLDSCHED

from .common import Project, git_out
from .groups import COVER
from .tree import read_series

TRAILER = re.compile(r"^[A-Z][A-Za-z-]+(?:-by|-to)?: \S|^(?:Link|Fixes|Cc): ")
LEAST_WORDS = 8  # of a body: fewer cannot give a reason
MOST_LINES = 900  # lines of code, added and removed, that can be reviewed in one patch
NOT_CODE = re.compile(r"^Documentation/|^tools/testing/|[-_]test\.c$|\.kunitconfig$|^MAINTAINERS$")


def series_problems(project: Project) -> list[str]:
    try:
        listed = read_series(project)
    except ToolError as error:
        return [str(error)]
    have = {path.name for path in project.patches.glob("*.patch")}
    wrong = [f"series names {name}, which is not in patches/" for name in listed
             if name not in have]
    wrong += [f"patches/{name} is not in series" for name in sorted(have - set(listed))]
    wrong += [f"series names {name} twice" for name in sorted({n for n in listed
                                                               if listed.count(n) > 1})]
    if not wrong and listed != sorted(listed):
        wrong.append("series is not sorted by name, the order of `git am patches/*.patch`")
    wrong += [f"patches/{path.name}: neither a patch, nor the folder of cover letters, nor {OLDSCHED}"
              for path in sorted(project.patches.iterdir() if project.patches.is_dir() else [])
              if path.suffix != ".patch" and path.name not in (COVER, Path(OLDSCHED).name)]
    return wrong


def message_problems(path: Path) -> list[str]:
    """Check the subject, the length of the body, and the author's sign-off."""
    text = path.read_bytes()
    message = email.message_from_bytes(text, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    wrong = []
    subject = re.sub(r"^\[PATCH[^\]]*\] *", "", " ".join(str(message["Subject"] or "").split()))
    if not re.match(r"[\w./,-]+(?: [\w./,-]+)*: \S", subject):
        wrong.append(f"subject '{subject}' does not begin with 'subsystem: '")
    content = message.get_payload(decode=True)
    body = content.decode(errors="replace") if isinstance(content, bytes) else ""
    log = re.split(r"^---$", body, maxsplit=1, flags=re.M)[0]
    prose = [line for line in log.splitlines() if not TRAILER.match(line)]
    if len(" ".join(prose).split()) < LEAST_WORDS:
        wrong.append(f"the body gives no reason: it has fewer than {LEAST_WORDS} words")
    signers = [parseaddr(found) for found in re.findall(r"^Signed-off-by: (.*)$", log, re.M)]
    author = parseaddr(str(message["From"] or ""))
    if re.match(r"From: ", body):
        author = parseaddr(body.splitlines()[0].removeprefix("From: "))
    if not signers:
        wrong.append("no Signed-off-by")
    elif author not in signers:
        wrong.append(f"From: {author[0]} <{author[1]}> is not among its Signed-off-by")
    return wrong


def line_problems(path: Path) -> list[str]:
    """Check the number of added and removed lines, not counting tests and documents."""
    rows = (line.split("\t") for line in git_out(path.parents[1], "apply", "--numstat", path).splitlines())
    count = sum(int(more) + int(less) for more, less, name in rows if not NOT_CODE.search(name))
    return [f"{count} lines of code; at most {MOST_LINES}: split the patch"] if count > MOST_LINES else []


def changed_files(patch: str) -> list[str]:
    """The files that a patch changes, adds or removes."""
    return sorted(set(re.findall(r"^diff --git a/\S+ b/(\S+)$", patch, re.M)))
