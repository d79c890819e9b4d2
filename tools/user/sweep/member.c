// SPDX-License-Identifier: GPL-2.0
/* Write the members of an archive with libarchive, in the pax format. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attributes.h"
#include "data.h"
#include "member.h"
#include "program.h"

/* Block size for tapes, where a write is a record; elsewhere several are written at once. */
#define RECORD 10240
#define RECORDS 6
/* Size of a pipe: several such writes, so that the reader is woken less often. */
#define RECORDS_OF_PIPE 25
#define PIPE_BYTES (1 << 20)

/* Holes are passed as zeros, which libarchive leaves out. */
static const char zeros[DATA_CHUNK];

/* --- the archive ----------------------------------------------------------- */

static int bytes_at_once(int fd)
{
	struct stat status;

	if (fstat(fd, &status) || S_ISCHR(status.st_mode))
		return RECORD;
	if (S_ISFIFO(status.st_mode) && fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES)
		return RECORD * RECORDS_OF_PIPE;
	return RECORD * RECORDS;
}

void writer_begin(struct writer *writer, int fd)
{
	struct archive *archive = need(archive_write_new());

	/* names are bytes; UTF-8 requires no mark in the archive */
	setlocale(LC_CTYPE, "C.UTF-8");
	writer->archive = archive;
	writer->is_broken = false;
	writer->names = need(archive_read_disk_new());
	writer->member = need(archive_entry_new2(archive));
	writer->buffer = need(malloc(DATA_CHUNK));
	need(archive_read_disk_set_standard_lookup(writer->names) == ARCHIVE_OK ? archive : NULL);
	/* SCHILY: the header for extended attributes that tar knows */
	if (archive_write_set_format_pax(archive) != ARCHIVE_OK ||
	    archive_write_set_format_option(archive, "pax", "xattrheader", "SCHILY") != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(archive, bytes_at_once(fd)) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(archive, RECORD) != ARCHIVE_OK ||
	    archive_write_open_fd(archive, fd) != ARCHIVE_OK) {
		say("cannot write the archive: %s", archive_error_string(archive));
		exit(exit_trouble);
	}
}

/* Report a failure once: closing the archive fails again. */
static void say_broken(struct writer *writer)
{
	int error = archive_errno(writer->archive);

	if (!writer->is_broken)
		say("cannot write the archive: %s", error > 0 ? strerror(error) :
		    archive_error_string(writer->archive));
	writer->is_broken = true;
}

bool writer_end(struct writer *writer)
{
	bool good = archive_write_close(writer->archive) == ARCHIVE_OK;

	if (!good)
		say_broken(writer);
	archive_entry_free(writer->member);
	archive_write_free(writer->archive);
	archive_read_free(writer->names);
	free(writer->buffer);
	return good;
}

/* --- names ----------------------------------------------------------------- */

/* Keep the part after the last "..", as tar does. */
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
		say("removing '%.*s' from the beginning of names", (int)(name - path), path);
		said = true;
	}
	return *name ? name : ".";
}

/* --- members --------------------------------------------------------------- */

struct taken {
	struct archive_entry *member;
	const char *path;
	bool is_all;
};

/* libarchive writes other characters as %XX, which tar only decodes for "%" and "=". */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (*name < '!' || *name > '~')
			return false;
	return true;
}

static bool add_attribute(const char *name, const void *value, size_t size, void *user)
{
	struct taken *taken = user;

	if (is_plain(name)) {
		archive_entry_xattr_add_entry(taken->member, name, value, size);
		return true;
	}
	say("'%s': the extended attribute '%s' cannot be archived: its name is not plain ASCII",
	    taken->path, name);
	taken->is_all = false;
	return true;
}

/* libarchive 3.6 writes fractions of a second before 1970 with the wrong sign. */
static long nanoseconds(const struct timespec *time)
{
	return time->tv_sec < 0 ? 0 : time->tv_nsec;
}

/* Keep only the time of the last change; other times and inode numbers belong to this disk. */
static struct archive_entry *make_member(struct writer *writer, const char *path,
					 const struct stat *status)
{
	struct archive_entry *member = archive_entry_clear(writer->member);

	archive_entry_set_pathname(member, member_name(path));
	archive_entry_set_filetype(member, status->st_mode & S_IFMT);
	archive_entry_set_perm(member, status->st_mode & 07777);
	archive_entry_set_uid(member, status->st_uid);
	archive_entry_set_gid(member, status->st_gid);
	archive_entry_set_uname(member, archive_read_disk_uname(writer->names, status->st_uid));
	archive_entry_set_gname(member, archive_read_disk_gname(writer->names, status->st_gid));
	archive_entry_set_mtime(member, status->st_mtim.tv_sec, nanoseconds(&status->st_mtim));
	if (S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode))
		archive_entry_set_rdev(member, status->st_rdev);
	return member;
}

static enum member_result write_header(struct writer *writer, struct archive_entry *member,
				       const char *path)
{
	int result = archive_write_header(writer->archive, member);

	if (result == ARCHIVE_FATAL) {
		say_broken(writer);
		return MEMBER_FATAL;
	}
	if (result == ARCHIVE_FAILED) {
		say("cannot archive '%s': %s", path, archive_error_string(writer->archive));
		return MEMBER_FAILED;
	}
	/* a warning means a name that is not UTF-8, which is written anyway */
	return MEMBER_WRITTEN;
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

static enum member_result add_attributes(struct archive_entry *member, int at,
					 const char *name, const char *path)
{
	struct taken taken = { .member = member, .path = path, .is_all = true };

	if (attributes_each(at, name, add_attribute, &taken))
		return taken.is_all ? MEMBER_WRITTEN : MEMBER_FAILED;
	return cannot("read the extended attributes of", path);
}

static bool add_target(struct archive_entry *member, int at, const char *name)
{
	char target[PATH_MAX];

	if (!data_read_target(at, name, target))
		return false;
	archive_entry_set_symlink(member, target);
	return true;
}

enum member_result member_write(struct writer *writer, int at, const char *name,
				const char *path, const struct stat *status)
{
	struct archive_entry *member = make_member(writer, path, status);
	enum member_result result;

	if (S_ISLNK(status->st_mode) && !add_target(member, at, name))
		return cannot("read", path);
	result = add_attributes(member, at, name, path);
	return worse(result, write_header(writer, member, path));
}

enum member_result member_write_link(struct writer *writer, const char *path,
				     const char *target, const struct stat *status)
{
	struct archive_entry *member = make_member(writer, path, status);

	archive_entry_set_hardlink(member, target);
	archive_entry_unset_size(member);
	return write_header(writer, member, path);
}

/* --- data ------------------------------------------------------------------ */

static void add_parts(struct archive_entry *member, int fd, off_t size)
{
	bool has_data = false;
	off_t begin, end = 0;

	for (begin = data_next(fd, 0, size, &end); begin < size;
	     begin = data_next(fd, end, size, &end)) {
		archive_entry_sparse_add_entry(member, begin, end - begin);
		has_data = true;
	}
	/* the count is also zero if one part is the whole file */
	if (!has_data)
		archive_entry_sparse_add_entry(member, 0, 0);
}

static bool put(struct writer *writer, const char *bytes, off_t count)
{
	ssize_t done;

	for (; count; count -= done) {
		done = archive_write_data(writer->archive, bytes,
					  (size_t)(count < DATA_CHUNK ? count : DATA_CHUNK));
		if (done <= 0) {
			say_broken(writer);
			return false;
		}
		if (bytes != zeros)
			bytes += done;
	}
	return true;
}

/* The header has the number of bytes: fill up with zeros. */
static enum member_result put_rest(struct writer *writer, const char *path, off_t count,
				   ssize_t got)
{
	enum member_result result = MEMBER_CHANGED;

	if (got < 0)
		result = cannot("read", path);
	else
		say("'%s' was truncated while it was read: %lld zeros are at its end",
		    path, (long long)count);
	return put(writer, zeros, count) ? result : MEMBER_FATAL;
}

static enum member_result put_part(struct writer *writer, int fd, const char *path,
				   off_t from, off_t end, off_t size)
{
	ssize_t got;

	while (from < end) {
		got = pread(fd, writer->buffer,
			    (size_t)(end - from < DATA_CHUNK ? end - from : DATA_CHUNK), from);
		if (got <= 0)
			return put_rest(writer, path, size - from, got);
		if (!put(writer, writer->buffer, got))
			return MEMBER_FATAL;
		progress_step((uint64_t)got);
		from += got;
	}
	return MEMBER_WRITTEN;
}

/* Write the parts listed in the header, with the holes between them. */
static enum member_result put_sparse(struct writer *writer, int fd, const char *path,
				     struct archive_entry *member, off_t size)
{
	enum member_result result = MEMBER_WRITTEN;
	la_int64_t begin, length;
	off_t at = 0;

	archive_entry_sparse_reset(member);
	while (archive_entry_sparse_next(member, &begin, &length) == ARCHIVE_OK) {
		if (!put(writer, zeros, begin - at))
			return MEMBER_FATAL;
		at = begin + length;
		result = put_part(writer, fd, path, begin, at, size);
		if (result != MEMBER_WRITTEN)
			return result;
	}
	return put(writer, zeros, size - at) ? MEMBER_WRITTEN : MEMBER_FATAL;
}

static enum member_result put_data(struct writer *writer, int fd, const char *path,
				   struct archive_entry *member, off_t size)
{
	if (archive_entry_sparse_count(member))
		return put_sparse(writer, fd, path, member, size);
	return put_part(writer, fd, path, 0, size, size);
}

enum member_result member_write_file(struct writer *writer, int fd, const char *path,
				     const struct stat *status)
{
	struct archive_entry *member = make_member(writer, path, status);
	enum member_result attributes = add_attributes(member, fd, "", path), result;

	archive_entry_set_size(member, status->st_size);
	if (data_is_sparse(status))
		add_parts(member, fd, status->st_size);
	result = write_header(writer, member, path);
	if (result == MEMBER_WRITTEN)
		result = put_data(writer, fd, path, member, status->st_size);
	return worse(attributes, result);
}
