// SPDX-License-Identifier: GPL-2.0
/*
 * Extended attributes.  Linux before 6.13 has no calls relative to a directory;
 * a path below /proc/self/fd does the same, and is never too long.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "attributes.h"
#include "program.h"

/* A list or a value may grow between two calls. */
#define TRIES 8

struct place {
	int fd;		/* -1: by path */
	char path[PATH_MAX];
};

/* Most lists and values are small, and most lists are empty. */
struct text {
	char *text;
	char buffer[1024];
};

static void forget(struct text *all)
{
	if (all->text != all->buffer)
		free(all->text);
	all->text = all->buffer;
}

static void find_place(int at, const char *name, struct place *place)
{
	place->fd = *name ? -1 : at;
	if (at == AT_FDCWD || name[0] == '/')
		snprintf(place->path, sizeof(place->path), "%s", name);
	else
		snprintf(place->path, sizeof(place->path), "/proc/self/fd/%d/%s", at, name);
}

/* Get the value of an attribute, or with NULL the list of names. */
static ssize_t get(const struct place *place, const char *attribute, void *buffer, size_t size)
{
	if (place->fd >= 0)
		return attribute ? fgetxattr(place->fd, attribute, buffer, size) :
				   flistxattr(place->fd, buffer, size);
	return attribute ? lgetxattr(place->path, attribute, buffer, size) :
			   llistxattr(place->path, buffer, size);
}

/*
 * Read into the buffer of @all or, if that is too small, into an allocated one,
 * which the caller frees by forget().  Returns the size, or -1 with errno set.
 */
static ssize_t get_all(const struct place *place, const char *attribute, struct text *all)
{
	ssize_t size;

	all->text = all->buffer;
	size = get(place, attribute, all->buffer, sizeof(all->buffer));
	for (int i = 0; i < TRIES && size < 0 && errno == ERANGE; i++) {
		size = get(place, attribute, NULL, 0);
		if (size < 0)
			return -1;
		forget(all);
		all->text = need(malloc((size_t)size + 1));
		size = get(place, attribute, all->text, (size_t)size);
	}
	return size;
}

static bool has_none(int error)
{
	return error == ENOTSUP || error == ENOSYS;
}

static bool take_one(const struct place *place, const char *attribute,
		     attribute_taker take, void *user)
{
	struct text value;
	ssize_t size = get_all(place, attribute, &value);
	/* the attribute was removed meanwhile */
	bool good = size < 0 && errno == ENODATA;

	if (size >= 0)
		good = take(attribute, value.text, (size_t)size, user);
	forget(&value);
	return good;
}

bool attributes_each(int at, const char *name, attribute_taker take, void *user)
{
	struct place place;
	struct text list;
	bool good = true;
	ssize_t size;

	find_place(at, name, &place);
	size = get_all(&place, NULL, &list);
	if (size < 0)
		good = has_none(errno);
	for (char *one = list.text; good && one < list.text + size; one += strlen(one) + 1)
		good = take_one(&place, one, take, user);
	forget(&list);
	return good;
}

bool attributes_set(int at, const char *name, const char *attribute,
		    const void *value, size_t size)
{
	struct place place;

	find_place(at, name, &place);
	if (place.fd >= 0)
		return !fsetxattr(place.fd, attribute, value, size, 0);
	return !lsetxattr(place.path, attribute, value, size, 0);
}

bool attributes_may_have(int at, const char *name, const char *attribute)
{
	struct place place;

	find_place(at, name, &place);
	return get(&place, attribute, NULL, 0) >= 0 || (errno != ENODATA && errno != ENOTSUP);
}

void attributes_remove(int at, const char *name, const char *attribute)
{
	struct place place;

	find_place(at, name, &place);
	if (place.fd >= 0)
		fremovexattr(place.fd, attribute);
	else
		lremovexattr(place.path, attribute);
}
