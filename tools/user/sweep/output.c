// SPDX-License-Identifier: GPL-2.0
/* Output files that get their name when they are complete, or never. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "output.h"
#include "program.h"

static const int signals[] = { SIGHUP, SIGINT, SIGTERM, SIGPIPE };

/* The file that a signal handler removes. */
static struct output *volatile unfinished;

static void remove_and_end(int signal)
{
	const struct output *output = unfinished;

	if (output)
		unlinkat(output->folder, output->temporary, 0);
	raise(signal);
}

static void remove_unfinished(void)
{
	if (unfinished)
		output_abort(unfinished);
}

void output_handle_signals(void)
{
	/* a second signal ends the program */
	struct sigaction action = {
		.sa_handler = remove_and_end, .sa_flags = SA_RESETHAND | SA_NODEFER,
	}, now;

	atexit(remove_unfinished);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* A random name that no file has; further names are numbered. */
static void choose_name(struct output *output)
{
	static unsigned long long chance;

	if (!chance && getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		chance = (unsigned long long)getpid() << 32;
	chance++;
	snprintf(output->temporary, sizeof(output->temporary), ".%s.%016llx", program, chance);
}

void output_choose(struct output *output, int folder)
{
	output->folder = folder;
	output->fd = -1;
	choose_name(output);
	unfinished = output;
}

/* Before Linux 6.10, only root can name such a file without /proc. */
static bool can_give_names(void)
{
	static int can = -1;

	if (can < 0)
		can = !access("/proc/self/fd", X_OK);
	return can;
}

bool output_begin(struct output *output, int folder)
{
	output->folder = folder;
	output->temporary[0] = '\0';
	output->fd = can_give_names() ? openat(folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) : -1;
	if (output->fd >= 0)
		return true;
	/* not every file system supports files without a name */
	output_choose(output, folder);
	output->fd = openat(folder, output->temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (output->fd < 0)
		unfinished = NULL;
	return output->fd >= 0;
}

static bool give_name(const struct output *output, const char *name)
{
	char path[32];

	if (!linkat(output->fd, "", output->folder, name, AT_EMPTY_PATH))
		return true;
	if (errno != ENOENT)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->fd);
	return !linkat(AT_FDCWD, path, output->folder, name, AT_SYMLINK_FOLLOW);
}

/* Give the file a first name: @name, or a temporary one if @name exists. */
static bool give_first_name(struct output *output, const char *name)
{
	if (give_name(output, name))
		return true;
	if (errno != EEXIST)
		return false;
	choose_name(output);
	unfinished = output;
	return give_name(output, output->temporary);
}

bool output_commit(struct output *output, const char *name)
{
	bool is_file = output->fd >= 0, is_named;
	int error = 0;

	if (is_file && !output->temporary[0] && !give_first_name(output, name))
		error = errno;
	is_named = !error && !output->temporary[0];
	/* FUSE and SMB may report failed writes only on close */
	if (is_file && close(output->fd) && !error) {
		error = errno;
		if (is_named)
			unlinkat(output->folder, name, 0);
	}
	output->fd = -1;
	if (!error && output->temporary[0] &&
	    renameat(output->folder, output->temporary, output->folder, name))
		error = errno;
	/* rename() keeps both if they are names of one file */
	if (output->temporary[0] && (error || !is_file))
		unlinkat(output->folder, output->temporary, 0);
	unfinished = NULL;
	errno = error;
	return !error;
}

void output_abort(struct output *output)
{
	int error = errno;

	if (unfinished == output)
		unlinkat(output->folder, output->temporary, 0);
	unfinished = NULL;
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	errno = error;
}
