# SPDX-License-Identifier: GPL-2.0
"""Writes files atomically."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def sha256(*paths: Path) -> str:
    """The digest of files, one behind the other; read again only when one has changed."""
    return _sha256(tuple((path, path.stat().st_mtime_ns) for path in paths))


@functools.lru_cache
def _sha256(paths: tuple[tuple[Path, int], ...]) -> str:
    total = hashlib.sha256()
    for path, _ in paths:
        total.update(path.read_bytes())
    return total.hexdigest()


def write_whole(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Write with a temporary file and a rename, so that no reader sees a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data.encode() if isinstance(data, str) else data)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_if_changed(path: Path, data: bytes, mode: int = 0o644) -> bool:
    """Write a file only if it differs, so that files made from it stay up to date; returns whether it did."""
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o777 == mode:
        return False
    write_whole(path, data, mode)
    return True


def write_json(path: Path, value: Any) -> None:
    """Write JSON: the same text for the same value."""
    write_whole(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
