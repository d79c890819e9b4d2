/* SPDX-License-Identifier: GPL-2.0 */
/* Directories of a walk, and the cache of open ones. */
#ifndef PLATTER_DIRECTORY_H
#define PLATTER_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct directory - a directory of a walk
 * @parent: NULL for an operand
 * @newer, @older: list of open directories, by last use
 * @next: list of directories to be read
 * @attached: the caller's pointer
 * @dev, @ino: identity when it was found
 * @offset: where to continue reading, from getdents64; 0: at the beginning
 * @references: one for each entry below it that is not done, one while it is
 *	to be read
 * @device: index of its device in the walk
 * @depth: 0 for an operand
 * @fd: -1 if not open
 * @follow: its name may be a symbolic link
 */
struct directory {
	struct directory *parent;
	struct directory *newer;
	struct directory *older;
	struct directory *next;
	void *attached;
	dev_t dev;
	ino_t ino;
	int64_t offset;
	uint32_t references;
	uint32_t device;
	uint32_t depth;
	int fd;
	bool follow;
	char name[];
};

/* Open directories: at most @most, or fewer if the process runs out of descriptors. */
struct open_directories {
	struct directory *newest;
	struct directory *oldest;
	unsigned int count;
	unsigned int most;
};

/* Use a part of the process's limit of descriptors. */
void directories_init(struct open_directories *open);

/* Create a directory with one reference; it holds one of its parent.  NULL if out of memory. */
struct directory *directory_new(struct directory *parent, const char *name);

/**
 * directory_fd() - a descriptor of a directory
 * @open: the open directories, of which one may be closed
 * @directory: the directory
 *
 * A closed directory is opened again from the nearest open one above it.  It
 * must still be the same: a directory that another process has put there is not
 * entered.
 *
 * Return: the descriptor, which stays with the directory, or -1 with errno.
 */
int directory_fd(struct open_directories *open, struct directory *directory);

/* Close a directory if it is open. */
void directory_close(struct open_directories *open, struct directory *directory);

/* openat() that closes directories if the process runs out of descriptors. */
int open_below(struct open_directories *open, struct directory *parent,
	       const char *name, int flags);

#endif
