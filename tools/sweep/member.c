// SPDX-License-Identifier: GPL-2.0
/* Members of an archive. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attributes.h"
#include "data.h"
#include "member.h"
#include "pax.h"
#include "program.h"

static const char zeros[64 << 10];

/* --- the archive ----------------------------------------------------------- */

void writer_begin(struct writer *writer, int fd)
{
	memset(writer, 0, sizeof(*writer));
	stream_begin(&writer->stream, fd);
}

/* Once: all that follows fails again. */
static enum member_result broken(struct writer *writer)
{
	if (!writer->is_broken)
		say("cannot write the archive: %s", strerror(writer->stream.error));
	writer->is_broken = true;
	return MEMBER_FATAL;
}

bool writer_end(struct writer *writer)
{
	bool good = pax_end(&writer->stream);

	if (!stream_end(&writer->stream) || !good) {
		broken(writer);
		good = false;
	}
	for (size_t i = 0; i < OWNERS; i++) {
		free(writer->users[i].name);
		free(writer->groups[i].name);
	}
	return good;
}

/* --- names ----------------------------------------------------------------- */

/* Behind the last "..", as tar does. */
static const char *behind_dots(const char *path)
{
	const char *name = path;

	for (const char *at = path; *at;) {
		if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || !at[2]))
			name = at + 2;
		at = strchrnul(at, '/');
		at += strspn(at, "/");
	}
	return name;
}

const char *member_name(const char *path)
{
	static bool said;
	const char *name = behind_dots(path);

	name += strspn(name, "/");
	if (name != path && !said) {
		say("'%.*s' is removed from the beginning of names", (int)(name - path), path);
		said = true;
	}
	return *name ? name : ".";
}

/* --- owners ---------------------------------------------------------------- */

static const char *user_of(uid_t id)
{
	const struct passwd *found = getpwuid(id);

	return found ? found->pw_name : NULL;
}

static const char *group_of(gid_t id)
{
	const struct group *found = getgrgid(id);

	return found ? found->gr_name : NULL;
}

static const char *name_of(struct owner *owners, unsigned int id,
			   const char *(*look_up)(unsigned int id))
{
	struct owner *owner = &owners[id % OWNERS];
	const char *name;

	if (owner->is_known && owner->id == id)
		return owner->name;
	free(owner->name);
	name = look_up(id);
	*owner = (struct owner){
		.is_known = true, .id = id, .name = name ? need(strdup(name)) : NULL,
	};
	return owner->name;
}

/* --- members --------------------------------------------------------------- */

static bool add_attribute(const char *name, const void *value, size_t size, void *user)
{
	pax_add_attribute(user, name, value, size);
	return true;
}

/* Neither times but the last change nor numbers of inodes: they are of this disk. */
static void make_member(struct writer *writer, const char *name, const struct stat *status,
			struct pax *pax)
{
	*pax = (struct pax){
		.name = name, .status = status,
		.user = name_of(writer->users, status->st_uid, user_of),
		.group = name_of(writer->groups, status->st_gid, group_of),
	};
}

static enum member_result cannot(const char *what, const char *path)
{
	say("cannot %s '%s': %s", what, path, strerror(errno));
	return MEMBER_FAILED;
}

static enum member_result worse(enum member_result a, enum member_result b)
{
	return a > b ? a : b;
}

static enum member_result write_header(struct writer *writer, struct pax *pax)
{
	return pax_write(pax, &writer->stream) ? MEMBER_WRITTEN : broken(writer);
}

static enum member_result add_attributes(struct pax *pax, int at, const char *name,
					 const char *path)
{
	if (attributes_each(at, name, add_attribute, pax))
		return MEMBER_WRITTEN;
	return cannot("read the extended attributes of", path);
}

static bool read_target(int at, const char *name, char target[PATH_MAX])
{
	ssize_t length = readlinkat(at, name, target, PATH_MAX - 1);

	if (length < 0)
		return false;
	target[length] = '\0';
	return true;
}

/* The name of a directory ends with a slash. */
static char *folder_name(const char *path)
{
	const char *name = member_name(path);
	char *with_slash;

	if (asprintf(&with_slash, "%s%s", name, name[strlen(name) - 1] == '/' ? "" : "/") < 0)
		need(NULL);
	return with_slash;
}

enum member_result member_write(struct writer *writer, int at, const char *name,
				const char *path, const struct stat *status)
{
	enum member_result result;
	char target[PATH_MAX];
	char *folder = NULL;
	struct pax pax;

	if (S_ISLNK(status->st_mode) && !read_target(at, name, target))
		return cannot("read", path);
	if (S_ISDIR(status->st_mode))
		folder = folder_name(path);
	make_member(writer, folder ? folder : member_name(path), status, &pax);
	if (S_ISLNK(status->st_mode))
		pax.link = target;
	result = add_attributes(&pax, at, name, path);
	result = worse(result, write_header(writer, &pax));
	pax_free(&pax);
	free(folder);
	return result;
}

enum member_result member_write_link(struct writer *writer, const char *path,
				     const char *target, const struct stat *status)
{
	enum member_result result;
	struct pax pax;

	make_member(writer, member_name(path), status, &pax);
	pax.type = '1';
	pax.link = target;
	result = write_header(writer, &pax);
	pax_free(&pax);
	return result;
}

/* --- data ------------------------------------------------------------------ */

static bool put_zeros(struct writer *writer, off_t count)
{
	off_t part;

	for (; count; count -= part) {
		part = count < (off_t)sizeof(zeros) ? count : (off_t)sizeof(zeros);
		if (!stream_put(&writer->stream, zeros, (size_t)part))
			return false;
	}
	return true;
}

/* The header has promised so many bytes: what cannot be read is zeros. */
static enum member_result put_rest(struct writer *writer, const char *path, off_t count,
				   ssize_t got)
{
	enum member_result result = MEMBER_CHANGED;

	if (got < 0)
		result = cannot("read", path);
	else
		say("'%s' was shortened while it was read: %lld zeros are at its end",
		    path, (long long)count);
	return put_zeros(writer, count) ? result : broken(writer);
}

/* @left: bytes of all parts from here on */
static enum member_result put_part(struct writer *writer, int fd, const char *path,
				   off_t from, off_t end, off_t left)
{
	size_t room;
	ssize_t got;
	char *to;

	for (; from < end; from += got, left -= got) {
		to = stream_room(&writer->stream, &room);
		if (!to)
			return broken(writer);
		if ((off_t)room > end - from)
			room = (size_t)(end - from);
		got = pread(fd, to, room, from);
		if (got <= 0)
			return put_rest(writer, path, left, got);
		stream_took(&writer->stream, (size_t)got);
		progress_step((uint64_t)got);
	}
	return MEMBER_WRITTEN;
}

static enum member_result put_whole(struct writer *writer, int fd, const char *path,
				    const struct stat *status, struct pax *pax)
{
	enum member_result result = write_header(writer, pax);

	if (result == MEMBER_WRITTEN)
		result = put_part(writer, fd, path, 0, status->st_size, status->st_size);
	return result;
}

/* --- files with holes ------------------------------------------------------ */

/* Parts with data, and the text of GNU tar's format 1.0 that is before them. */
struct map {
	struct part {
		off_t begin;
		off_t length;
	} *parts;
	size_t count;
	off_t bytes;
	char *text;
	size_t length;
};

static void add_part(struct map *map, off_t begin, off_t length)
{
	map->parts = need(reallocarray(map->parts, map->count + 1, sizeof(*map->parts)));
	map->parts[map->count++] = (struct part){ begin, length };
	map->bytes += length;
}

static void make_map(struct map *map, int fd, off_t size)
{
	off_t begin, end = 0;
	FILE *out;

	*map = (struct map){ 0 };
	for (begin = data_next(fd, 0, size, &end); begin < size;
	     begin = data_next(fd, end, size, &end))
		add_part(map, begin, end - begin);
	/* a part without bytes says how long the file is */
	if (!map->count || map->parts[map->count - 1].begin + map->parts[map->count - 1].length < size)
		add_part(map, size, 0);
	out = need(open_memstream(&map->text, &map->length));
	fprintf(out, "%zu\n", map->count);
	for (size_t i = 0; i < map->count; i++)
		fprintf(out, "%lld\n%lld\n", (long long)map->parts[i].begin,
			(long long)map->parts[i].length);
	for (long at = ftell(out); at % PAX_BLOCK; at++)
		fputc(0, out);
	if (fclose(out))
		need(NULL);
}

static enum member_result put_parts(struct writer *writer, int fd, const char *path,
				    const struct map *map)
{
	enum member_result result = MEMBER_WRITTEN;
	off_t left = map->bytes;

	if (!stream_put(&writer->stream, map->text, map->length))
		return broken(writer);
	for (size_t i = 0; i < map->count && result == MEMBER_WRITTEN; i++) {
		const struct part *part = &map->parts[i];

		result = put_part(writer, fd, path, part->begin, part->begin + part->length, left);
		left -= part->length;
	}
	return result;
}

/* Those who do not know the format extract what is in the archive, under this name. */
static char *name_of_sparse(const char *path)
{
	const char *name = member_name(path), *slash = strrchr(name, '/');
	int length = slash ? (int)(slash - name) + 1 : 0;
	char *other;

	if (asprintf(&other, "%.*sGNUSparseFile.0/%s", length, name, name + length) < 0)
		need(NULL);
	return other;
}

static enum member_result put_sparse(struct writer *writer, int fd, const char *path,
				     const struct stat *status, struct pax *pax)
{
	const char *name = pax->name;
	char *other = name_of_sparse(path);
	enum member_result result;
	struct map map;

	make_map(&map, fd, status->st_size);
	pax_add(pax, "GNU.sparse.major", "1", 1);
	pax_add(pax, "GNU.sparse.minor", "0", 1);
	pax_add(pax, "GNU.sparse.name", name, strlen(name));
	pax_add_number(pax, "GNU.sparse.realsize", (uint64_t)status->st_size);
	pax->name = other;
	pax->size = map.length + (uint64_t)map.bytes;
	result = write_header(writer, pax);
	if (result == MEMBER_WRITTEN)
		result = put_parts(writer, fd, path, &map);
	free(map.parts);
	free(map.text);
	free(other);
	return result;
}

enum member_result member_write_file(struct writer *writer, int fd, const char *path,
				     const struct stat *status)
{
	enum member_result result;
	struct pax pax;

	make_member(writer, member_name(path), status, &pax);
	pax.size = (uint64_t)status->st_size;
	result = add_attributes(&pax, fd, "", path);
	if (data_is_sparse(status))
		result = worse(result, put_sparse(writer, fd, path, status, &pax));
	else
		result = worse(result, put_whole(writer, fd, path, status, &pax));
	if (result != MEMBER_FATAL && !pax_fill(&writer->stream, pax.size))
		result = broken(writer);
	pax_free(&pax);
	return result;
}
