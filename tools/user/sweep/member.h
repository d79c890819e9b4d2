/* SPDX-License-Identifier: GPL-2.0 */
/* Members of an archive. */
#ifndef SWEEP_MEMBER_H
#define SWEEP_MEMBER_H

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <sys/stat.h>

/**
 * struct writer - an archive that is being written
 * @archive: libarchive's
 * @names: of users and groups
 * @member: what is written, used again
 * @buffer: DATA_CHUNK bytes
 * @is_broken: it could not be written
 */
struct writer {
	struct archive *archive;
	struct archive *names;
	struct archive_entry *member;
	char *buffer;
	bool is_broken;
};

/* What became of a member; the worse, the greater, and tar's exit codes. */
enum member_result {
	MEMBER_WRITTEN = 0,
	MEMBER_CHANGED = 1,	/* it is there, but was changed while being read */
	MEMBER_FAILED = 2,	/* it is not there, or not all of it */
	MEMBER_FATAL = 3,	/* the archive cannot be written */
};

/* Begin an archive that goes to @fd; ends the program if that cannot be. */
void writer_begin(struct writer *writer, int fd);

/* End it.  Returns false if it cannot be written, and says so. */
bool writer_end(struct writer *writer);

/* The name in the archive: relative, and not upwards; says once if that is another. */
const char *member_name(const char *path);

/**
 * member_write() - write a member that is no regular file
 * @at, @name: where it is
 * @path: its path, for its name in the archive, and for messages
 * @status: its status
 */
enum member_result member_write(struct writer *writer, int at, const char *name,
				const char *path, const struct stat *status);

/* Write a regular file, with its data: @fd is of it. */
enum member_result member_write_file(struct writer *writer, int fd, const char *path,
				     const struct stat *status);

/* Write another name of a file that is there: @target is a name in the archive. */
enum member_result member_write_link(struct writer *writer, const char *path,
				     const char *target, const struct stat *status);

#endif
