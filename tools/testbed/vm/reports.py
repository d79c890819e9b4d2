# SPDX-License-Identifier: GPL-2.0
"""Find what a kernel complains of in its log."""

from __future__ import annotations

import re
from collections.abc import Iterable

# One expression for each detector, at the start of the message.
COMPLAINTS = re.compile(
    r"BUG: |WARNING: |Oops\b|Kernel panic|kernel BUG at |general protection fault|"
    r"Unable to handle |"
    r"INFO: task .* blocked for more than|INFO: possible |INFO: suspicious |"
    r"INFO: trying to register non-static key|"
    r"INFO: rcu_\w+ (?:self-)?detected|rcu: INFO: |rcu: .*kthread starved|"
    r"watchdog: BUG|NMI watchdog|"
    r"ODEBUG: |UBSAN: |kmemleak: \d+ new|refcount_t: |"
    r"(?:list_add|list_del) corruption|DEBUG_LOCKS_WARN_ON|"
    r"=+ ?WARNING|percpu ref .* <= 0"
)
STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[[^\]]*\])? ?")


def message(line: str) -> str | None:
    """The line without its time stamp, if it is the kernel's."""
    found = STAMP.match(line)
    return line[found.end():] if found else None


def scan(console: str, allow: Iterable[str] = ()) -> list[str]:
    """The lines of a console log that report a fault of the kernel.

    `allow` holds regular expressions of reports that a test provokes.
    """
    allowed = [re.compile(pattern) for pattern in allow]
    found = []
    for line in console.splitlines():
        text = message(line.strip("\r"))
        if text and COMPLAINTS.match(text) and not any(a.search(text) for a in allowed):
            found.append(line.strip())
    return found
