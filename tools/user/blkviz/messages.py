# SPDX-License-Identifier: GPL-2.0
"""Parses the text messages of a trace.

VFS: `enter vfs_read ino 1234 off 0 len 1048576`, `leave vfs_read ino 1234 ret 1048576`.
`vfs messages read,write`: the operations traced from here on; `vfs messages 0`: none.
`at vfs_fault ...` is ignored: it has no end. Messages built from tracefs events
(tracefs_calls.py) have the same form, and `enter uring_read req 3 ino 1234`,
`leave uring_read req 3 ino 1234 ret 4096`.
CFQ: `cfq 4711S BE4 dispatch 81920+1024 queued 0 in drive 1`, and so on. A dispatch in
class BW is followed by `cfq 4711S BW2 tokens N rate N deadline_us N`: bytes, bytes per
second (optional), and us from now, negative if missed. Unknown words are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

CLASSES = ("", "RT", "BW", "BE", "idle")
# Prefix of the message that lists the operations traced.
SWITCH = "vfs messages "
EXPIRED = ("", "time", "budget", "empty", "idle", "preempt", "tokens", "due", "debt")

_CFQ = re.compile(r"cfq (\d+) ?([SA]) (RT|BW|BE|idle) ?(\d*) ?(.*)", re.DOTALL)
_DISPATCH = re.compile(r"dispatch (\d+)\+(\d+)")
_NUMBER = re.compile(r"-?\d{1,18}")
_PAIR = re.compile(r"(?:^|(?<=\s))([a-z_]+) (-?\d{1,18})\b")


@dataclass
class Vfs:
    """One end of a VFS operation."""

    entering: bool
    operation: str
    values: dict[str, int] = field(default_factory=dict)


@dataclass
class Cfq:
    """A message about a queue of CFQ: its process and class, the event, and the values in it."""

    pid: int
    sync: bool
    cls: int
    level: int
    verb: str
    values: dict[str, int] = field(default_factory=dict)
    sector: int = -1
    sectors: int = 0
    why: str = ""


def vfs(text: str) -> Vfs | None:
    """A VFS message, or None."""
    words = text.split()
    if len(words) < 2 or words[0] not in ("enter", "leave"):
        return None
    values = {key: int(value) for key, value in zip(words[2::2], words[3::2], strict=False)
              if _NUMBER.fullmatch(value)}
    return Vfs(words[0] == "enter", words[1], values)


def cfq(text: str) -> Cfq | None:
    """A message of CFQ, or None."""
    match = _CFQ.match(text)
    if not match:
        return None
    pid, mode, cls, level, rest = match.groups()
    said = Cfq(int(pid[:10]), mode == "S", CLASSES.index(cls), int(level[:6] or 0), _verb(rest))
    said.values = {key: int(value) for key, value in _PAIR.findall(rest)}
    if said.verb == "dispatch" and (where := _DISPATCH.match(rest)):
        said.sector, said.sectors = int(where[1][:18]), int(where[2][:12])
    if said.verb == "slice end":
        said.why = rest.split()[2] if len(rest.split()) > 2 else ""
    return said


def _verb(rest: str) -> str:
    words = rest.split()
    if words[:1] == ["slice"] and len(words) > 1:
        return f"slice {words[1]}"
    return words[0] if words else ""
