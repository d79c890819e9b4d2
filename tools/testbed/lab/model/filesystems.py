# SPDX-License-Identifier: GPL-2.0
"""File systems that a scenario runs on: how they are made, and the files that its groups name.

The disk is in memory then; what is written to files is zeros, which take no memory there.
"""

from __future__ import annotations

from tools.base.cli import EXIT_USAGE, ToolError
from tools.testbed.vm.programs import of_system

# Of the guest alone: all else but its results is the host's.
MOUNTED = "/dev/disk"
# The same each time, so that two runs are the same.
UUID = "6d5f1c1e-0d3a-4c0e-9a51-0a0b0c0d0e0f"
# btrfs writes by itself, as on machines with instructions for CRC32C. User-Mode Linux has none, and so it would leave
# what it writes to one worker for the checksums (btrfs_init_csum_hash(), should_async_write()).
# What mkfs.ext4 would find in /etc/mke2fs.conf, whose defaults are others in each version of Debian, is named: those of
# Debian 12. With a file of our own, or with the variable for it, some runs would be others.
EXT4_FEATURES = ("none,sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr,has_journal,extent,huge_file,"
                 "flex_bg,metadata_csum,64bit,dir_nlink,extra_isize")
MKFS = {
    "ext4": f"-q -F -U {UUID} -O {EXT4_FEATURES} -b 4096 -I 256 -i 16384 "
            f"-E hash_seed={UUID},lazy_itable_init=0,nodiscard",
    "xfs": f"-q -f -K -m uuid={UUID}",
    "btrfs": f"-q -f -K --csum xxhash -U {UUID}",
}
NEW = "new"
OWN = "own:"
# A new file has no end; it is never as long as that.
ENDLESS = 1 << 60


def is_file(file: str) -> bool:
    return file == NEW or file.startswith(OWN)


def _program(name: str) -> str:
    found = of_system(name)
    if not found:
        raise ToolError(f"no {name} here; `make setup` names its package", EXIT_USAGE)
    return found


def job_lines(name: str, device: str, prepared: dict[str, int], swap: int) -> list[str]:
    """Make and mount it, and the files in @prepared, by their sizes in bytes; nothing of them stays in memory.

    @swap: bytes of a file to swap to, or 0
    """
    lines = [f"run {_program(f'mkfs.{name}')} {MKFS[name]} {device}", f"mkdir {MOUNTED}",
             f"mount {name} {device} {MOUNTED}"]
    lines += [f"prepare {path} {size}" for path, size in prepared.items()]
    lines += [f"swap {MOUNTED}/swap {swap}"] if swap else []
    return [*lines, "sync", "write /proc/sys/vm/drop_caches 3"]
