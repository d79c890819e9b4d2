// SPDX-License-Identifier: GPL-2.0
/* qfind - find in the order of the disk: commands get files in the order of their data */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "match.h"
#include "program.h"

const char program[] = "qfind";
const int exit_trouble = EXIT_FAILURE;

static const char help[] =
	"usage: qfind [OPTION...] [PATH...] [TEST...] [ACTION]\n"
	"Find files, as find does; a command gets them in the order of their data on the disk.\n"
	"All tests must be true.\n\n"
	"  -name PATTERN          last part of the path matches the pattern: '*.c'\n"
	"  -type LETTER[,...]     type of the file: b, c, d, f, l, p or s\n"
	"  -size [+-]N[bcwkMG]    size in units, rounded up; + more, - fewer\n"
	"  -newer FILE            modified later than FILE\n"
	"  -print                 print the path (the default), in the order of inodes\n"
	"  -print0                print the path, followed by a null byte\n"
	"  -exec COMMAND ;        run the command for each file, {} is the path\n"
	"  -exec COMMAND {} +     run the command for as many files at a time as fit\n\n"
	"  -L, --dereference      follow symbolic links\n"
	"  -v, --verbose          print the commands that are run\n"
	COMMON_HELP;

static const struct option long_options[] = {
	COMMON_LONG,
	{ "dereference", no_argument, NULL, 'L' },
	{ NULL, 0, NULL, 0 },
};

enum action { PRINT, PRINT0, EXEC };

struct qfind {
	struct common common;
	struct match match;
	struct command command;
	enum action action;
	bool failed;
};

static int failed(struct platter_entry *entry, int error, void *user)
{
	struct qfind *qfind = user;

	say_cannot("read", entry, error);
	qfind->failed = true;
	return PLATTER_NO;
}

static void run_command(struct qfind *qfind, struct platter_entry *entry)
{
	if (!command_run(&qfind->command, need((void *)platter_path(entry))))
		qfind->failed = true;
}

static void print(const struct qfind *qfind, struct platter_entry *entry)
{
	fputs(need((void *)platter_path(entry)), stdout);
	putchar(qfind->action == PRINT0 ? '\0' : '\n');
}

static bool matches(struct qfind *qfind, struct platter_entry *entry)
{
	int found = match_entry(&qfind->match, entry);

	progress_step(0);
	if (found < 0)
		failed(entry, errno, qfind);
	return found > 0;
}

static int directory(struct platter_entry *entry, void *user)
{
	struct qfind *qfind = user;

	if (!matches(qfind, entry))
		return PLATTER_YES;
	if (qfind->action == EXEC)
		run_command(qfind, entry);
	else
		print(qfind, entry);
	return PLATTER_YES;
}

static int file(struct platter_entry *entry, void *user)
{
	struct qfind *qfind = user;

	if (!matches(qfind, entry))
		return PLATTER_NO;
	if (qfind->action == EXEC)
		return PLATTER_YES;
	print(qfind, entry);
	return PLATTER_NO;
}

static int data(struct platter_entry *entry, void *user)
{
	run_command(user, entry);
	return PLATTER_YES;
}

static const char *value_of(char **argv)
{
	if (!argv[1])
		bad_use("%s requires a value (see qfind --help)", argv[0]);
	return argv[1];
}

/* Parse an action, which must be the last.  Returns the number of its words, 0 if it is not one. */
static int parse_action(struct qfind *qfind, char **argv)
{
	if (!strcmp(argv[0], "-print")) {
		qfind->action = PRINT;
		return 1;
	}
	if (!strcmp(argv[0], "-print0")) {
		qfind->action = PRINT0;
		return 1;
	}
	if (!strcmp(argv[0], "-exec")) {
		qfind->action = EXEC;
		return 1 + command_parse(&qfind->command, argv + 1);
	}
	return 0;
}

static void parse_expression(struct qfind *qfind, char **argv)
{
	int words;

	for (; *argv; argv += 2) {
		words = parse_action(qfind, argv);
		if (words && argv[words])
			bad_use("'%s' comes after the action, which must be the last", argv[words]);
		if (words)
			return;
		if (!match_is_test(argv[0]))
			bad_use("unknown test or action '%s' (see qfind --help)", argv[0]);
		match_parse(&qfind->match, argv[0], value_of(argv));
	}
}

static bool begins_expression(const char *word)
{
	static const char *const actions[] = { "-print", "-print0", "-exec" };

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (!strcmp(word, actions[i]))
			return true;
	return match_is_test(word);
}

/* Returns the number of words before the expression: options and paths. */
static int parse_options(struct qfind *qfind, int argc, char **argv)
{
	char *first;
	int option, count = 1;

	while (count < argc && !begins_expression(argv[count]))
		count++;
	/* getopt also looks at the word after the last option */
	first = argv[count];
	argv[count] = NULL;
	opterr = 0;
	while ((option = getopt_long(count, argv, ":" COMMON_SHORT "L",
				     long_options, NULL)) != -1)
		if (option == 'L')
			qfind->common.walk.flags |= PLATTER_FOLLOW;
		else
			common_option(&qfind->common, option, help, argv);
	argv[count] = first;
	return count;
}

int main(int argc, char **argv)
{
	static const char *const here[] = { "." };
	struct qfind qfind = {
		.common.walk = {
			.directory = directory, .file = file, .data = data, .error = failed,
		},
	};
	const char *const *paths = here;
	int expression = parse_options(&qfind, argc, argv);
	size_t count = 1;

	if (optind < expression) {
		paths = (const char *const *)argv + optind;
		count = (size_t)(expression - optind);
	}
	parse_expression(&qfind, argv + expression);
	qfind.command.verbose = qfind.common.verbose;
	qfind.common.walk.user = &qfind;
	progress_begin(&qfind.common, true);
	if (walk_failed(platter_walk(paths, count, &qfind.common.walk)))
		qfind.failed = true;
	if (!command_end(&qfind.command))
		qfind.failed = true;
	match_free(&qfind.match);
	progress_end();
	return output_is_written() && !qfind.failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
