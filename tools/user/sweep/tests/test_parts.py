# SPDX-License-Identifier: GPL-2.0
"""Parts of the library: where data is, whether a disk rotates, amounts of bytes."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tools.user.sweep.tests.conftest import Builds, run

BY_INODE = 1 << 63
EXT4, XFS, BTRFS, TMPFS = "ef53", "58465342", "9123683e", "1021994"
UNKNOWN, DELALLOC, ENCODED, INLINE, UNWRITTEN, SHARED = 0x2, 0x4, 0x8, 0x200, 0x800, 0x2000


def ask(builds: Builds, lines: list[str], **env: Any) -> list[str]:
    """What the harness answers to lines."""
    script = builds.folder / "asked"
    script.write_text("".join(f"{line}\n" for line in lines))
    done = run(["sh", "-c", f"{builds.harness()} < {script}"], **env)
    assert done.code == 0, done
    return done.out.decode().splitlines()


def position(builds: Builds, folder: Path, **env: Any) -> int:
    path = folder / "file"
    path.write_bytes(b"data")
    return int(ask(builds, [f"position {path} 77"], **env)[0])


# --- where data is

@pytest.mark.parametrize("flags", [0, 1, ENCODED, UNWRITTEN, SHARED])
def test_place_is_the_first_extent(builds: Builds, tmp_path: Path, flags: int) -> None:
    assert position(builds, tmp_path, FAKE_FIEMAP=f"123456789 {flags}") == 123456789


@pytest.mark.parametrize("answer", ["none", f"5 {INLINE}", f"5 {UNKNOWN | DELALLOC}", f"0 {UNKNOWN}"])
def test_no_seek_is_needed_for_holes_inline_data_and_what_is_not_written_yet(
        builds: Builds, tmp_path: Path, answer: str) -> None:
    assert position(builds, tmp_path, FAKE_FIEMAP=answer) == 0


def test_without_fiemap_the_block_of_fibmap_counts(builds: Builds, tmp_path: Path) -> None:
    block = os.statvfs(tmp_path).f_bsize
    failing = f"errno {errno.EOPNOTSUPP}"
    assert position(builds, tmp_path, FAKE_FIEMAP=failing, FAKE_FIBMAP="1000") == 1000 * block
    assert position(builds, tmp_path, FAKE_FIEMAP=failing, FAKE_FIBMAP=str(2**31 + 5)) == (2**31 + 5) * block


def test_without_both_the_inode_number_counts_after_all_places(builds: Builds, tmp_path: Path) -> None:
    found = position(builds, tmp_path, FAKE_FIEMAP=f"errno {errno.ENOTTY}", FAKE_FIBMAP=f"errno {errno.EPERM}")
    assert found == BY_INODE + 77


# --- devices

class Sysfs:
    """A /sys of files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "dev/block").mkdir(parents=True)

    def disk(self, name: str, number: str, rotates: str | None, *slaves: Path) -> Path:
        folder = self.root / "devices" / name
        (folder / "queue").mkdir(parents=True)
        if rotates is not None:
            (folder / "queue/rotational").write_text(f"{rotates}\n")
        (folder / "slaves").mkdir()
        for slave in slaves:
            (folder / "slaves" / slave.name).symlink_to(slave)
        (self.root / "dev/block" / number).symlink_to(folder)
        return folder

    def partition(self, disk: Path, name: str, number: str) -> Path:
        folder = disk / name
        folder.mkdir()
        (folder / "partition").write_text("1\n")
        (self.root / "dev/block" / number).symlink_to(folder)
        return folder


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path / "sys")


def rotates(builds: Builds, sysfs: Sysfs, minor: int) -> bool:
    return ask(builds, [f"rotates {sysfs.root} 8 {minor}"]) == ["yes"]


@pytest.mark.parametrize("flag, expected", [("1", True), ("0", False), ("", False), (None, False)])
def test_disk_says_whether_it_rotates(builds: Builds, sysfs: Sysfs, flag: str | None, expected: bool) -> None:
    sysfs.partition(sysfs.disk("sda", "8:0", flag), "sda1", "8:1")
    assert rotates(builds, sysfs, 0) is expected
    assert rotates(builds, sysfs, 1) is expected


def test_device_that_sysfs_does_not_know_does_not_rotate(builds: Builds, sysfs: Sysfs) -> None:
    assert not rotates(builds, sysfs, 9)


def test_stacked_device_rotates_if_a_disk_below_does(builds: Builds, sysfs: Sysfs) -> None:
    rotating = sysfs.partition(sysfs.disk("sda", "8:0", "1"), "sda1", "8:1")
    flash = sysfs.disk("sdb", "8:16", "0")
    raid = sysfs.disk("md0", "8:32", "0", flash, rotating)
    sysfs.disk("dm-0", "8:48", "0", raid)
    sysfs.disk("dm-1", "8:64", "1", flash)
    assert rotates(builds, sysfs, 32)
    assert rotates(builds, sysfs, 48)
    assert not rotates(builds, sysfs, 64)


def test_loop_of_devices_ends(builds: Builds, sysfs: Sysfs) -> None:
    folder = sysfs.disk("dm-0", "8:0", "1")
    (folder / "slaves/dm-0").symlink_to(folder)
    assert not rotates(builds, sysfs, 0)


@pytest.mark.parametrize("kind, gains", [(EXT4, True), (XFS, True), (BTRFS, True), (TMPFS, False)])
def test_file_system_must_be_one_whose_inodes_follow_the_disk(
        builds: Builds, sysfs: Sysfs, tmp_path: Path, kind: str, gains: bool) -> None:
    sysfs.disk("sda", "8:0", "1")
    sysfs.disk("sdb", "8:16", "0")
    asked = [f"gains {sysfs.root} {tmp_path} 8 0", f"gains {sysfs.root} {tmp_path} 8 16"]
    assert ask(builds, asked, FAKE_FS=kind) == ["yes" if gains else "no", "no"]


# --- amounts

@pytest.mark.parametrize("text, expected", [
    ("0", "0"), ("64", "64"), ("64K", "65536"), ("64k", "65536"), ("3M", "3145728"), ("2G", str(2 << 30)),
    ("15E", str(15 << 60)), ("16E", "none"), ("99999999999999999999", "none"), ("", "none"), ("K", "none"),
    ("-1", "none"), ("1KB", "none"), ("1.5M", "none"), ("1X", "none"), (" 1", "none"),
])
def test_sizes_are_read(builds: Builds, text: str, expected: str) -> None:
    assert ask(builds, [f"size {text}"]) == [expected]


@pytest.mark.parametrize("value, expected", [
    (0, "0"), (1, "1"), (1023, "1023"), (1024, "1.0K"), (1025, "1.1K"), (10239, "10K"), (10240, "10K"),
    (10241, "11K"), (1023 * 1024, "1023K"), (1023 * 1024 + 1, "1.0M"), (1 << 20, "1.0M"), (2**63, "8.0E"),
    (2**64 - 1, "16E"), (5 * 2**50, "5.0P"),
])
def test_sizes_are_written_as_du_does(builds: Builds, value: int, expected: str) -> None:
    assert ask(builds, [f"text {value}"]) == [expected]
