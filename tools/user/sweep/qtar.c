// SPDX-License-Identifier: GPL-2.0
/* qtar - create archives, reading in the order of the disk */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "links.h"
#include "member.h"
#include "output.h"
#include "program.h"

const char program[] = "qtar";
const int exit_trouble = MEMBER_FAILED;

static const char help[] =
	"usage: qtar -c [OPTION...] [-f ARCHIVE] [-C FOLDER] PATH...\n"
	"Create a tar archive (pax), with files in the order of their data on the disk. tar\n"
	"lists and extracts it; for extended attributes and ACLs use tar --xattrs\n"
	"--xattrs-include='*' -x.\n\n"
	"  -c, --create           create an archive\n"
	"  -f, --file ARCHIVE     archive to write (default, and for -: standard output)\n"
	"  -C, --directory FOLDER the following paths are relative to FOLDER\n"
	"  -v, --verbose          list the files archived\n"
	"      --sort ORDER       name: sort by name, reproducible; none: use --order\n"
	COMMON_HELP;

enum { OPTION_SORT = OPTION_OWN };

static const struct option long_options[] = {
	COMMON_LONG,
	{ "create", no_argument, NULL, 'c' },
	{ "file", required_argument, NULL, 'f' },
	{ "directory", required_argument, NULL, 'C' },
	{ "sort", required_argument, NULL, OPTION_SORT },
	{ NULL, 0, NULL, 0 },
};

/* A path, or the folder of the paths that follow (-C). */
struct operand {
	const char *text;
	bool is_folder;
};

struct qtar {
	struct common common;
	struct writer writer;
	struct links links;
	struct output output;
	struct operand *operands;
	size_t nr_operands;
	const char *archive;	/* NULL: standard output */
	char *real;
	bool create;
	bool by_name;
	struct stat old;	/* the existing file with the archive's name */
	struct stat now;	/* the file being written */
	enum member_result result;
};

/* Record the result of a member.  Returns the value for the walk: negative to end it. */
static int note(struct qtar *qtar, enum member_result result)
{
	if (result > qtar->result)
		qtar->result = result;
	return result == MEMBER_FATAL ? -ECANCELED : PLATTER_NO;
}

static void list(const struct qtar *qtar, const char *path, bool is_folder)
{
	progress_step(0);
	if (!qtar->common.verbose)
		return;
	fprintf(qtar->archive ? stdout : stderr, "%s%s\n", path,
		is_folder && path[strlen(path) - 1] != '/' ? "/" : "");
}

static const char *path_of(struct platter_entry *entry)
{
	return need((void *)platter_path(entry));
}

/* A file that vanished counts as changed, not as failed, unless it is an operand. */
static int failed(struct platter_entry *entry, int error, void *user)
{
	say_cannot("read", entry, error);
	return note(user, error == ENOENT && platter_depth(entry) ? MEMBER_CHANGED :
		    MEMBER_FAILED);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode;
}

/* Whether a file is the archive itself. */
static bool is_archive(const struct qtar *qtar, const struct stat *status)
{
	return is_same(&qtar->old, status) || is_same(&qtar->now, status);
}

static int write_other(struct qtar *qtar, struct platter_entry *entry,
		       const struct stat *status)
{
	const char *path = path_of(entry);
	int at = platter_dirfd(entry);

	if (at == -1)
		return failed(entry, errno, qtar);
	list(qtar, path, S_ISDIR(status->st_mode));
	return note(qtar, member_write(&qtar->writer, at, platter_name(entry), path, status));
}

/*
 * A directory follows its contents in the archive: tar sets its mode and times
 * at the first member outside of it, and with files in the order of the disk
 * more of its contents would follow.
 */
static int leave(struct platter_entry *entry, void *user)
{
	const struct stat *status = platter_stat(entry);
	struct qtar *qtar = user;

	if (qtar->result == MEMBER_FATAL)
		return PLATTER_NO;
	return status ? write_other(qtar, entry, status) : failed(entry, errno, user);
}

static int write_link(struct qtar *qtar, const char *path, const struct linked *linked,
		      const struct stat *status)
{
	list(qtar, path, false);
	return note(qtar, member_write_link(&qtar->writer, path, linked->target, status));
}

/*
 * One of several names of a file: the first one is written as the file, the
 * others as links to it.  They have the same place on the disk, so they follow
 * each other, and their directories are still open.
 */
static int file_with_names(struct qtar *qtar, struct platter_entry *entry,
			   const struct stat *status)
{
	struct linked *linked = links_find(&qtar->links, status);
	int result;

	if (linked->target)
		return write_link(qtar, path_of(entry), linked, status);
	if (S_ISREG(status->st_mode))
		return PLATTER_YES;
	result = write_other(qtar, entry, status);
	if (result >= 0)
		linked->target = need(strdup(member_name(path_of(entry))));
	return result;
}

static int file(struct platter_entry *entry, void *user)
{
	const struct stat *status = platter_stat(entry);
	struct qtar *qtar = user;

	if (!status)
		return failed(entry, errno, user);
	if (S_ISSOCK(status->st_mode)) {
		say("'%s' is a socket, which an archive cannot contain: left out", path_of(entry));
		return PLATTER_NO;
	}
	if (is_archive(qtar, status)) {
		say("'%s' is the archive: left out", path_of(entry));
		return PLATTER_NO;
	}
	if (status->st_nlink > 1)
		return file_with_names(qtar, entry, status);
	return S_ISREG(status->st_mode) ? PLATTER_YES : write_other(qtar, entry, status);
}

/* Write a file, or a link to it if it was written under another name. */
static int write_file(struct qtar *qtar, int fd, const char *path, const struct stat *status)
{
	struct linked *linked;

	if (status->st_nlink < 2) {
		list(qtar, path, false);
		return note(qtar, member_write_file(&qtar->writer, fd, path, status));
	}
	linked = links_find(&qtar->links, status);
	if (linked->target)
		return write_link(qtar, path, linked, status);
	linked->target = need(strdup(member_name(path)));
	list(qtar, path, false);
	return note(qtar, member_write_file(&qtar->writer, fd, path, status));
}

static int data(struct platter_entry *entry, void *user)
{
	int fd = platter_open(entry), result;
	const char *path = path_of(entry);
	struct stat status;

	if (fd < 0)
		return failed(entry, errno, user);
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		say("'%s' was replaced before it was read: left out", path);
		result = note(user, MEMBER_CHANGED);
	} else {
		result = write_file(user, fd, path, &status);
	}
	close(fd);
	return result;
}

/* --- the archive ----------------------------------------------------------- */

static void __attribute__((noreturn)) cannot_create(const struct qtar *qtar)
{
	say("cannot create '%s': %s", qtar->archive, strerror(errno));
	exit(MEMBER_FAILED);
}

/* Write to an existing device or FIFO; replace an existing file when the archive is complete. */
static int open_archive(struct qtar *qtar)
{
	char *real, *copy;
	int folder, fd;

	if (!qtar->archive)
		return STDOUT_FILENO;
	if (!stat(qtar->archive, &qtar->old) && !S_ISREG(qtar->old.st_mode)) {
		fd = open(qtar->archive, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			cannot_create(qtar);
		return fd;
	}
	/* the file behind a link */
	real = realpath(qtar->archive, NULL);
	if (real)
		qtar->archive = qtar->real = real;
	copy = need(strdup(qtar->archive));
	folder = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (folder < 0 || !output_begin(&qtar->output, folder))
		cannot_create(qtar);
	return qtar->output.fd;
}

/* Give the complete archive its name, with the mode that open() would have set. */
static void end_archive(struct qtar *qtar)
{
	char *copy;
	mode_t mask;

	if (!writer_end(&qtar->writer))
		qtar->result = MEMBER_FATAL;
	if (qtar->output.fd < 0)
		return;
	if (qtar->result == MEMBER_FATAL) {
		output_abort(&qtar->output);
		return;
	}
	mask = umask(0);
	umask(mask);
	copy = need(strdup(qtar->archive));
	if (fchmod(qtar->output.fd, qtar->old.st_mode ? qtar->old.st_mode & 07777 : 0666 & ~mask) ||
	    !output_commit(&qtar->output, basename(copy))) {
		say("cannot write '%s': %s", qtar->archive, strerror(errno));
		output_abort(&qtar->output);
		qtar->result = MEMBER_FATAL;
	}
	free(copy);
}

/* --- the command line ------------------------------------------------------ */

static void add_operand(struct qtar *qtar, const char *text, bool is_folder)
{
	qtar->operands = need(reallocarray(qtar->operands, qtar->nr_operands + 1,
					   sizeof(*qtar->operands)));
	qtar->operands[qtar->nr_operands++] = (struct operand){ text, is_folder };
}

static void parse_sort(struct qtar *qtar, const char *text)
{
	qtar->by_name = !strcmp(text, "name");
	if (!qtar->by_name && strcmp(text, "none"))
		bad_use("--sort: unknown order '%s': use name or none", text);
}

static void parse(struct qtar *qtar, int argc, char **argv)
{
	int option;

	opterr = 0;
	/* '-': keep the order of options and paths, since -C applies to the paths after it */
	while ((option = getopt_long(argc, argv, "-:" COMMON_SHORT "cf:C:",
				     long_options, NULL)) != -1)
		switch (option) {
		case 1:
			add_operand(qtar, optarg, false);
			break;
		case 'C':
			add_operand(qtar, optarg, true);
			break;
		case 'c':
			qtar->create = true;
			break;
		case 'f':
			qtar->archive = strcmp(optarg, "-") ? optarg : NULL;
			break;
		case OPTION_SORT:
			parse_sort(qtar, optarg);
			break;
		default:
			common_option(&qtar->common, option, help, argv);
		}
	for (; optind < argc; optind++)
		add_operand(qtar, argv[optind], false);
}

static void check(const struct qtar *qtar)
{
	bool paths = false;

	for (size_t i = 0; i < qtar->nr_operands; i++)
		paths |= !qtar->operands[i].is_folder;
	if (!qtar->create)
		bad_use("-c is missing: qtar only creates archives; use tar to list and extract them");
	if (!paths)
		bad_use("no path to archive (see qtar --help)");
	if (!qtar->archive && isatty(STDOUT_FILENO))
		bad_use("refusing to write an archive to a terminal: use -f FILE");
}

/* Returns false if the program cannot continue. */
static bool archive_paths(struct qtar *qtar, const char *const *paths, size_t count)
{
	int result = platter_walk(paths, count, &qtar->common.walk);

	if (result < 0) {
		if (result != -ECANCELED)
			walk_failed(result);
		qtar->result = MEMBER_FATAL;
	}
	return qtar->result != MEMBER_FATAL;
}

static bool change_folder(struct qtar *qtar, const char *folder)
{
	if (!chdir(folder))
		return true;
	say("cannot change to '%s': %s", folder, strerror(errno));
	qtar->result = MEMBER_FATAL;
	return false;
}

/* Walk the paths up to the next -C at once. */
static void archive_operands(struct qtar *qtar)
{
	const char **paths = need(calloc(qtar->nr_operands, sizeof(*paths)));
	size_t count = 0;
	bool good = true;

	for (size_t i = 0; i < qtar->nr_operands && good; i++) {
		if (!qtar->operands[i].is_folder) {
			paths[count++] = qtar->operands[i].text;
			continue;
		}
		good = (!count || archive_paths(qtar, paths, count)) &&
		       change_folder(qtar, qtar->operands[i].text);
		count = 0;
	}
	if (good && count)
		archive_paths(qtar, paths, count);
	free(paths);
}

int main(int argc, char **argv)
{
	struct qtar qtar = {
		.common.walk = {
			.file = file, .data = data, .leave = leave, .error = failed,
		},
		.output.fd = -1,
	};
	int fd;

	parse(&qtar, argc, argv);
	check(&qtar);
	if (qtar.by_name)
		qtar.common.walk.order = PLATTER_NAME;
	qtar.common.walk.user = &qtar;
	output_handle_signals();
	fd = open_archive(&qtar);
	fstat(fd, &qtar.now);
	writer_begin(&qtar.writer, fd);
	progress_begin(&qtar.common, qtar.common.verbose);
	archive_operands(&qtar);
	end_archive(&qtar);
	progress_end();
	links_free(&qtar.links);
	free(qtar.operands);
	free(qtar.real);
	if (!output_is_written())
		return MEMBER_FAILED;
	return qtar.result > MEMBER_FAILED ? MEMBER_FAILED : (int)qtar.result;
}
