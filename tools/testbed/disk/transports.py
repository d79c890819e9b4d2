# SPDX-License-Identifier: GPL-2.0
"""What Linux 7.3 sets for the queue of a disk, by the transport between controller and disk.

tests/test_transports.py compares these values with emulated controllers in QEMU.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Transport:
    """The files of a disk's queue/ in sysfs that nobody has written to."""

    max_sectors_kb: int  # largest command, in KiB
    max_segments: int  # of memory, in a command
    nr_requests: int  # under a scheduler but cfq: blk_mq_default_nr_requests(), twice the host's commands

    @property
    def attributes(self) -> dict[str, str]:
        """What null_blk is given for it."""
        return {"max_sectors": str(2 * self.max_sectors_kb), "max_segments": str(self.max_segments)}

    @property
    def read_ahead_kb(self) -> int:
        """Of a rotating disk that names no optimal I/O size: two commands (blk_apply_bdi_limits())."""
        return 2 * self.max_sectors_kb


# A command is limited by the host template, then by BLK_DEF_MAX_SECTORS_CAP, 4 MiB (blk_validate_limits()).
TRANSPORTS = {
    # drivers/ata/ahci.h: AHCI_SHT() has AHCI_MAX_CMDS and AHCI_MAX_SG; ATA_MAX_SECTORS_LBA48 sectors
    "sata": Transport(max_sectors_kb=4096, max_segments=168, nr_requests=64),
    # include/linux/libata.h: ATA_BMDMA_SHT() has LIBATA_MAX_PRD and one command
    "pata": Transport(max_sectors_kb=4096, max_segments=128, nr_requests=2),
    # drivers/scsi/mpt3sas/mpt3sas_base.c: MPT3SAS_SG_DEPTH, and more than 127 commands
    "sas": Transport(max_sectors_kb=4096, max_segments=128, nr_requests=256),
    # drivers/usb/storage/scsiglue.c: one command; of SuperSpeed 2048 sectors
    "usb-bot": Transport(max_sectors_kb=1024, max_segments=2048, nr_requests=2),
    # drivers/usb/storage/uas.c: no limit of its own, so that of scsi_host_alloc(), SCSI_DEFAULT_MAX_SECTORS;
    # commands as streams of the device, at most 256 (USB 2: 30)
    "uas": Transport(max_sectors_kb=512, max_segments=2048, nr_requests=256),
}
