/* SPDX-License-Identifier: GPL-2.0 */
/* Common options, messages and progress of the programs. */
#ifndef SWEEP_PROGRAM_H
#define SWEEP_PROGRAM_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platter.h"

/* Defined by each program: its name, and its exit code for usage and other errors. */
extern const char program[];
extern const int exit_trouble;

/**
 * struct common - options of all programs
 * @walk: order, flags and memory of the walk
 * @verbose: -v
 * @progress: --progress
 */
struct common {
	struct platter_options walk;
	bool verbose;
	bool progress;
};

enum {
	OPTION_ORDER = 256,
	OPTION_MEMORY,
	OPTION_PROGRESS,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_OWN,		/* first value for a program's own options */
};

#define COMMON_SHORT "xv"
#define COMMON_LONG \
	{ "order", required_argument, NULL, OPTION_ORDER }, \
	{ "memory", required_argument, NULL, OPTION_MEMORY }, \
	{ "progress", no_argument, NULL, OPTION_PROGRESS }, \
	{ "one-file-system", no_argument, NULL, 'x' }, \
	{ "verbose", no_argument, NULL, 'v' }, \
	{ "help", no_argument, NULL, OPTION_HELP }, \
	{ "version", no_argument, NULL, OPTION_VERSION }

#define COMMON_HELP \
	"  -x, --one-file-system  do not enter other file systems\n" \
	"      --order ORDER      auto (the default: sort on rotating disks), none, inode,\n" \
	"                         full-inode, inode+block, full-inode+block\n" \
	"      --memory SIZE      limit for entries that wait to be read (default 64M)\n" \
	"      --progress         show progress even if output also goes to a terminal\n" \
	"      --help             show this text\n" \
	"      --version          show the version\n"

/*
 * Handle an option returned by getopt_long(); exits after --help, --version and
 * invalid options.
 */
void common_option(struct common *common, int option, const char *help,
		   char *const argv[]);

/* Print one line "PROGRAM: ..." to stderr; control characters become '?'. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a message and exit with exit_trouble. */
void __attribute__((noreturn, format(printf, 1, 2))) bad_use(const char *format, ...);

/* Print "cannot ... PATH: ..." for an errno value. */
void say_cannot(const char *what, struct platter_entry *entry, int error);

/* Return @memory; exit if it is NULL. */
void *need(void *memory);

/* Show progress on a terminal, unless output goes to one, or if requested. */
void progress_begin(const struct common *common, bool writes_output);

/* Count an entry that is done, and its bytes. */
void progress_step(uint64_t bytes);

/* Remove the line of progress. */
void progress_end(void);

/* Report a walk that ended early.  Returns whether it did. */
bool walk_failed(int result);

/* Flush stdout.  Prints a message and returns false on failure. */
bool output_is_written(void);

#endif
