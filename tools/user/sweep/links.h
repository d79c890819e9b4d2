/* SPDX-License-Identifier: GPL-2.0 */
/* Files with several names, each by its device and inode. */
#ifndef SWEEP_LINKS_H
#define SWEEP_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/**
 * struct linked - a file with several names
 * @dev, @ino: which
 * @left: names that have not been met
 * @met: whether one has
 * @target: the name under which it is written; NULL: not yet
 */
struct linked {
	dev_t dev;
	ino_t ino;
	nlink_t left;
	bool met;
	char *target;
};

/* All of them: a tree of <search.h>. */
struct links {
	void *root;
};

/* The file of this status, new if it was not met before; its names are those of the inode. */
struct linked *links_find(struct links *links, const struct stat *status);

/* Forget a file, all of whose names were met. */
void links_forget(struct links *links, struct linked *linked);

/* Forget all. */
void links_free(struct links *links);

#endif
