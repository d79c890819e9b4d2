// SPDX-License-Identifier: GPL-2.0
/* qcp - copy trees, reading in the order of the disk */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"
#include "destination.h"
#include "links.h"
#include "output.h"
#include "program.h"

const char program[] = "qcp";
const int exit_trouble = EXIT_FAILURE;

static const char help[] =
	"usage: qcp -r [OPTION...] SOURCE... DESTINATION\n"
	"Copy files and directories as cp -a does: with mode, owner, times, extended attributes,\n"
	"ACLs, links and holes. Files are read in the order of their data on the disk; a copy\n"
	"gets its name when it is complete.\n\n"
	"  -r, -R, --recursive    copy directories with their contents\n"
	"  -v, --verbose          list the files copied\n"
	COMMON_HELP;

static const struct option long_options[] = {
	COMMON_LONG,
	{ "recursive", no_argument, NULL, 'r' },
	{ NULL, 0, NULL, 0 },
};

/* A source, and the path of its copy. */
struct operand {
	const char *source;
	char *copy;
	bool has_folder;	/* @dev and @ino are set */
	dev_t dev;
	ino_t ino;
};

struct qcp {
	struct common common;
	struct links links;
	struct operand *operands;
	size_t nr_operands;
	bool recursive;
	bool failed;
};

/* --- paths ----------------------------------------------------------------- */

static struct operand *operand_of(struct qcp *qcp, struct platter_entry *entry)
{
	size_t i = 0;

	if (platter_depth(entry))
		return platter_parent_attached(entry);
	while (strcmp(qcp->operands[i].source, platter_name(entry)))
		i++;
	return &qcp->operands[i];
}

/* The path of a copy; the caller frees it. */
static char *copy_of(const struct operand *operand, const char *path)
{
	const char *below = path + strlen(operand->source);
	char *copy;

	if (asprintf(&copy, "%s%s%s", operand->copy, *below && *below != '/' ? "/" : "", below) < 0)
		need(NULL);
	return copy;
}

static const char *path_of(struct platter_entry *entry)
{
	return need((void *)platter_path(entry));
}

/* --- reports --------------------------------------------------------------- */

static int failed(struct platter_entry *entry, int error, void *user)
{
	struct qcp *qcp = user;

	say_cannot("read", entry, error);
	qcp->failed = true;
	return PLATTER_NO;
}

/* Record the result of a copy; on failure errno is set. */
static bool is_done(struct qcp *qcp, const char *path, const char *copy, failure why)
{
	if (why) {
		say("cannot %s '%s': %s", why, path, strerror(errno));
		qcp->failed = true;
	} else if (qcp->common.verbose) {
		printf("'%s' -> '%s'\n", path, copy);
	}
	progress_step(0);
	return !why;
}

static int refuse(struct qcp *qcp, const char *path, const char *why)
{
	say("cannot copy '%s': %s", path, why);
	qcp->failed = true;
	return PLATTER_NO;
}

/* --- directories ----------------------------------------------------------- */

/* Create a directory or use the existing one; only its owner has access until it is complete. */
static failure make_folder(const char *copy, struct stat *status)
{
	const char *name;
	int folder = destination_folder(copy, &name);

	if (folder < 0 || (mkdirat(folder, name, 0700) && errno != EEXIST) ||
	    fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW))
		return "create the copy of";
	if (!S_ISDIR(status->st_mode)) {
		errno = ENOTDIR;
		return "replace an existing file with the copy of";
	}
	return NULL;
}

/* The copy may be inside the directory that is copied: do not copy it too. */
static bool is_own_copy(const struct operand *operand, const struct stat *status)
{
	return operand->has_folder && operand->dev == status->st_dev &&
	       operand->ino == status->st_ino;
}

static int make_copy(struct qcp *qcp, struct operand *operand, struct platter_entry *entry,
		     const struct stat *status)
{
	const char *path = path_of(entry);
	char *copy = copy_of(operand, path);
	struct stat made;
	bool done = is_done(qcp, path, copy, make_folder(copy, &made));

	free(copy);
	if (!done)
		return PLATTER_NO;
	if (!platter_depth(entry)) {
		operand->has_folder = true;
		operand->dev = made.st_dev;
		operand->ino = made.st_ino;
		if (is_own_copy(operand, status))
			return refuse(qcp, path, "it would be its own copy");
	}
	platter_attach(entry, operand);
	return PLATTER_YES;
}

static int directory(struct platter_entry *entry, void *user)
{
	struct qcp *qcp = user;
	struct operand *operand = operand_of(qcp, entry);
	const struct stat *status = platter_stat(entry);

	if (!status)
		return failed(entry, errno, user);
	if (!qcp->recursive)
		return refuse(qcp, path_of(entry), "it is a directory: use -r");
	if (is_own_copy(operand, status))
		return refuse(qcp, path_of(entry), "it is the copy itself");
	return make_copy(qcp, operand, entry, status);
}

static failure finish_folder(struct platter_entry *entry, const struct stat *status,
			     const char *copy)
{
	const char *name;
	int folder = destination_folder(copy, &name), at = platter_dirfd(entry), fd;
	failure why;

	if (folder < 0 || at == -1)
		return "finish the copy of";
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return "finish the copy of";
	why = copy_attributes(at, platter_name(entry), status, fd, "", true);
	close(fd);
	return why;
}

/* The contents are complete: set the attributes that writing to it would change. */
static int leave(struct platter_entry *entry, void *user)
{
	const struct operand *operand = platter_attached(entry);
	const struct stat *status = platter_stat(entry);
	const char *path = path_of(entry);
	struct qcp *qcp = user;
	failure why;
	char *copy;

	if (!status)
		return failed(entry, errno, user);
	copy = copy_of(operand, path);
	why = finish_folder(entry, status, copy);
	if (why) {
		say("cannot %s '%s': %s", why, path, strerror(errno));
		qcp->failed = true;
	}
	free(copy);
	return PLATTER_YES;
}

/* --- files ----------------------------------------------------------------- */

static failure link_to(const char *target, const char *copy)
{
	const char *name, *target_name;
	int folder = destination_folder(copy, &name);
	int target_folder = destination_open(target, &target_name);
	failure why = "link the copy of";

	if (folder >= 0 && target_folder >= 0)
		why = copy_link(target_folder, target_name, folder, name);
	if (target_folder >= 0)
		close(target_folder);
	return why;
}

static void make_link(struct qcp *qcp, const struct linked *linked,
		      const struct operand *operand, const char *path)
{
	char *copy = copy_of(operand, path);

	is_done(qcp, path, copy, link_to(linked->target, copy));
	free(copy);
}

static void copy_other(struct qcp *qcp, struct platter_entry *entry, const struct stat *status)
{
	const char *path = path_of(entry), *name;
	char *copy = copy_of(operand_of(qcp, entry), path);
	int folder = destination_folder(copy, &name), at = platter_dirfd(entry);
	failure why = "create the copy of";

	if (folder >= 0 && at != -1)
		why = copy_special(at, platter_name(entry), status, folder, name,
				   destination_gives_acl());
	if (is_done(qcp, path, copy, why) && status->st_nlink > 1)
		links_find(&qcp->links, status)->target = need(strdup(copy));
	free(copy);
}

/*
 * One of several names of a file: the first one is copied, the others become
 * links to the copy.  They have the same place on the disk, so they follow each
 * other.
 */
static int file_with_names(struct qcp *qcp, struct platter_entry *entry,
			   const struct stat *status)
{
	const struct linked *linked = links_find(&qcp->links, status);

	if (linked->target) {
		make_link(qcp, linked, operand_of(qcp, entry), path_of(entry));
		return PLATTER_NO;
	}
	if (S_ISREG(status->st_mode))
		return PLATTER_YES;
	copy_other(qcp, entry, status);
	return PLATTER_NO;
}

static bool is_same_file(const struct operand *operand, const struct stat *status)
{
	struct stat there;

	return !lstat(operand->copy, &there) && there.st_dev == status->st_dev &&
	       there.st_ino == status->st_ino;
}

static int file(struct platter_entry *entry, void *user)
{
	const struct stat *status = platter_stat(entry);
	struct qcp *qcp = user;

	if (!status)
		return failed(entry, errno, user);
	if (!platter_depth(entry) && is_same_file(operand_of(qcp, entry), status))
		return refuse(qcp, path_of(entry), "it would be its own copy");
	if (status->st_nlink > 1)
		return file_with_names(qcp, entry, status);
	if (S_ISREG(status->st_mode))
		return PLATTER_YES;
	copy_other(qcp, entry, status);
	return PLATTER_NO;
}

static void copy_open_file(struct qcp *qcp, int fd, const char *path,
			   const struct operand *operand, const struct stat *status)
{
	char *copy = copy_of(operand, path);
	failure why = "create the copy of";
	const char *name;
	int folder = destination_folder(copy, &name);

	if (folder >= 0)
		why = copy_file(fd, status, folder, name, destination_gives_acl());
	if (is_done(qcp, path, copy, why) && status->st_nlink > 1)
		links_find(&qcp->links, status)->target = need(strdup(copy));
	free(copy);
}

static int data(struct platter_entry *entry, void *user)
{
	const struct linked *linked = NULL;
	struct qcp *qcp = user;
	const struct operand *operand = operand_of(qcp, entry);
	int fd = platter_open(entry);
	const char *path = path_of(entry);
	struct stat status;

	if (fd < 0)
		return failed(entry, errno, user);
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return refuse(qcp, path, "it was replaced before it was read");
	}
	if (status.st_nlink > 1)
		linked = links_find(&qcp->links, &status);
	if (linked && linked->target)
		make_link(qcp, linked, operand, path);
	else
		copy_open_file(qcp, fd, path, operand, &status);
	close(fd);
	return PLATTER_YES;
}

/* --- the command line ------------------------------------------------------ */

static void parse(struct qcp *qcp, int argc, char **argv)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":" COMMON_SHORT "rR",
				     long_options, NULL)) != -1)
		if (option == 'r' || option == 'R')
			qcp->recursive = true;
		else
			common_option(&qcp->common, option, help, argv);
	if (argc - optind < 2)
		bad_use("source or destination missing (see qcp --help)");
}

/* Remove the slashes at the end, except from the root. */
static char *without_slashes(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return need(strndup(path, length));
}

/* The path of the copy: in an existing directory, or the destination itself. */
static char *place_of(const char *source, const char *destination, bool is_folder)
{
	const char *name;
	char *trimmed, *slash, *copy;

	if (!is_folder)
		return without_slashes(destination);
	trimmed = without_slashes(source);
	slash = strrchr(trimmed, '/');
	name = slash ? slash + 1 : trimmed;
	/* ".." is not a name for a copy: copy its contents, as for "." */
	if (asprintf(&copy, "%s/%s", destination, strcmp(name, "..") ? name : ".") < 0)
		need(NULL);
	free(trimmed);
	return copy;
}

static const char **find_operands(struct qcp *qcp, char **argv, size_t count)
{
	const char *destination = argv[count];
	const char **sources = need(calloc(count, sizeof(*sources)));
	struct stat status;
	bool is_folder = !stat(destination, &status) && S_ISDIR(status.st_mode);

	if (count > 1 && !is_folder)
		bad_use("'%s' is not a directory: it is required for several sources", destination);
	qcp->nr_operands = count;
	qcp->operands = need(calloc(count, sizeof(*qcp->operands)));
	for (size_t i = 0; i < count; i++) {
		sources[i] = argv[i];
		qcp->operands[i].source = argv[i];
		qcp->operands[i].copy = place_of(argv[i], destination, is_folder);
	}
	return sources;
}

static void free_operands(struct qcp *qcp)
{
	for (size_t i = 0; i < qcp->nr_operands; i++)
		free(qcp->operands[i].copy);
	free(qcp->operands);
}

int main(int argc, char **argv)
{
	struct qcp qcp = {
		.common.walk = {
			.directory = directory, .file = file, .data = data, .leave = leave,
			.error = failed,
		},
	};
	const char **sources;
	size_t count;

	parse(&qcp, argc, argv);
	count = (size_t)(argc - optind - 1);
	sources = find_operands(&qcp, argv + optind, count);
	qcp.common.walk.user = &qcp;
	output_handle_signals();
	progress_begin(&qcp.common, qcp.common.verbose);
	if (walk_failed(platter_walk(sources, count, &qcp.common.walk)))
		qcp.failed = true;
	progress_end();
	destination_end();
	links_free(&qcp.links);
	free_operands(&qcp);
	free(sources);
	return output_is_written() && !qcp.failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
