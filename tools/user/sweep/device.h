/* SPDX-License-Identifier: GPL-2.0 */
/* Does it help to sort, on the device of a file? */
#ifndef PLATTER_DEVICE_H
#define PLATTER_DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

/* Where sysfs is; the tests move it. */
extern const char *device_sysfs;

/**
 * device_gains() - does sorting by inode number and block gain here?
 * @fd: a file or directory
 * @dev: its st_dev
 *
 * Return: true if the file system is one whose inode numbers follow the disk,
 * and the disk, or one of those below it, rotates.  What cannot be found out is
 * false.
 */
bool device_gains(int fd, dev_t dev);

/* Does the block device, or one below it (partitions, dm, md), rotate? */
bool device_rotates(dev_t dev);

#endif
