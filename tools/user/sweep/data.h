/* SPDX-License-Identifier: GPL-2.0 */
/* Where a file has data, and where holes; what a symbolic link holds. */
#ifndef SWEEP_DATA_H
#define SWEEP_DATA_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Bytes that are read and written at a time. */
#define DATA_CHUNK (1 << 20)

/* Has the file holes, as far as its size on the disk tells? */
bool data_is_sparse(const struct stat *status);

/**
 * data_next() - the next part of a sparse file that has data
 * @fd: the file
 * @from: from here on
 * @size: of the file
 * @end: where the part ends
 *
 * Return: where it begins, @size: there is none.  A file system that does not
 * know holes has one part.
 */
off_t data_next(int fd, off_t from, off_t size, off_t *end);

/* Read the target of the link @name in @at; false with errno set, also if it is too long. */
bool data_read_target(int at, const char *name, char target[PATH_MAX]);

#endif
