// SPDX-License-Identifier: GPL-2.0
/* Data and holes of a file; target of a symbolic link. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "data.h"

#define BLOCK 512

bool data_is_sparse(const struct stat *status)
{
	return (off_t)status->st_blocks * BLOCK < status->st_size;
}

off_t data_next(int fd, off_t from, off_t size, off_t *end)
{
	off_t begin = lseek(fd, from, SEEK_DATA);

	*end = size;
	if (begin < 0)
		return errno == ENXIO ? size : from;
	if (begin >= size)
		return size;
	*end = lseek(fd, begin, SEEK_HOLE);
	if (*end < 0 || *end > size)
		*end = size;
	return begin;
}

bool data_read_target(int at, const char *name, char target[PATH_MAX])
{
	ssize_t length = readlinkat(at, name, target, PATH_MAX);

	if (length < 0)
		return false;
	if (length == PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	target[length] = '\0';
	return true;
}
