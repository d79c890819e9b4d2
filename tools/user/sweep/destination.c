// SPDX-License-Identifier: GPL-2.0
/* Destination paths, which may be longer than PATH_MAX. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attributes.h"
#include "destination.h"
#include "program.h"

static struct {
	char *path;
	int fd;
	bool gives_acl;
} kept = { .fd = -1 };

/* The longest beginning of a path that fits into PATH_MAX and ends at a slash. */
static size_t chunk_length(const char *path, size_t length)
{
	if (length < PATH_MAX)
		return length;
	for (length = PATH_MAX - 1; length && path[length] != '/'; length--)
		;
	return length;
}

static int open_folder(int at, const char *path, size_t length)
{
	char *copy = need(strndup(path, length));
	int fd = openat(at, copy, O_PATH | O_DIRECTORY | O_CLOEXEC);

	free(copy);
	return fd;
}

/* Open the first @length bytes of @path, which end with a slash; @length may be 0. */
static int open_chunks(const char *path, size_t length)
{
	int at = AT_FDCWD, next;
	size_t chunk;

	if (!length)
		return open_folder(AT_FDCWD, ".", 1);
	for (; length; path += chunk, length -= chunk) {
		if (at != AT_FDCWD && *path == '/') {
			chunk = 1;
			continue;
		}
		chunk = chunk_length(path, length);
		if (!chunk)
			errno = ENAMETOOLONG;
		next = chunk ? open_folder(at, path, chunk) : -1;
		if (at >= 0)
			close(at);
		if (next < 0)
			return -1;
		at = next;
	}
	return at;
}

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

int destination_open(const char *path, const char **name)
{
	size_t length = folder_length(path);

	*name = path + length;
	return open_chunks(path, length);
}

int destination_folder(const char *path, const char **name)
{
	size_t length = folder_length(path);

	*name = path + length;
	if (kept.path && strlen(kept.path) == length && !memcmp(kept.path, path, length))
		return kept.fd;
	destination_end();
	kept.fd = open_chunks(path, length);
	if (kept.fd >= 0) {
		kept.path = need(strndup(path, length));
		kept.gives_acl = attributes_may_have(kept.fd, ".", ATTRIBUTE_ACL_INHERITED);
	}
	return kept.fd;
}

bool destination_gives_acl(void)
{
	return kept.gives_acl;
}

void destination_end(void)
{
	if (kept.fd >= 0)
		close(kept.fd);
	free(kept.path);
	kept.fd = -1;
	kept.path = NULL;
}
