/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs share: their common options, messages, progress. */
#ifndef SWEEP_PROGRAM_H
#define SWEEP_PROGRAM_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platter.h"

/* Of each program: its name, and its exit code for bad use and other trouble. */
extern const char program[];
extern const int exit_trouble;

/**
 * struct common - the options that all programs have
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
	OPTION_OWN,		/* the first that a program may use itself */
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
	"      --order ORDER      auto (the default: sort where it gains), none, inode,\n" \
	"                         full-inode, inode+block, full-inode+block\n" \
	"      --memory SIZE      read what is known when it takes more: 64M (the default)\n" \
	"      --progress         show progress even if output goes to a terminal as well\n" \
	"      --help             show this text\n" \
	"      --version          show the version\n"

/*
 * Handle what getopt_long() returned; ends the program after --help,
 * --version, and options that are no good.
 */
void common_option(struct common *common, int option, const char *help,
		   char *const argv[]);

/* One line "PROGRAM: ..." on stderr; control characters become '?'. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Likewise, and end with exit_trouble. */
void __attribute__((noreturn, format(printf, 1, 2))) bad_use(const char *format, ...);

/* "cannot ... PATH: ...", for an errno value. */
void say_cannot(const char *what, struct platter_entry *entry, int error);

/* malloc and its like that end the program when there is no memory. */
void *need(void *memory);

/* Show progress? On a terminal, unless output goes to one and nobody asks. */
void progress_begin(const struct common *common, bool writes_output);

/* An entry more is done, and so many bytes. */
void progress_step(uint64_t bytes);

/* Remove the line of progress. */
void progress_end(void);

/* Why a walk has ended before its end; returns whether it has. */
bool walk_failed(int result);

/* Flush stdout: false, and said, if it cannot be written. */
bool output_is_written(void);

#endif
