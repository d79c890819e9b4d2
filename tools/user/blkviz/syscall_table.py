# SPDX-License-Identifier: GPL-2.0
"""The system calls that are recorded from tracefs, and their numbers.

raw_syscalls:sys_enter and sys_exit have numbers, which depend on the architecture. The tables are
those for 64-bit programs (arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl of the
kernel).
"""

from __future__ import annotations

from dataclasses import dataclass

FILE, CONTEXT, OPENS, CLOSES, COPIES, PATH = range(6)


@dataclass(frozen=True)
class Call:
    """A system call, and the indices of its arguments (-1: no such argument).

    @operation: its name in messages of VFS operations and in the picture
    @subject: what argument `which` is: a FILE descriptor, a CONTEXT of asynchronous I/O, or the
        first descriptor that the call CLOSES; or the call OPENS a descriptor and returns it, or
        COPIES descriptor 0 to 1; PATH: none of these
    """

    operation: str
    subject: int = FILE
    which: int = 0
    offset: int = -1
    length: int = -1


CALLS = {
    "read": Call("vfs_read", length=2),
    "pread64": Call("vfs_read", offset=3, length=2),
    "readv": Call("vfs_read"),
    "preadv": Call("vfs_read", offset=3),
    "preadv2": Call("vfs_read", offset=3),
    "sendfile": Call("vfs_read", which=1, length=3),
    "write": Call("vfs_write", length=2),
    "pwrite64": Call("vfs_write", offset=3, length=2),
    "writev": Call("vfs_write"),
    "pwritev": Call("vfs_write", offset=3),
    "pwritev2": Call("vfs_write", offset=3),
    "fsync": Call("vfs_fsync"),
    "fdatasync": Call("vfs_fsync"),
    "sync_file_range": Call("vfs_fsync", offset=1, length=2),
    "ftruncate": Call("vfs_truncate", length=1),
    "truncate": Call("vfs_truncate", PATH),
    "getdents64": Call("vfs_readdir"),
    "open": Call("vfs_open", OPENS),
    "creat": Call("vfs_open", OPENS),
    "openat": Call("vfs_open", OPENS),
    "openat2": Call("vfs_open", OPENS),
    "stat": Call("vfs_stat", PATH),
    "lstat": Call("vfs_stat", PATH),
    "newfstatat": Call("vfs_stat", PATH),
    "statx": Call("vfs_stat", PATH),
    "unlink": Call("vfs_unlink", PATH),
    "unlinkat": Call("vfs_unlink", PATH),
    "rename": Call("vfs_rename", PATH),
    "renameat": Call("vfs_rename", PATH),
    "renameat2": Call("vfs_rename", PATH),
    "io_submit": Call("io_submit", CONTEXT),
    "io_getevents": Call("io_getevents", CONTEXT),
    "io_uring_enter": Call("io_uring_enter"),
    "close": Call("", CLOSES),
    "dup2": Call("", COPIES),
    "dup3": Call("", COPIES),
    "close_range": Call("", CLOSES),
}

X86_64 = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "lstat": 6, "pread64": 17, "pwrite64": 18, "readv": 19,
    "writev": 20, "dup2": 33, "sendfile": 40, "fsync": 74, "fdatasync": 75, "truncate": 76, "ftruncate": 77,
    "rename": 82, "creat": 85, "unlink": 87, "io_getevents": 208, "io_submit": 209, "getdents64": 217, "openat": 257,
    "newfstatat": 262, "unlinkat": 263, "renameat": 264, "sync_file_range": 277, "dup3": 292,
    "preadv": 295, "pwritev": 296, "renameat2": 316, "preadv2": 327, "pwritev2": 328, "statx": 332,
    "io_uring_enter": 426, "close_range": 436, "openat2": 437,
}
# architectures without a table of their own
GENERIC = {
    "io_submit": 2, "io_getevents": 4, "dup3": 24, "unlinkat": 35, "renameat": 38, "truncate": 45, "ftruncate": 46,
    "openat": 56, "close": 57, "getdents64": 61, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
    "pwrite64": 68, "preadv": 69, "pwritev": 70, "sendfile": 71, "newfstatat": 79, "fsync": 82,
    "fdatasync": 83, "sync_file_range": 84, "renameat2": 276, "preadv2": 286, "pwritev2": 287, "statx": 291,
    "io_uring_enter": 426, "close_range": 436, "openat2": 437,
}
MACHINES = {"x86_64": X86_64, "aarch64": GENERIC, "riscv64": GENERIC, "loongarch64": GENERIC}
