/* SPDX-License-Identifier: GPL-2.0 */
/* Position of a file's data on the disk. */
#ifndef PLATTER_EXTENT_H
#define PLATTER_EXTENT_H

#include <stdint.h>

/**
 * data_position() - sort key of a file's data on its device
 * @fd: the file, open for reading
 * @ino: its inode number
 *
 * Return: the byte on the device where its first extent begins; 0 if the disk
 * does not have to seek for it; by_inode(@ino) if unknown.
 */
uint64_t data_position(int fd, uint64_t ino);

/* Sort key of files with unknown position: by inode number, after all others. */
uint64_t by_inode(uint64_t ino);

#endif
