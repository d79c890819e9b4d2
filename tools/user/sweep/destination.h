/* SPDX-License-Identifier: GPL-2.0 */
/* Where copies go: paths that may be longer than the kernel takes. */
#ifndef SWEEP_DESTINATION_H
#define SWEEP_DESTINATION_H

#include <stdbool.h>

/**
 * destination_open() - open the directory of a path
 * @path: of any length
 * @name: set to the last part of it
 *
 * Return: a descriptor that is the caller's, or -1 with errno set.
 */
int destination_open(const char *path, const char **name);

/**
 * destination_folder() - as destination_open(), but the descriptor is kept
 *
 * Files of the same directory often come one after the other.  It is valid until
 * the next call.
 */
int destination_folder(const char *path, const char **name);

/* Does what is made in the directory that is kept get an ACL from it? */
bool destination_gives_acl(void);

/* Close what is kept. */
void destination_end(void);

#endif
