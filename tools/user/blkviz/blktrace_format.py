# SPDX-License-Identifier: GPL-2.0
"""The format of blktrace's records: include/uapi/linux/blktrace_api.h.

A record starts with a magic number whose low byte is the version. Version 1 (7)
is 48 bytes with a 32-bit action, version 2 (8) is 64 bytes with a 64-bit action.
Both are in the byte order of the traced machine and are followed by `pdu_len` bytes
of payload; if the cgroup bit is set, the first 8 of these are a cgroup ID.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

import numpy as np

MAGIC = 0x65617400
CGROUP_BIT = 1 << 8
CGROUP_BYTES = 8
SECTOR_BYTES = 512

# --- actions, the low half of the action word ------------------------------------

QUEUE, BACKMERGE, FRONTMERGE, GETRQ, SLEEPRQ, REQUEUE, ISSUE, COMPLETE = range(1, 9)
PLUG, UNPLUG_IO, UNPLUG_TIMER, INSERT, SPLIT, BOUNCE, REMAP, ABORT = range(9, 17)
DRV_DATA, ZONE_PLUG, ZONE_UNPLUG = range(17, 20)

# Notifications are numbered separately; here their numbers start at NOTE.
NOTE = 32
NOTE_PROCESS, NOTE_TIMESTAMP, NOTE_MESSAGE = NOTE, NOTE + 1, NOTE + 2

LETTERS = {QUEUE: "Q", BACKMERGE: "M", FRONTMERGE: "F", GETRQ: "G", SLEEPRQ: "S", REQUEUE: "R",
           ISSUE: "D", COMPLETE: "C", PLUG: "P", UNPLUG_IO: "U", UNPLUG_TIMER: "UT", INSERT: "I",
           SPLIT: "X", BOUNCE: "B", REMAP: "A", ABORT: "a", DRV_DATA: "d", ZONE_PLUG: "ZP",
           ZONE_UNPLUG: "ZU", NOTE_PROCESS: "N", NOTE_TIMESTAMP: "T", NOTE_MESSAGE: "m"}
WORDS = {QUEUE: "queued", BACKMERGE: "merged at the back", FRONTMERGE: "merged at the front",
         GETRQ: "request allocated", SLEEPRQ: "waits for a request", REQUEUE: "requeued",
         ISSUE: "dispatched", COMPLETE: "completed", PLUG: "plugged", UNPLUG_IO: "unplugged",
         UNPLUG_TIMER: "unplugged by timer", INSERT: "inserted", SPLIT: "split",
         BOUNCE: "bounced", REMAP: "remapped", ABORT: "aborted", DRV_DATA: "driver data",
         ZONE_PLUG: "zone plugged", ZONE_UNPLUG: "zone unplugged", NOTE_PROCESS: "process",
         NOTE_TIMESTAMP: "time stamp", NOTE_MESSAGE: "message"}

# --- categories, the upper half ---------------------------------------------------

CATEGORY_SHIFT = 16
READ, WRITE, FLUSH, SYNC = 1 << 0, 1 << 1, 1 << 2, 1 << 3
NOTIFY, AHEAD, META, DISCARD, FUA = 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 15
ZONE_BITS = 0x3f << 16
WRITE_ZEROES = 1 << 22


def kind_of_io(category: int) -> str:
    """The letters blkparse prints for a category: R, W, D, F, A, S, M, Z."""
    if category & DISCARD:
        word = "D"
    elif category & ZONE_BITS:
        word = "Z"
    elif category & WRITE_ZEROES:
        word = "WZ"
    elif category & WRITE:
        word = "W"
    elif category & READ:
        word = "R"
    else:
        word = "N"
    if category & FLUSH:
        word = "F" + word
    for bit, letter in ((FUA, "F"), (AHEAD, "A"), (SYNC, "S"), (META, "M")):
        if category & bit:
            word += letter
    return word


# --- layouts ------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """One version in one byte order."""

    version: int
    order: str
    dtype: np.dtype[np.void]
    size: int
    payload_length: struct.Struct
    payload_length_at: int


def _layout(version: int, order: str) -> Layout:
    first = [("magic", "u4"), ("sequence", "u4"), ("time", "u8"), ("sector", "u8"), ("bytes", "u4")]
    last = [("device", "u4"), ("cpu", "u4"), ("error", "u2"), ("pdu_len", "u2")]
    middle = {1: [("action", "u4"), ("pid", "u4")], 2: [("pid", "u4"), ("action", "u8")]}[version]
    padding = {1: [], 2: [("pad", "V12")]}[version]
    fields = [(name, kind if kind == "V12" else order + kind)
              for name, kind in first + middle + last + padding]
    dtype = np.dtype(fields)
    at = dtype.fields["pdu_len"][1]  # type: ignore[index]
    return Layout(version, order, dtype, dtype.itemsize, struct.Struct(order + "H"), at)


def magic_bytes(version: int, order: str) -> bytes:
    return struct.pack(order + "I", MAGIC | version + 6)


LAYOUTS = {magic_bytes(version, order): _layout(version, order)
           for version in (1, 2) for order in "<>"}
ANY_MAGIC = re.compile(b"|".join(re.escape(magic) for magic in LAYOUTS))


def device_name(device: int) -> str:
    """MAJOR:MINOR of the kernel's 32-bit device number."""
    return f"{device >> 20}:{device & 0xfffff}"


def device_number(text: str) -> int:
    """The number of MAJOR:MINOR (or MAJOR,MINOR); ValueError for anything else."""
    major, minor = map(int, text.replace(",", ":").split(":"))
    if not (0 <= major < 1 << 12 and 0 <= minor < 1 << 20):
        raise ValueError(text)
    return major << 20 | minor
