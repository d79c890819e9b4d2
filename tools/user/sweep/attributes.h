/* SPDX-License-Identifier: GPL-2.0 */
/* Extended attributes, including POSIX ACLs. */
#ifndef SWEEP_ATTRIBUTES_H
#define SWEEP_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#define ATTRIBUTE_ACL "system.posix_acl_access"
/* Default ACL of a directory. */
#define ATTRIBUTE_ACL_INHERITED "system.posix_acl_default"

/* Callback for an attribute.  Returns false with errno set to stop. */
typedef bool (*attribute_taker)(const char *name, const void *value, size_t size, void *user);

/**
 * attributes_each() - all extended attributes of a file
 * @at, @name: the file; symbolic links are not followed; an empty @name: @at
 *	itself
 *
 * Return: false with errno set if they cannot be read or @take returned false.
 * A file system without extended attributes is not a failure.
 */
bool attributes_each(int at, const char *name, attribute_taker take, void *user);

/* Set an attribute.  Returns false with errno set. */
bool attributes_set(int at, const char *name, const char *attribute,
		    const void *value, size_t size);

/* Whether the file may have this attribute; true if unknown. */
bool attributes_may_have(int at, const char *name, const char *attribute);

/* Remove an attribute if it exists. */
void attributes_remove(int at, const char *name, const char *attribute);

#endif
