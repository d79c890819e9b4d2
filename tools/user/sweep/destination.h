/* SPDX-License-Identifier: GPL-2.0 */
/* Destination paths, which may be longer than PATH_MAX. */
#ifndef SWEEP_DESTINATION_H
#define SWEEP_DESTINATION_H

#include <stdbool.h>

/**
 * destination_open() - open the directory of a path
 * @path: of any length
 * @name: set to the last part of it
 *
 * Return: a descriptor that the caller closes, or -1 with errno set.
 */
int destination_open(const char *path, const char **name);

/**
 * destination_folder() - like destination_open(), but caches the descriptor
 *
 * Files of the same directory often follow each other.  The descriptor is valid
 * until the next call.
 */
int destination_folder(const char *path, const char **name);

/* Whether the cached directory has a default ACL. */
bool destination_gives_acl(void);

/* Close the cached descriptor. */
void destination_end(void);

#endif
