# SPDX-License-Identifier: GPL-2.0
"""Positions of inodes, directories and file data on the device, in bytes, for ext2 to ext4 and XFS.

Formats and calls: fs/ext4/ext4.h, fs/xfs/libxfs/xfs_fs.h, Documentation/filesystems/fiemap.rst of the kernel.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path
from typing import BinaryIO, Protocol

from tools.base.cli import EXIT_USAGE, ToolError

_FIEMAP = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQ16xL12x")
_IOC_FIEMAP = 0xC020660B
_SYNC = 1
_NO_PLACE = 0x2 | 0x4 | 0x8  # unknown, delayed, encoded
_INLINE = 0x200

_BMAP = struct.Struct("=qqqllLLLL")  # in units of 512 bytes
_IOC_BMAPX = 0xC0205838
_HOLE = -1
_GEOMETRY = struct.Struct("=L4xL12xL84x")  # bytes of a block, blocks of a group, bytes of an inode
_IOC_GEOMETRY_V1 = 0x80705864

_EXT_MAGIC = 0xEF53
_SUPER_AT, _SUPER_BYTES = 1024, 1024
_UNKNOWN = (errno.EOPNOTSUPP, errno.ENOTTY)
_META_BG, _64BIT = 0x10, 0x80
_SPARSE_SUPER = 0x1


class Places(Protocol):
    """The positions of one file system."""

    def inode(self, number: int) -> int:
        """The position of the block with this inode."""

    def directory(self, handle: int, number: int) -> int | None:
        """The position of an open directory's first block, or of its inode if the directory is in it; None: unknown."""


def first_extent(handle: int) -> tuple[int | None, bool]:
    """The position of an open file's first data block, and whether the data is inside of the inode.

    None: no position (empty, only holes, or unknown). Raises OSError (EOPNOTSUPP) for a file system without FIEMAP.
    """
    call = bytearray(_FIEMAP.pack(0, 2**64 - 1, _SYNC, 0, 1, 0) + bytes(_EXTENT.size))
    fcntl.ioctl(handle, _IOC_FIEMAP, call)
    mapped = _FIEMAP.unpack_from(call)[3]
    if not mapped:
        return None, False
    _, physical, _, flags = _EXTENT.unpack_from(call, _FIEMAP.size)
    if flags & _INLINE:
        return None, True
    return (None if flags & _NO_PLACE else physical), False


class Ext:
    """ext2, ext3 and ext4: the group descriptors have the positions of the inode tables."""

    def __init__(self, image: BinaryIO) -> None:
        image.seek(_SUPER_AT)
        block = image.read(_SUPER_BYTES)
        if len(block) < _SUPER_BYTES or struct.unpack_from("<H", block, 56)[0] != _EXT_MAGIC:
            raise ToolError(f"{image.name} is not a device with ext2, ext3 or ext4", EXIT_USAGE)
        halves = struct.unpack_from("<QQ", block, 104)
        self.fsid = halves[0] ^ halves[1]  # from the UUID, as in statvfs
        self.source = image.name
        inodes: int = struct.unpack_from("<L", block, 0)[0]
        self.first: int = struct.unpack_from("<L", block, 20)[0]
        self.block_bytes: int = 1024 << struct.unpack_from("<L", block, 24)[0]
        self.blocks_per_group: int = struct.unpack_from("<L", block, 32)[0]
        self.inodes_per_group: int = struct.unpack_from("<L", block, 40)[0]
        revision = struct.unpack_from("<L", block, 76)[0]
        self.inode_bytes: int = struct.unpack_from("<H", block, 88)[0] if revision else 128
        _, incompat, self.ro_compat = struct.unpack_from("<LLL", block, 92)
        wide = incompat & _64BIT
        self.descriptor_bytes: int = struct.unpack_from("<H", block, 254)[0] if wide else 32
        # from this block of descriptors on, they are in the groups that they describe
        self.first_meta: int | None = struct.unpack_from("<L", block, 260)[0] if incompat & _META_BG else None
        groups = -(-inodes // self.inodes_per_group)
        self.tables = [self._table(image, group, bool(wide)) for group in range(groups)]

    def _table(self, image: BinaryIO, group: int, wide: bool) -> int:
        """The first block of a group's inode table."""
        each = self.block_bytes // self.descriptor_bytes
        image.seek(self._descriptors(group // each) * self.block_bytes + group % each * self.descriptor_bytes)
        found = image.read(self.descriptor_bytes)
        low = struct.unpack_from("<L", found, 8)[0]
        return int(low | (struct.unpack_from("<L", found, 40)[0] << 32 if wide else 0))

    def _descriptors(self, number: int) -> int:
        """The position of a block of descriptors."""
        if self.first_meta is None or number < self.first_meta:
            return self.first + 1 + number
        group = number * (self.block_bytes // self.descriptor_bytes)
        return self.first + group * self.blocks_per_group + self._has_super(group)

    def _has_super(self, group: int) -> bool:
        if group <= 1 or not self.ro_compat & _SPARSE_SUPER:
            return True
        return any(_is_power(group, base) for base in (3, 5, 7))

    def inode(self, number: int) -> int:
        group, index = divmod(number - 1, self.inodes_per_group)
        if group >= len(self.tables):
            raise ToolError(f"inode {number} is beyond the last one of {self.source}: was the file system enlarged? "
                            "run it again")
        inside = index * self.inode_bytes // self.block_bytes
        return (self.tables[group] + inside) * self.block_bytes

    def directory(self, handle: int, number: int) -> int | None:
        try:
            place, inline = first_extent(handle)
        except OSError as error:  # ext2's own driver
            if error.errno not in _UNKNOWN:
                raise
            return None
        return self.inode(number) if inline else place


def _is_power(value: int, base: int) -> bool:
    while value % base == 0:
        value //= base
    return value == 1


class Xfs:
    """XFS: the position of an inode follows from its number; directories have XFS's own call instead of FIEMAP."""

    def __init__(self, handle: int) -> None:
        call = bytearray(_GEOMETRY.size)
        fcntl.ioctl(handle, _IOC_GEOMETRY_V1, call)
        inode_bytes: int
        self.block_bytes: int
        self.group_blocks: int
        self.block_bytes, self.group_blocks, inode_bytes = _GEOMETRY.unpack(call)
        self.inode_bits = (self.block_bytes // inode_bytes).bit_length() - 1
        self.block_bits = (self.group_blocks - 1).bit_length()

    def inode(self, number: int) -> int:
        block = number >> self.inode_bits
        group, inside = block >> self.block_bits, block & ((1 << self.block_bits) - 1)
        return (group * self.group_blocks + inside) * self.block_bytes

    def directory(self, handle: int, number: int) -> int | None:
        call = bytearray(_BMAP.pack(0, 0, -1, 2, 0, 0, 0, 0, 0) + bytes(_BMAP.size))
        fcntl.ioctl(handle, _IOC_BMAPX, call)
        if not _BMAP.unpack_from(call)[4]:
            return self.inode(number)  # short form
        block = _BMAP.unpack_from(call, _BMAP.size)[1]
        return None if block == _HOLE else block * 512


def _mounted(device: int) -> tuple[str, str]:
    """The type of the file system on a device, and the mounted source."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split(" ")
        if words[2] == f"{os.major(device)}:{os.minor(device)}":
            after = words[words.index("-") + 1:]
            return after[0], after[1]
    return "its file system", ""


def _device(device: int, source: str) -> Path:
    """The block device with this number."""
    try:
        lines = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/uevent").read_text().splitlines()
    except OSError:
        return Path(source)
    return Path("/dev", dict(line.split("=", 1) for line in lines)["DEVNAME"])


def of_folder(folder: Path, handle: int, device: Path | None = None) -> Places:
    """The positions of the file system of an open directory.

    @device: the device or image with ext4's group descriptors, instead of the mounted one.
    Raises ToolError for an unsupported file system, and if the device cannot be read.
    """
    number = os.fstat(handle).st_dev
    kind, source = _mounted(number)
    if kind == "xfs":
        return Xfs(handle)
    if kind not in ("ext2", "ext3", "ext4"):
        raise ToolError(f"{folder}: {kind} does not say where on a disk its files are (no FIEMAP, or with places "
                        "of its own); ext4 and xfs do", EXIT_USAGE)
    path = device or _device(number, source)
    try:
        with path.open("rb") as image:
            found = Ext(image)
    except OSError as error:
        raise ToolError(f"{path}, which has the inode tables of {folder}: {error.strerror}: "
                        "as root, or with --device FILE", EXIT_USAGE) from None
    if found.fsid != os.statvfs(handle).f_fsid:
        raise ToolError(f"{path} is not the device of {folder}: the UUID differs", EXIT_USAGE)
    return found
