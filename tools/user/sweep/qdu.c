// SPDX-License-Identifier: GPL-2.0
/* qdu - du in the order of the disk */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "program.h"
#include "size.h"

#define BLOCK 512
#define SHOWN_BLOCK 1024

const char program[] = "qdu";
const int exit_trouble = EXIT_FAILURE;

static const char help[] =
	"usage: qdu [OPTION...] [PATH...]\n"
	"Print the disk space of directories, as du does, in KiB, rounded up. Inodes are read\n"
	"in the order of the disk. A file with several names counts once.\n\n"
	"  -a, --all              print files too\n"
	"      --apparent-size    print sizes of files and links, not disk space\n"
	"  -b, --bytes            same as --apparent-size, in bytes\n"
	"  -c, --total            print the total too\n"
	"  -h, --human-readable   print sizes like 1.1K, 23M, 2.4G\n"
	"  -L, --dereference      follow symbolic links\n"
	"  -s, --summarize        print only the paths given, not the directories below\n"
	"  -v, --verbose          print the number of entries counted at the end\n"
	"  -0, --null             end lines with a null byte\n"
	COMMON_HELP;

enum { OPTION_APPARENT = OPTION_OWN };

static const struct option long_options[] = {
	COMMON_LONG,
	{ "all", no_argument, NULL, 'a' },
	{ "apparent-size", no_argument, NULL, OPTION_APPARENT },
	{ "bytes", no_argument, NULL, 'b' },
	{ "total", no_argument, NULL, 'c' },
	{ "human-readable", no_argument, NULL, 'h' },
	{ "dereference", no_argument, NULL, 'L' },
	{ "summarize", no_argument, NULL, 's' },
	{ "null", no_argument, NULL, '0' },
	{ NULL, 0, NULL, 0 },
};

/* A directory that is being counted. */
struct folder {
	struct folder *above;
	dev_t dev;
	uint64_t bytes;
};

struct qdu {
	struct common common;
	struct links links;
	bool all;
	bool apparent;
	bool bytes;
	bool human;
	bool summarize;
	bool total;
	bool several;	/* operands may overlap: any file may be found twice */
	char end;
	uint64_t sum;
	uint64_t entries;
	bool failed;
};

static void print(const struct qdu *qdu, uint64_t bytes, const char *path)
{
	char text[SIZE_TEXT];

	if (qdu->human)
		size_to_text(bytes, text);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)
			 (qdu->bytes ? bytes : bytes / SHOWN_BLOCK + !!(bytes % SHOWN_BLOCK)));
	printf("%s\t%s%c", text, path, qdu->end);
}

static void print_entry(const struct qdu *qdu, uint64_t bytes, struct platter_entry *entry)
{
	print(qdu, bytes, need((void *)platter_path(entry)));
}

/* A directory has no apparent size: its st_size depends on the file system. */
static uint64_t size_of(const struct qdu *qdu, const struct stat *status)
{
	if (!qdu->apparent)
		return (uint64_t)status->st_blocks * BLOCK;
	return S_ISREG(status->st_mode) || S_ISLNK(status->st_mode) ?
		(uint64_t)status->st_size : 0;
}

/* Whether this inode has been counted under another name. */
static bool was_met(struct qdu *qdu, const struct stat *status)
{
	struct linked *linked;
	bool met;

	if (!qdu->several && (S_ISDIR(status->st_mode) || status->st_nlink < 2))
		return false;
	linked = links_find(&qdu->links, status);
	met = linked->met;
	linked->met = true;
	if (linked->left)
		linked->left--;
	if (!qdu->several && !linked->left)
		links_forget(&qdu->links, linked);
	return met;
}

static bool counts(struct qdu *qdu, struct platter_entry *entry, const struct stat *status)
{
	const struct folder *above = platter_parent_attached(entry);

	if (above && qdu->common.walk.flags & PLATTER_ONE_FS && above->dev != status->st_dev)
		return false;
	if (was_met(qdu, status))
		return false;
	qdu->entries++;
	progress_step(size_of(qdu, status));
	return true;
}

static void add_to(struct qdu *qdu, struct folder *folder, uint64_t bytes)
{
	if (folder)
		folder->bytes += bytes;
	else
		qdu->sum += bytes;
}

static int failed(struct platter_entry *entry, int error, void *user)
{
	struct qdu *qdu = user;

	say_cannot("read", entry, error);
	qdu->failed = true;
	return PLATTER_NO;
}

static int directory(struct platter_entry *entry, void *user)
{
	const struct stat *status = platter_stat(entry);
	struct qdu *qdu = user;
	struct folder *folder;

	if (!status)
		return failed(entry, errno, user);
	if (!counts(qdu, entry, status))
		return PLATTER_NO;
	folder = need(malloc(sizeof(*folder)));
	folder->above = platter_parent_attached(entry);
	folder->dev = status->st_dev;
	folder->bytes = size_of(qdu, status);
	platter_attach(entry, folder);
	return PLATTER_YES;
}

static int leave(struct platter_entry *entry, void *user)
{
	struct folder *folder = platter_attached(entry);
	struct qdu *qdu = user;

	if (!qdu->summarize || !folder->above)
		print_entry(qdu, folder->bytes, entry);
	add_to(qdu, folder->above, folder->bytes);
	free(folder);
	return PLATTER_YES;
}

static int file(struct platter_entry *entry, void *user)
{
	const struct stat *status = platter_stat(entry);
	struct qdu *qdu = user;

	if (!status)
		return failed(entry, errno, user);
	/* same as du for a link without a target */
	if (qdu->common.walk.flags & PLATTER_FOLLOW && S_ISLNK(status->st_mode))
		return failed(entry, ENOENT, user);
	if (!counts(qdu, entry, status))
		return PLATTER_NO;
	if (qdu->all || !platter_depth(entry))
		print_entry(qdu, size_of(qdu, status), entry);
	add_to(qdu, platter_parent_attached(entry), size_of(qdu, status));
	return PLATTER_NO;
}

static void parse(struct qdu *qdu, int argc, char **argv)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":" COMMON_SHORT "abchLs0",
				     long_options, NULL)) != -1)
		switch (option) {
		case 'a':
			qdu->all = true;
			break;
		case 'b':
			qdu->bytes = true;
			qdu->apparent = true;
			break;
		case OPTION_APPARENT:
			qdu->apparent = true;
			break;
		case 'c':
			qdu->total = true;
			break;
		case 'h':
			qdu->human = true;
			break;
		case 'L':
			qdu->common.walk.flags |= PLATTER_FOLLOW;
			break;
		case 's':
			qdu->summarize = true;
			break;
		case '0':
			qdu->end = '\0';
			break;
		default:
			common_option(&qdu->common, option, help, argv);
		}
	if (qdu->all && qdu->summarize)
		bad_use("-a and -s cannot be combined");
}

int main(int argc, char **argv)
{
	static const char *const here[] = { "." };
	struct qdu qdu = {
		.common.walk = {
			.directory = directory, .file = file, .leave = leave, .error = failed,
		},
		.end = '\n',
	};
	const char *const *paths = here;
	size_t count = 1;

	parse(&qdu, argc, argv);
	if (optind < argc) {
		paths = (const char *const *)argv + optind;
		count = (size_t)(argc - optind);
	}
	qdu.several = count > 1 || qdu.common.walk.flags & PLATTER_FOLLOW;
	qdu.common.walk.user = &qdu;
	progress_begin(&qdu.common, true);
	if (walk_failed(platter_walk(paths, count, &qdu.common.walk)))
		qdu.failed = true;
	progress_end();
	links_free(&qdu.links);
	if (qdu.total)
		print(&qdu, qdu.sum, "total");
	if (qdu.common.verbose)
		say("%llu entries counted", (unsigned long long)qdu.entries);
	return output_is_written() && !qdu.failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
