// SPDX-License-Identifier: GPL-2.0
/* Common options, messages and progress of the programs. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"
#include "size.h"

#ifndef SWEEP_VERSION
#define SWEEP_VERSION "unknown"
#endif

/* Less could not hold the entries of an ordinary directory. */
#define LEAST_MEMORY 65536

#define PROGRESS_NS 200000000

static struct {
	bool wanted;
	bool shown;
	uint64_t entries;
	uint64_t bytes;
	int64_t next_ns;
} progress;

/* --- messages -------------------------------------------------------------- */

static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void say_list(const char *format, va_list args)
{
	char *line;

	if (vasprintf(&line, format, args) < 0)
		return;
	make_printable(line);
	fflush(stdout);
	progress_end();
	fprintf(stderr, "%s: %s\n", program, line);
	free(line);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_list(format, args);
	va_end(args);
}

void bad_use(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_list(format, args);
	va_end(args);
	exit(exit_trouble);
}

void say_cannot(const char *what, struct platter_entry *entry, int error)
{
	const char *path = platter_path(entry);

	say("cannot %s '%s': %s", what, path ? path : platter_name(entry),
	    error == ELOOP ? "directory that contains itself, or loop of links" :
	    strerror(error));
}

void *need(void *memory)
{
	if (memory)
		return memory;
	say("out of memory");
	exit(exit_trouble);
}

bool walk_failed(int result)
{
	if (result < 0)
		say("cannot continue: %s", strerror(-result));
	return result < 0;
}

bool output_is_written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	say("cannot write the output: %s", strerror(errno));
	return false;
}

/* --- progress -------------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void progress_begin(const struct common *common, bool writes_output)
{
	progress.wanted = common->progress ||
		(isatty(STDERR_FILENO) && !(writes_output && isatty(STDOUT_FILENO)));
	progress.next_ns = now_ns();
}

void progress_step(uint64_t bytes)
{
	char size[SIZE_TEXT];
	int64_t now;

	progress.entries++;
	progress.bytes += bytes;
	if (!progress.wanted)
		return;
	now = now_ns();
	if (now < progress.next_ns)
		return;
	progress.next_ns = now + PROGRESS_NS;
	progress.shown = true;
	size_to_text(progress.bytes, size);
	fprintf(stderr, "\r%s: %llu entries, %s\033[K", program,
		(unsigned long long)progress.entries, size);
	fflush(stderr);
}

void progress_end(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}

/* --- options --------------------------------------------------------------- */

static enum platter_order parse_order(const char *text)
{
	int order = platter_order_of_name(text);

	/* only qtar can sort by name, with --sort */
	if (order < 0 || order == PLATTER_NAME)
		bad_use("--order: unknown order '%s': use auto, none, inode, full-inode, inode+block or full-inode+block",
			text);
	return (enum platter_order)order;
}

static size_t parse_memory(const char *text)
{
	uint64_t bytes;

	if (!size_of_text(text, &bytes) || bytes < LEAST_MEMORY || bytes > SIZE_MAX / 2)
		bad_use("--memory: '%s' is not a size of at least 64K (example: 64M)", text);
	return (size_t)bytes;
}

/* A letter may be one of several in a word; for a long option, getopt has no letter. */
static void __attribute__((noreturn)) bad_option(int option, char *const argv[])
{
	const char letter[] = { '-', (char)optopt, '\0' };
	const char *name = optopt && optopt < OPTION_ORDER ? letter : argv[optind - 1];

	if (option == ':')
		bad_use("%s requires a value (see %s --help)", name, program);
	bad_use("unknown option '%s' (see %s --help)", name, program);
}

void common_option(struct common *common, int option, const char *help,
		   char *const argv[])
{
	switch (option) {
	case OPTION_ORDER:
		common->walk.order = parse_order(optarg);
		break;
	case OPTION_MEMORY:
		common->walk.memory = parse_memory(optarg);
		break;
	case OPTION_PROGRESS:
		common->progress = true;
		break;
	case 'x':
		common->walk.flags |= PLATTER_ONE_FS;
		break;
	case 'v':
		common->verbose = true;
		break;
	case OPTION_HELP:
		fputs(help, stdout);
		exit(output_is_written() ? EXIT_SUCCESS : exit_trouble);
	case OPTION_VERSION:
		printf("%s (platter) %s\n", program, SWEEP_VERSION);
		exit(output_is_written() ? EXIT_SUCCESS : exit_trouble);
	default:
		bad_option(option, argv);
	}
}
