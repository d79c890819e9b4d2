/* SPDX-License-Identifier: GPL-2.0 */
/* Files with several names, by device and inode. */
#ifndef SWEEP_LINKS_H
#define SWEEP_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/**
 * struct linked - a file with several names
 * @dev, @ino: identity of the file
 * @left: number of names not found yet
 * @met: a name has been found
 * @target: the name under which it is written; NULL: not written yet
 */
struct linked {
	dev_t dev;
	ino_t ino;
	nlink_t left;
	bool met;
	char *target;
};

/* All such files: a tree of <search.h>. */
struct links {
	void *root;
};

/* Look up the file with this status; add it if it is new. */
struct linked *links_find(struct links *links, const struct stat *status);

/* Remove a file after all its names were found. */
void links_forget(struct links *links, struct linked *linked);

/* Remove all files. */
void links_free(struct links *links);

#endif
