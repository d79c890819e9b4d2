# SPDX-License-Identifier: GPL-2.0
"""Why a test may be skipped in `make check`. Whatever else skips one is a failure: it is installed or built before."""

from __future__ import annotations

# What a test says, word for word: why that is not held against the machine.
MAY_SKIP = {
    "DISKSIM names no DiskSim: tools/testbed/disk/validation/build FOLDER builds one":
        "it is others' code, and the user's to fetch; Documentation/queue/disk-validation.md has its figures",
    "becomes another user": "only root can, and whoever has the packages need not be root",
    "needs setpriv and root": "likewise",
    "no man here": "one of three programs that read the manual is enough, and none is installed for that",
    "no groff here": "likewise",
    "no mandoc here": "likewise",
    "no block device here": "a container's /dev may have none",
    "the file system has no direct I/O": "the folder for temporary files may be a tmpfs, which has it since Linux 6.6",
    "udevadm is not installed": "a container has no udev",
    "this udevadm has no verify, which came with version 254": "Debian 12 has 252",
    "systemd-analyze is not installed": "a container has no systemd",
    "systemd-analyze cannot verify units here": "it wants more of a machine than some containers are",
    "no image can be mounted here": "only root can, and a container may have no loop devices",
    "no debugfs here": "e2fsprogs may be installed without it; it only judges",
    "no xfs_db here": "likewise, of xfsprogs",
    "nothing can be mounted here": "a container may not mount, nor make a user namespace that may",
    "the file system has no extended attributes":
        "the folder for temporary files may be a tmpfs, which has none of users before Linux 6.6",
    "the file system shares no blocks":
        "the folder for temporary files may be on ext4; tests on XFS and btrfs in a guest are always run",
    "slow: a million files; VM_FULL=1 runs it": "200,000 are always tried",
    "debootstrap needs root": "`make check-all` of a user without root rights tries no other Debian",
    "debootstrap is not installed": "likewise, where nobody installed it",
    "no mount namespaces here": "likewise, in a container that may not make them",
    # of kselftests and of their cases
    "this machine is slower than the disk": "in real time: it may find a cache empty before it switches the disk off",
    "memory use cannot be measured": "others on the machine took and gave back memory, each of three times",
    "slower than the disk: shares are not judged": "in real time: selftests/uml has shares in virtual time",
}
