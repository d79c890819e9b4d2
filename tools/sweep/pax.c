// SPDX-License-Identifier: GPL-2.0
/*
 * Headers in the pax format: those of ustar, and before them a list of records
 * for what has no room in one: long names, large numbers, parts of seconds,
 * extended attributes.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "pax.h"
#include "program.h"

#define NSEC_PER_SEC 1000000000L

struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char sum[8];
	char type;
	char link[100];
	char magic[8];
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char unused[12];
};

_Static_assert(sizeof(struct header) == PAX_BLOCK, "a header is a block");

/* --- records --------------------------------------------------------------- */

static void make_room(struct pax *pax, size_t more)
{
	if (pax->length + more <= pax->room)
		return;
	pax->room = 2 * pax->room + more;
	pax->records = need(realloc(pax->records, pax->room));
}

static unsigned int digits_of(size_t number)
{
	unsigned int digits = 1;

	for (; number >= 10; number /= 10)
		digits++;
	return digits;
}

/* "LENGTH KEY=VALUE\n"; the length counts its own digits. */
void pax_add(struct pax *pax, const char *key, const void *value, size_t size)
{
	size_t rest = 1 + strlen(key) + 1 + size + 1, length = rest + digits_of(rest);

	length = rest + digits_of(length);
	make_room(pax, length + 1);
	pax->length += (size_t)sprintf(pax->records + pax->length, "%zu %s=", length, key);
	memcpy(pax->records + pax->length, value, size);
	pax->length += size;
	pax->records[pax->length++] = '\n';
}

static void add_text(struct pax *pax, const char *key, const char *value)
{
	pax_add(pax, key, value, strlen(value));
}

void pax_add_number(struct pax *pax, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	add_text(pax, key, text);
}

/* A key ends with its "=", so that one in a name is written otherwise, as GNU tar does. */
void pax_add_attribute(struct pax *pax, const char *name, const void *value, size_t size)
{
	static const char prefix[] = "SCHILY.xattr.";
	char *key = need(malloc(sizeof(prefix) + 3 * strlen(name))), *at = stpcpy(key, prefix);

	for (; *name; name++)
		if (*name == '=' || *name == '%')
			at += sprintf(at, "%%%02X", (unsigned int)*name);
		else
			*at++ = *name;
	*at = '\0';
	pax_add(pax, key, value, size);
	free(key);
}

/* --- fields of a header ---------------------------------------------------- */

/* Octal, with a zero byte behind it; returns whether it fits. */
static bool put_number(char *field, size_t size, uint64_t value)
{
	bool fits = !(value >> 3 * (size - 1));

	if (!fits)
		value = 0;
	field[--size] = '\0';
	for (; size--; value >>= 3)
		field[size] = (char)('0' + (value & 7));
	return fits;
}

/* Returns whether it fits; what does not is cut off. */
static bool put_text(char *field, size_t size, const char *text)
{
	size_t length = strlen(text);

	memcpy(field, text, length < size ? length : size);
	return length <= size;
}

/* A path that is too long for its field may be divided at a slash. */
static bool put_name(struct header *header, const char *name, size_t length)
{
	const char *slash = NULL;

	if (length > sizeof(header->name) && length <= sizeof(header->name) + 1 + sizeof(header->prefix))
		slash = strchr(name + length - sizeof(header->name) - 1, '/');
	if (slash && slash[1] && slash != name && (size_t)(slash - name) <= sizeof(header->prefix)) {
		memcpy(header->prefix, name, (size_t)(slash - name));
		return put_text(header->name, sizeof(header->name), slash + 1);
	}
	return put_text(header->name, sizeof(header->name), name);
}

static void finish(struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned int sum = 0;

	memcpy(header->magic, "ustar\00000", sizeof(header->magic));
	memset(header->sum, ' ', sizeof(header->sum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += bytes[i];
	put_number(header->sum, sizeof(header->sum) - 1, sum);
}

static char type_of(const struct pax *pax)
{
	if (pax->type)
		return pax->type;
	switch (pax->status->st_mode & S_IFMT) {
	case S_IFLNK:
		return '2';
	case S_IFCHR:
		return '3';
	case S_IFBLK:
		return '4';
	case S_IFDIR:
		return '5';
	case S_IFIFO:
		return '6';
	default:
		return '0';
	}
}

/* --- what a member is ------------------------------------------------------ */

static void add_time(struct pax *pax, const struct timespec *time)
{
	bool before = time->tv_sec < 0;
	long long seconds = time->tv_sec;
	long part = time->tv_nsec;
	char text[40];
	int length;

	/* both count upwards, and the text from zero on */
	if (before && part) {
		seconds++;
		part = NSEC_PER_SEC - part;
	}
	length = snprintf(text, sizeof(text), "%s%lld.%09ld", before ? "-" : "",
			  seconds < 0 ? -seconds : seconds, part);
	while (text[length - 1] == '0')
		length--;
	pax_add(pax, "mtime", text, (size_t)(text[length - 1] == '.' ? length - 1 : length));
}

static void put_time(struct pax *pax, struct header *header)
{
	const struct timespec *time = &pax->status->st_mtim;
	uint64_t seconds = time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec;

	if (!put_number(header->mtime, sizeof(header->mtime), seconds) || time->tv_nsec ||
	    time->tv_sec < 0)
		add_time(pax, time);
}

static void put_owner(struct pax *pax, struct header *header)
{
	if (!put_number(header->uid, sizeof(header->uid), pax->status->st_uid))
		pax_add_number(pax, "uid", pax->status->st_uid);
	if (!put_number(header->gid, sizeof(header->gid), pax->status->st_gid))
		pax_add_number(pax, "gid", pax->status->st_gid);
	if (pax->user && !put_text(header->user, sizeof(header->user) - 1, pax->user))
		add_text(pax, "uname", pax->user);
	if (pax->group && !put_text(header->group, sizeof(header->group) - 1, pax->group))
		add_text(pax, "gname", pax->group);
}

static void describe(struct pax *pax, struct header *header)
{
	const struct stat *status = pax->status;
	bool is_device = S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode);

	header->type = type_of(pax);
	put_number(header->mode, sizeof(header->mode), status->st_mode & 07777);
	put_owner(pax, header);
	put_time(pax, header);
	if (!put_number(header->size, sizeof(header->size), pax->size))
		pax_add_number(pax, "size", pax->size);
	if (!put_name(header, pax->name, strlen(pax->name)))
		add_text(pax, "path", pax->name);
	if (pax->link && !put_text(header->link, sizeof(header->link), pax->link))
		add_text(pax, "linkpath", pax->link);
	/* numbers of Linux fit */
	put_number(header->major, sizeof(header->major), is_device ? major(status->st_rdev) : 0);
	put_number(header->minor, sizeof(header->minor), is_device ? minor(status->st_rdev) : 0);
	finish(header);
}

/* What is before a member's header, and the records in it. */
static bool write_records(const struct pax *pax, const struct header *member, struct stream *stream)
{
	const char *slash = strrchr(pax->name, '/');
	struct header header = *member;
	char name[sizeof(header.name) + 1];

	snprintf(name, sizeof(name), "PaxHeaders/%s", slash && slash[1] ? slash + 1 : pax->name);
	memset(header.name, 0, sizeof(header.name));
	memset(header.prefix, 0, sizeof(header.prefix));
	memset(header.link, 0, sizeof(header.link));
	put_text(header.name, sizeof(header.name), name);
	put_number(header.mode, sizeof(header.mode), 0644);
	put_number(header.size, sizeof(header.size), pax->length);
	header.type = 'x';
	finish(&header);
	return stream_put(stream, &header, sizeof(header)) &&
	       stream_put(stream, pax->records, pax->length) && pax_fill(stream, pax->length);
}

bool pax_write(struct pax *pax, struct stream *stream)
{
	struct header header = { 0 };

	describe(pax, &header);
	return (!pax->length || write_records(pax, &header, stream)) &&
	       stream_put(stream, &header, sizeof(header));
}

void pax_free(struct pax *pax)
{
	free(pax->records);
}

static const char zeros[2 * PAX_BLOCK];

bool pax_fill(struct stream *stream, uint64_t size)
{
	return stream_put(stream, zeros, (PAX_BLOCK - size % PAX_BLOCK) % PAX_BLOCK);
}

bool pax_end(struct stream *stream)
{
	return stream_put(stream, zeros, sizeof(zeros));
}
