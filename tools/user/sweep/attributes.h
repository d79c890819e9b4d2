/* SPDX-License-Identifier: GPL-2.0 */
/* Extended attributes; POSIX ACLs are such, too. */
#ifndef SWEEP_ATTRIBUTES_H
#define SWEEP_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#define ATTRIBUTE_ACL "system.posix_acl_access"
/* Of a directory: the ACL of what is made in it. */
#define ATTRIBUTE_ACL_INHERITED "system.posix_acl_default"

/* Takes one; returns false with errno set to end. */
typedef bool (*attribute_taker)(const char *name, const void *value, size_t size, void *user);

/**
 * attributes_each() - all extended attributes of a file
 * @at, @name: the file, which is not followed if it is a symbolic link; an
 *	empty @name: @at itself
 *
 * Return: false with errno set if they cannot be read, or @take has said so.
 * A file system that has none is no failure.
 */
bool attributes_each(int at, const char *name, attribute_taker take, void *user);

/* Set one.  Returns false with errno set. */
bool attributes_set(int at, const char *name, const char *attribute,
		    const void *value, size_t size);

/* May there be such a one?  Where it cannot be asked, there may. */
bool attributes_may_have(int at, const char *name, const char *attribute);

/* Remove one, if it is there. */
void attributes_remove(int at, const char *name, const char *attribute);

#endif
