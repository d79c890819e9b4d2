/* SPDX-License-Identifier: GPL-2.0 */
/* Directories that are entered, and the few of them that are open. */
#ifndef PLATTER_DIRECTORY_H
#define PLATTER_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct directory - a directory that is entered
 * @parent: NULL: an operand
 * @newer, @older: among those that are open, by last use
 * @next: among those that are still to be read
 * @attached: the caller's
 * @dev, @ino: what it was when it was found
 * @offset: where to read on, as getdents64 tells it; 0: at the beginning
 * @references: one for each entry below it that is not done, one while it is
 *	still to be read
 * @device: number of its device in the walk
 * @depth: 0: an operand
 * @fd: -1: not open
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

/* Those that are open: at most @most, or fewer when the process has no more. */
struct open_directories {
	struct directory *newest;
	struct directory *oldest;
	unsigned int count;
	unsigned int most;
};

/* Take a part of the descriptors that the process may have. */
void directories_init(struct open_directories *open);

/* A directory with one reference, which has one of its parent; NULL: no memory. */
struct directory *directory_new(struct directory *parent, const char *name);

/**
 * directory_fd() - a descriptor of a directory
 * @open: those that are open, of which one may be closed
 * @directory: which
 *
 * A directory that has been closed is opened again from the nearest one above
 * it that is open.  It must be the one that it was: what another process has
 * put there meanwhile is not entered.
 *
 * Return: the descriptor, which stays with the directory, or -1 with errno.
 */
int directory_fd(struct open_directories *open, struct directory *directory);

/* Close it, if it is open. */
void directory_close(struct open_directories *open, struct directory *directory);

/* openat() that closes directories when the process has no more descriptors. */
int open_below(struct open_directories *open, struct directory *parent,
	       const char *name, int flags);

#endif
