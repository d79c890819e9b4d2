# SPDX-License-Identifier: GPL-2.0
"""Writes lists of requests for replay programs: btreplay, fio, lab. All requests are reads, without pauses.

btreplay: the format of btrecord (blktrace 1.2.0), in the byte order of the machine: a header with version, genesis,
number of bunches and packets; for each bunch its number of packets and its time; for each packet sector, bytes and
direction. Numbers have 64 bits, except the direction, which has 32 bits and 32 bits of padding.
fio: an iolog, version 2. lab: a `list` for loadgen, with offset and length in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from .work import Request

BTRECORD_VERSION = 1 << 16  # 1.0.0
BUNCH = 8  # packets, as btrecord does without -M
READ = 1
FILE_HEADER = struct.Struct("=QQQQ")
BUNCH_HEADER = struct.Struct("=QQ")
PACKET = struct.Struct("=QQI4x")


def btreplay(requests: Sequence[Request], _target: str) -> bytes:
    """A file for btreplay, DEVICE.replay.CPU, with all requests due at once."""
    bunches = [requests[at:at + BUNCH] for at in range(0, len(requests), BUNCH)]
    parts = [FILE_HEADER.pack(BTRECORD_VERSION, 0, len(bunches), len(requests))]
    for bunch in bunches:
        parts.append(BUNCH_HEADER.pack(len(bunch), 0))
        parts += [PACKET.pack(one.sector, one.bytes, READ) for one in bunch]
    return b"".join(parts)


def fio(requests: Sequence[Request], target: str) -> bytes:
    """An iolog for fio's --read_iolog. @target: path of the device or file."""
    lines = ["fio version 2 iolog", f"{target} add", f"{target} open"]
    lines += [f"{target} read {one.sector * 512} {one.bytes}" for one in requests]
    return ("\n".join([*lines, f"{target} close"]) + "\n").encode()


def lab(requests: Sequence[Request], _target: str) -> bytes:
    """A list for lab's load generator."""
    return "".join(f"{line}\n" for line in lab_lines(requests)).encode()


def lab_lines(requests: Sequence[Request]) -> list[str]:
    return [f"{one.sector * 512} {one.bytes}" for one in requests]


FORMATS: dict[str, Callable[[Sequence[Request], str], bytes]] = {"btreplay": btreplay, "fio": fio, "lab": lab}
