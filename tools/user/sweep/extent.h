/* SPDX-License-Identifier: GPL-2.0 */
/* Where the data of a file is. */
#ifndef PLATTER_EXTENT_H
#define PLATTER_EXTENT_H

#include <stdint.h>

/**
 * data_position() - by what the data of a file is sorted on its device
 * @fd: the file, open for reading
 * @ino: its inode number
 *
 * Return: the byte on the device where its first extent begins; 0 if the disk
 * need not move for it; by_inode(@ino) where nobody knows.
 */
uint64_t data_position(int fd, uint64_t ino);

/* Of files whose place is not known: by inode number, after those with one. */
uint64_t by_inode(uint64_t ino);

#endif
