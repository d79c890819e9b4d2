/* SPDX-License-Identifier: GPL-2.0 */
/* Commands that are run for files. */
#ifndef SWEEP_COMMAND_H
#define SWEEP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct command - the command of -exec
 * @words, @nr_words: words of the command
 * @many: run it with as many paths as fit, at the end
 * @verbose: print the commands that are run
 * @paths, @nr_paths, @capacity, @bytes: paths collected for the next run
 */
struct command {
	char **words;
	size_t nr_words;
	bool many;
	bool verbose;
	char **paths;
	size_t nr_paths;
	size_t capacity;
	size_t bytes;
};

/*
 * Parse "COMMAND ;" or "COMMAND {} +".  Returns the number of words; exits if
 * the command has no end.
 */
int command_parse(struct command *command, char **words);

/*
 * Run the command for a path, or collect the path.  Returns false if it could
 * not be started, or failed for many paths.
 */
bool command_run(struct command *command, const char *path);

/* Run the command for the collected paths. */
bool command_end(struct command *command);

#endif
