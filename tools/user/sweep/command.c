// SPDX-License-Identifier: GPL-2.0
/* Commands that are run for files, as by find -exec. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "program.h"

extern char **environ;

/* Bytes of paths in one run: fits on every Linux along with an ordinary environment. */
#define MOST_BYTES (128 * 1024)

#define PLACE "{}"

int command_parse(struct command *command, char **words)
{
	size_t count = 0;

	while (words[count] && strcmp(words[count], ";") &&
	       !(count && !strcmp(words[count], "+") && !strcmp(words[count - 1], PLACE)))
		count++;
	if (!words[count] || !count)
		bad_use("-exec: the command must end with ';' or '{} +'");
	command->many = words[count][0] == '+';
	command->words = words;
	command->nr_words = command->many ? count - 1 : count;
	if (!command->nr_words)
		bad_use("-exec: no command before '{} +'");
	return (int)count + 1;
}

/* Run a command.  Returns its exit code, or prints a message and returns -1. */
static int run(const struct command *command, char **argv)
{
	int error, status;
	pid_t child;

	if (command->verbose)
		say("running %s", argv[0]);
	fflush(stdout);
	error = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
	if (error) {
		say("cannot run '%s': %s", argv[0], strerror(error));
		return -1;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR) {
			say("cannot wait for '%s': %s", argv[0], strerror(errno));
			return -1;
		}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Copy a word with each {} replaced by the path. */
static char *with_path(const char *word, const char *path)
{
	const char *place;
	size_t size;
	char *text;
	FILE *out = need(open_memstream(&text, &size));

	for (; (place = strstr(word, PLACE)); word = place + strlen(PLACE)) {
		fwrite(word, 1, (size_t)(place - word), out);
		fputs(path, out);
	}
	fputs(word, out);
	if (fclose(out))
		need(NULL);
	return text;
}

static bool run_for_one(const struct command *command, const char *path)
{
	char **argv = need(calloc(command->nr_words + 1, sizeof(*argv)));
	bool started;

	for (size_t i = 0; i < command->nr_words; i++)
		argv[i] = with_path(command->words[i], path);
	started = run(command, argv) >= 0;
	for (size_t i = 0; i < command->nr_words; i++)
		free(argv[i]);
	free(argv);
	return started;
}

static void let_wait(struct command *command, const char *path)
{
	if (command->nr_paths == command->capacity) {
		command->capacity = command->capacity ? 2 * command->capacity : 64;
		command->paths = need(reallocarray(command->paths, command->capacity,
						   sizeof(*command->paths)));
	}
	command->paths[command->nr_paths++] = need(strdup(path));
	command->bytes += strlen(path) + 1 + sizeof(char *);
}

static bool run_for_waiting(struct command *command)
{
	size_t count = command->nr_words + command->nr_paths;
	char **argv = need(calloc(count + 1, sizeof(*argv)));
	bool good;

	memcpy(argv, command->words, command->nr_words * sizeof(*argv));
	memcpy(argv + command->nr_words, command->paths, command->nr_paths * sizeof(*argv));
	good = run(command, argv) == 0;
	free(argv);
	for (size_t i = 0; i < command->nr_paths; i++)
		free(command->paths[i]);
	command->nr_paths = 0;
	command->bytes = 0;
	return good;
}

bool command_run(struct command *command, const char *path)
{
	bool good = true;

	if (!command->many)
		return run_for_one(command, path);
	if (command->nr_paths && command->bytes + strlen(path) > MOST_BYTES)
		good = run_for_waiting(command);
	let_wait(command, path);
	return good;
}

bool command_end(struct command *command)
{
	bool good = !command->nr_paths || run_for_waiting(command);

	free(command->paths);
	return good;
}
