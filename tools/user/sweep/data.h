/* SPDX-License-Identifier: GPL-2.0 */
/* Data and holes of a file; target of a symbolic link. */
#ifndef SWEEP_DATA_H
#define SWEEP_DATA_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Bytes to read and write at a time. */
#define DATA_CHUNK (1 << 20)

/* Whether the file has holes, judging by its size on the disk. */
bool data_is_sparse(const struct stat *status);

/**
 * data_next() - the next part of a sparse file that has data
 * @fd: the file
 * @from: where to start the search
 * @size: size of the file
 * @end: set to the end of the part
 *
 * Return: the beginning of the part, or @size if there is none.  On a file system
 * without holes the whole file is one part.
 */
off_t data_next(int fd, off_t from, off_t size, off_t *end);

/* Read the target of the link @name in @at.  Returns false with errno set, also if it is too long. */
bool data_read_target(int at, const char *name, char target[PATH_MAX]);

#endif
