/* SPDX-License-Identifier: GPL-2.0 */
/* Whether sorting helps on the device of a file. */
#ifndef PLATTER_DEVICE_H
#define PLATTER_DEVICE_H

#include <stdbool.h>
#include <sys/types.h>

/* Path of sysfs, which the tests change. */
extern const char *device_sysfs;

/**
 * device_gains() - whether sorting by inode number and block helps
 * @fd: a file or directory
 * @dev: its st_dev
 *
 * Return: true if the file system is one whose inode numbers follow the disk,
 * and the disk, or one of those below it, rotates; false if unknown.
 */
bool device_gains(int fd, dev_t dev);

/* Whether the block device, or one below it (partitions, dm, md), rotates. */
bool device_rotates(dev_t dev);

#endif
