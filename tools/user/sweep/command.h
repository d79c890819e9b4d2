/* SPDX-License-Identifier: GPL-2.0 */
/* A command that is run for files. */
#ifndef SWEEP_COMMAND_H
#define SWEEP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct command - what -exec runs
 * @words, @nr_words: as they were given
 * @many: with as many paths as fit, at the end
 * @verbose: say what is run
 * @paths, @nr_paths, @capacity, @bytes: that wait for such a run
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
 * Parse "COMMAND ;" or "COMMAND {} +": returns how many words that is; ends the
 * program if it has no end.
 */
int command_parse(struct command *command, char **words);

/*
 * Run it for a path, or let the path wait.  Returns false if it could not be
 * started, or, for many paths, has failed.
 */
bool command_run(struct command *command, const char *path);

/* Run it for those that wait. */
bool command_end(struct command *command);

#endif
