/* SPDX-License-Identifier: GPL-2.0 */
/* Headers of members of an archive in the pax format (POSIX.1-2001). */
#ifndef SWEEP_PAX_H
#define SWEEP_PAX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "stream.h"

#define PAX_BLOCK 512

/**
 * struct pax - a member that is being described
 * @name: its path in the archive
 * @link: what it is a link to, NULL: it is none
 * @type: '1' for one more name of a file, 0: as @status says
 * @user, @group: names of the owner, or NULL
 * @size: bytes that follow the header
 * @records: what its header has no room for
 */
struct pax {
	const char *name;
	const char *link;
	const struct stat *status;
	char type;
	const char *user;
	const char *group;
	uint64_t size;
	char *records;
	size_t length;
	size_t room;
};

/* One more record; the value may be of any bytes. */
void pax_add(struct pax *pax, const char *key, const void *value, size_t size);
void pax_add_number(struct pax *pax, const char *key, uint64_t value);
/* An extended attribute, as star, GNU tar and libarchive know them. */
void pax_add_attribute(struct pax *pax, const char *name, const void *value, size_t size);

/* Write the headers. */
bool pax_write(struct pax *pax, struct stream *stream);
void pax_free(struct pax *pax);

/* Zeros up to a whole block behind so many bytes. */
bool pax_fill(struct stream *stream, uint64_t size);
/* The end of an archive. */
bool pax_end(struct stream *stream);

#endif
