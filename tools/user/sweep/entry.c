// SPDX-License-Identifier: GPL-2.0
/* Functions for callbacks to query an entry. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "platter.h"

static size_t need_slash(const char *name, size_t length)
{
	return !length || name[length - 1] != '/';
}

static size_t path_length(const struct platter_entry *entry)
{
	size_t length = strlen(entry->name), part;

	for (const struct directory *above = entry->parent; above; above = above->parent) {
		part = strlen(above->name);
		length += part + need_slash(above->name, part);
	}
	return length;
}

static bool make_room(struct path_buffer *buffer, size_t size)
{
	char *text;

	if (size <= buffer->size)
		return true;
	text = realloc(buffer->text, size * 2);
	if (!text)
		return false;
	buffer->text = text;
	buffer->size = size * 2;
	return true;
}

/* Prepend @name to the path at @at. */
static char *put_before(char *at, const char *name, size_t length)
{
	return memcpy(at - length, name, length);
}

const char *platter_path(struct platter_entry *entry)
{
	size_t length, part;
	char *at;

	if (entry->path)
		return entry->path;
	if (!entry->parent)
		return entry->path = entry->name;
	length = path_length(entry);
	if (!make_room(entry->buffer, length + 1))
		return NULL;
	at = entry->buffer->text + length;
	*at = '\0';
	at = put_before(at, entry->name, strlen(entry->name));
	for (const struct directory *above = entry->parent; above; above = above->parent) {
		part = strlen(above->name);
		if (need_slash(above->name, part))
			*--at = '/';
		at = put_before(at, above->name, part);
	}
	return entry->path = at;
}

const char *platter_name(const struct platter_entry *entry)
{
	return entry->name;
}

unsigned int platter_depth(const struct platter_entry *entry)
{
	return entry->parent ? entry->parent->depth + 1 : 0;
}

unsigned char platter_type(const struct platter_entry *entry)
{
	return entry->type;
}

int platter_dirfd(struct platter_entry *entry)
{
	return entry->parent ? directory_fd(entry->open, entry->parent) : AT_FDCWD;
}

const struct stat *platter_stat(struct platter_entry *entry)
{
	int at;

	if (entry->has_status)
		return &entry->status;
	at = platter_dirfd(entry);
	if (at == -1)
		return NULL;
	if (entry->follow && !fstatat(at, entry->name, &entry->status, 0))
		;
	else if (entry->follow && errno != ENOENT && errno != ENOTDIR)
		return NULL;
	else if (fstatat(at, entry->name, &entry->status, AT_SYMLINK_NOFOLLOW))
		return NULL;	/* not even a link without a target */
	entry->has_status = true;
	return &entry->status;
}

bool entry_find_type(struct platter_entry *entry)
{
	const struct stat *status;

	if (entry->type != DT_UNKNOWN && !(entry->follow && entry->type == DT_LNK))
		return true;
	status = platter_stat(entry);
	if (!status)
		return false;
	entry->type = IFTODT(status->st_mode);
	return true;
}

int platter_open(struct platter_entry *entry)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

	if (!entry->follow)
		flags |= O_NOFOLLOW;
	return open_below(entry->open, entry->parent, entry->name, flags);
}

void platter_attach(struct platter_entry *entry, void *pointer)
{
	entry->attached = pointer;
}

void *platter_attached(const struct platter_entry *entry)
{
	return entry->attached;
}

void *platter_parent_attached(const struct platter_entry *entry)
{
	return entry->parent ? entry->parent->attached : NULL;
}
