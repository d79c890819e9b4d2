# SPDX-License-Identifier: GPL-2.0
"""Modelled disks in configfs: create, read, remove."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from .errors import DiskError

CONFIGFS = Path("/sys/kernel/config/nullb")
NAME_MAX = 31  # the kernel's DISK_NAME_LEN without the final zero

# Attributes that cannot be copied to another device
_OF_ONE_DEVICE = {"power", "index", "badblocks", "rot/stats", "zone_readonly", "zone_offline"}


def _folder(name: str, base: Path) -> Path:
    name = name.removeprefix("/dev/")
    if not base.is_dir():
        raise DiskError(f"{base} does not exist: load null_blk and mount configfs "
                        "(mount -t configfs none /sys/kernel/config)")
    return base / name


def _existing(name: str, base: Path) -> Path:
    folder = _folder(name, base)
    if not folder.is_dir():
        known = ", ".join(sorted(path.name for path in base.iterdir() if path.is_dir()))
        raise DiskError(f"no device '{folder.name}' in {base} (existing: {known or 'none'})")
    return folder


def _last_message() -> str:
    """The last message of null_blk in the kernel's log, or an empty string."""
    message = ""
    with contextlib.suppress(OSError):
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        try:
            with contextlib.suppress(BlockingIOError):
                while record := os.read(log, 8192):
                    text = record.decode(errors="replace").split(";", 1)[-1].split("\n")[0]
                    if text.startswith("null_blk: "):
                        message = text.removeprefix("null_blk: ").strip()
        finally:
            os.close(log)
    return message


def create(attributes: Mapping[str, str], name: str, base: Path = CONFIGFS) -> Path:
    """Create a device with these attributes; if that fails, remove it again."""
    folder = _folder(name, base)
    if "/" in name or not 0 < len(name) <= NAME_MAX:
        raise DiskError(f"'{name}' is not a valid name: use 1 to {NAME_MAX} characters without '/'")
    try:
        folder.mkdir()
    except FileExistsError:
        raise DiskError(f"device '{name}' exists already: run `disk remove {name}`, or use another --name") from None
    except OSError as error:
        raise DiskError(f"cannot create {folder}: {error.strerror} (are you root?)") from None
    try:
        for key, value in attributes.items():
            if not (folder / key).exists():
                raise DiskError(f"null_blk has no attribute '{key}': does the kernel have "
                                "CONFIG_BLK_DEV_NULL_BLK_ROTATIONAL?")
            _write(folder, key, value)
        _write(folder, "power", "1")
    except BaseException:
        folder.rmdir()
        raise
    return Path("/dev") / name


def _write(folder: Path, key: str, value: str) -> None:
    try:
        (folder / key).write_text(value)
    except OSError as error:
        why = _last_message() if key == "power" else ""
        raise DiskError(f"{key} = {value}: {why or error.strerror}") from None


def remove(name: str, base: Path = CONFIGFS) -> None:
    folder = _existing(name, base)
    _write(folder, "power", "0")
    folder.rmdir()


def attributes_of(name: str, base: Path = CONFIGFS) -> dict[str, str]:
    """The attributes of a device that can be copied to another one."""
    folder = _existing(name, base)
    found: dict[str, str] = {}
    for path in sorted([*folder.iterdir(), *folder.glob("rot/*")]):
        key = path.relative_to(folder).as_posix()
        if path.is_file() and key not in _OF_ONE_DEVICE:
            with contextlib.suppress(OSError):
                found[key] = path.read_text().strip()
    if found.get("irqmode") != "3":
        raise DiskError(f"'{folder.name}' is not a rotating disk: irqmode is not 3")
    return found


def stats_of(name: str, base: Path = CONFIGFS) -> dict[str, int]:
    """The counters of a device that is powered on."""
    try:
        text = (_existing(name, base) / "rot/stats").read_text()
    except OSError as error:
        raise DiskError(f"{name}: cannot read rot/stats: {error.strerror} (is the device powered on?)") from None
    return {key: int(value) for key, value in (line.split() for line in text.splitlines())}
