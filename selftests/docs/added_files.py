# SPDX-License-Identifier: GPL-2.0
"""The files that the patches add, without a kernel tree."""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from tools.dev.queue.kselftests import write_added


@cache
def new_file(name: str) -> str:
    """The text of a file that the patches add; @name: path in the kernel tree."""
    with tempfile.TemporaryDirectory() as folder:
        write_added(Path(folder), [name])
        return (Path(folder) / name).read_text()


def cfq() -> str:
    return new_file("block/cfq-iosched.c")


def attributes() -> set[str]:
    """The tunables of cfq."""
    return set(re.findall(r"^\tCFQ_ATTR\((\w+)\),$", cfq(), re.M))


def disk_attributes() -> dict[str, tuple[int, int, int]]:
    """The numbers of a rotating disk: default, minimum and maximum of each."""
    model = new_file("drivers/block/null_blk/rot_model.h")
    limits = dict(re.findall(r"^#define (ROT_MAX_\w+)\s+(\d+)\s*(?:/\*.*)?$", model, re.M))

    def value(text: str) -> int:
        number, _, shift = limits.get(text, text).partition(" << ")
        return int(number) << int(shift or 0)

    rows = re.findall(r"^\tX\((\w+),\s*(\d+),\s*([^,]+),\s*([^,]+?)\)(?:\s*\\)?$", model, re.M)
    return {name: (int(default), value(least), value(most)) for name, default, least, most in rows}
