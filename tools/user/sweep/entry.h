/* SPDX-License-Identifier: GPL-2.0 */
/* An entry as passed to callbacks, and its walk. */
#ifndef PLATTER_ENTRY_H
#define PLATTER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "directory.h"

/* Buffer for the path of one entry at a time. */
struct path_buffer {
	char *text;
	size_t size;
};

struct platter_entry {
	struct open_directories *open;
	struct path_buffer *buffer;
	struct directory *parent;
	const char *name;
	const char *path;	/* NULL: not computed yet */
	void *attached;
	bool follow;
	bool has_status;
	unsigned char type;
	struct stat status;
};

/* Determine the type if unknown; if links are followed, that of the target. */
bool entry_find_type(struct platter_entry *entry);

#endif
