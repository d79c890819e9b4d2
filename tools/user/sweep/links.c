// SPDX-License-Identifier: GPL-2.0
/* Files with several names, by device and inode. */
#define _GNU_SOURCE
#include <search.h>
#include <stdlib.h>

#include "links.h"
#include "program.h"

static int compare(const void *left, const void *right)
{
	const struct linked *a = left, *b = right;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return (a->dev > b->dev) - (a->dev < b->dev);
}

struct linked *links_find(struct links *links, const struct stat *status)
{
	struct linked key = { .dev = status->st_dev, .ino = status->st_ino }, *linked;
	struct linked **found = tfind(&key, &links->root, compare);

	if (found)
		return *found;
	linked = need(calloc(1, sizeof(*linked)));
	linked->dev = key.dev;
	linked->ino = key.ino;
	linked->left = status->st_nlink;
	need(tsearch(linked, &links->root, compare));
	return linked;
}

static void free_linked(void *memory)
{
	struct linked *linked = memory;

	free(linked->target);
	free(linked);
}

void links_forget(struct links *links, struct linked *linked)
{
	tdelete(linked, &links->root, compare);
	free_linked(linked);
}

void links_free(struct links *links)
{
	tdestroy(links->root, free_linked);
	links->root = NULL;
}
