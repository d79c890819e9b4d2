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
 * @archive: libarchive's archive
 * @names: cache of user and group names
 * @member: libarchive's entry, reused for each member
 * @buffer: DATA_CHUNK bytes
 * @is_broken: writing has failed
 */
struct writer {
	struct archive *archive;
	struct archive *names;
	struct archive_entry *member;
	char *buffer;
	bool is_broken;
};

/* Result of a member, in order of severity; also tar's exit codes. */
enum member_result {
	MEMBER_WRITTEN = 0,
	MEMBER_CHANGED = 1,	/* archived, but changed while being read */
	MEMBER_FAILED = 2,	/* not archived, or not completely */
	MEMBER_FATAL = 3,	/* the archive cannot be written */
};

/* Start an archive that is written to @fd; exits on failure. */
void writer_begin(struct writer *writer, int fd);

/* Finish the archive.  Prints a message and returns false on failure. */
bool writer_end(struct writer *writer);

/* The name in the archive: relative, without ".."; prints once what is removed. */
const char *member_name(const char *path);

/**
 * member_write() - write a member that is not a regular file
 * @at, @name: the file
 * @path: its path, for its name in the archive, and for messages
 * @status: its status
 */
enum member_result member_write(struct writer *writer, int at, const char *name,
				const char *path, const struct stat *status);

/* Write a regular file with its data, open as @fd. */
enum member_result member_write_file(struct writer *writer, int fd, const char *path,
				     const struct stat *status);

/* Write another name of a file; @target is its name in the archive. */
enum member_result member_write_link(struct writer *writer, const char *path,
				     const char *target, const struct stat *status);

#endif
