# SPDX-License-Identifier: GPL-2.0
"""Files that are whole or not there."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_whole(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Write by a temporary file and a rename: nobody meets half of it."""
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
    """Leave an equal file alone: what is made from it is up to date."""
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o777 == mode:
        return False
    write_whole(path, data, mode)
    return True


def write_json(path: Path, value: Any) -> None:
    """The same text for the same value."""
    write_whole(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
