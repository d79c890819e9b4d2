// SPDX-License-Identifier: GPL-2.0
/*
 * Directories, identified by their name in their parent.  A walk in the order of
 * inodes may return to any of them at any time, so the most recently used ones
 * stay open.  The kernel never gets whole paths: they may be too long, and a
 * part may have been replaced by a symbolic link.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"

#define MOST_OPEN 256
#define LEAST_OPEN 4
/* The rest of the descriptors is for the program. */
#define PART_OF_LIMIT 4

void directories_init(struct open_directories *open)
{
	struct rlimit limit;
	rlim_t part = MOST_OPEN;

	if (!getrlimit(RLIMIT_NOFILE, &limit) &&
	    limit.rlim_cur / PART_OF_LIMIT < part)
		part = limit.rlim_cur / PART_OF_LIMIT;
	memset(open, 0, sizeof(*open));
	open->most = part < LEAST_OPEN ? LEAST_OPEN : (unsigned int)part;
}

struct directory *directory_new(struct directory *parent, const char *name)
{
	struct directory *directory = calloc(1, sizeof(*directory) + strlen(name) + 1);

	if (!directory)
		return NULL;
	strcpy(directory->name, name);
	directory->parent = parent;
	directory->fd = -1;
	directory->references = 1;
	if (parent) {
		parent->references++;
		directory->depth = parent->depth + 1;
	}
	return directory;
}

static void unlink_open(struct open_directories *open, struct directory *directory)
{
	if (directory->newer)
		directory->newer->older = directory->older;
	else
		open->newest = directory->older;
	if (directory->older)
		directory->older->newer = directory->newer;
	else
		open->oldest = directory->newer;
	open->count--;
}

static void link_open(struct open_directories *open, struct directory *directory)
{
	directory->newer = NULL;
	directory->older = open->newest;
	if (open->newest)
		open->newest->newer = directory;
	else
		open->oldest = directory;
	open->newest = directory;
	open->count++;
}

void directory_close(struct open_directories *open, struct directory *directory)
{
	if (directory->fd < 0)
		return;
	unlink_open(open, directory);
	close(directory->fd);
	directory->fd = -1;
}

static bool no_descriptors(int error)
{
	return error == EMFILE || error == ENFILE;
}

/* openat() below an open directory; may close other directories, but not that one. */
static int open_at(struct open_directories *open, const struct directory *parent,
		   const char *name, int flags)
{
	int at = parent ? parent->fd : AT_FDCWD, fd;

	while ((fd = openat(at, name, flags | O_CLOEXEC)) < 0 &&
	       no_descriptors(errno) && open->oldest && open->oldest != parent)
		directory_close(open, open->oldest);
	return fd;
}

/* Check that @fd is the directory that was found, and seek to where reading stopped. */
static bool is_same(const struct directory *directory, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (st.st_dev != directory->dev || st.st_ino != directory->ino) {
		errno = ENOENT;
		return false;
	}
	return !directory->offset || lseek(fd, directory->offset, SEEK_SET) >= 0;
}

static void use(struct open_directories *open, struct directory *directory)
{
	unlink_open(open, directory);
	link_open(open, directory);
}

/* Open a directory whose parent is open. */
static bool open_one(struct open_directories *open, struct directory *directory)
{
	int flags = O_RDONLY | O_DIRECTORY | (directory->follow ? 0 : O_NOFOLLOW);
	int fd, error;

	if (directory->parent)
		use(open, directory->parent);
	fd = open_at(open, directory->parent, directory->name, flags);
	if (fd < 0)
		return false;
	if (!is_same(directory, fd)) {
		error = errno;
		close(fd);
		errno = error;
		return false;
	}
	directory->fd = fd;
	link_open(open, directory);
	while (open->count > open->most && open->oldest != directory->parent)
		directory_close(open, open->oldest);
	return true;
}

/* The topmost closed directory above @directory. */
static struct directory *topmost_closed(struct directory *directory)
{
	while (directory->parent && directory->parent->fd < 0)
		directory = directory->parent;
	return directory;
}

/* Open all closed directories on the path to @directory. */
static int open_chain(struct open_directories *open, struct directory *directory)
{
	struct directory *top = topmost_closed(directory), **way, *at = directory;
	size_t count = directory->depth - top->depth + 1;

	way = malloc(count * sizeof(*way));
	if (!way)
		return -1;
	for (size_t i = count; i-- > 0; at = at->parent)
		way[i] = at;
	for (size_t i = 0; i < count; i++)
		if (!open_one(open, way[i]))
			break;
	free(way);
	return directory->fd;
}

int directory_fd(struct open_directories *open, struct directory *directory)
{
	if (directory->fd >= 0) {
		use(open, directory);
		return directory->fd;
	}
	return open_chain(open, directory);
}

int open_below(struct open_directories *open, struct directory *parent,
	       const char *name, int flags)
{
	if (parent && directory_fd(open, parent) < 0)
		return -1;
	return open_at(open, parent, name, flags);
}
