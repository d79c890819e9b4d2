# SPDX-License-Identifier: GPL-2.0
"""What the machine gives to the guests that run on it, the same for each launcher: README.md has the list."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.base.paths import BUILD, ROOT

from .programs import HERE, PATH

# The file modes of what a guest leaves, whatever the umask of its user is.
UMASK = 0o022
# Debian's defaults for mkfs.ext4 as of version 12: each version of Debian has other features.
MKE2FS_CONF = HERE / "guest/mke2fs.conf"
INIT = HERE / "guest/init"


def of_guest() -> dict[str, str]:
    """The environment of a guest's command."""
    return {"PATH": f"{BUILD / 'venv/bin'}:{PATH}", "HOME": "/tmp", "LC_ALL": "C", "TZ": "UTC",
            "MKE2FS_CONFIG": str(MKE2FS_CONF)}


def of_launcher(**more: str) -> dict[str, str]:
    """The environment of the process that is the machine: QEMU, or User-Mode Linux.

    User-Mode Linux looks for the end of its stack among these, and replaces PATH before that: with
    nothing else its programs' first page would lie in its own stack (get_top_address). Guests do not
    see TMPDIR: in that folder User-Mode Linux keeps their memory, and without it in /dev/shm, which
    may be small.
    """
    kept = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
    return {"PATH": PATH, "HOME": "/", **kept, **more}


def folders(more: Iterable[Path] = ()) -> str:
    """The host's folders that a guest sees, read-only, a line each: the checkout, and Python's own."""
    seen = dict.fromkeys(str(path.resolve()) for path in (Path(sys.base_prefix), ROOT, Path.cwd(), *more))
    # /usr is there, and may be written to
    return "".join(f"{path}\n" for path in seen if path not in ("/", "/usr"))
