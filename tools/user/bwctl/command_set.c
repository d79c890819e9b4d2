// SPDX-License-Identifier: GPL-2.0
/* bwctl run and bwctl set: set the I/O priority of a command or of processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "commands.h"
#include "ioprio.h"
#include "proc.h"
#include "request.h"
#include "util.h"

/* Move this process into the group. */
static int enter_group(const char *group)
{
	char folder[PATH_SIZE], why[LINE_SIZE];
	int error;

	if (group_find(group, folder, why)) {
		say("%s", why);
		return EXIT_FAILED;
	}
	error = group_write(folder, "cgroup.procs", "0");
	if (!error)
		return EXIT_DONE;
	say("run: %s: %s%s", group_path(folder), strerror(-error),
	    error == -EACCES || error == -EPERM ? ": run as root" :
	    error == -EBUSY ? ": the group has child groups, so use one of these" : "");
	return EXIT_FAILED;
}

static int reserve_own(const struct options *options)
{
	struct request request;
	int code = make_request(options, &request), error;

	if (code)
		return code;
	error = thread_set_ioprio(0, request_ioprio(&request));
	if (!error)
		return EXIT_DONE;
	say_refused(error, "run", true);
	return EXIT_FAILED;
}

int command_run(const struct options *options)
{
	int code, error;

	if (!options->nr_operands) {
		say("run: no command given (see bwctl run --help)");
		return EXIT_BAD_USE;
	}
	if (options->group && (options->rate || options->delay || options->device)) {
		say("run: --group cannot be combined with --rate, --delay or --device: reserve for the group with bwctl group");
		return EXIT_BAD_USE;
	}
	code = options->group ? enter_group(options->group) : reserve_own(options);
	if (code)
		return code;
	execvp(options->operands[0], options->operands);
	error = errno;
	say("run: %s: %s", options->operands[0], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/*
 * Walk once over the threads of a process and set their priority; after the
 * @first walk, skip threads that have it already.  Returns the number of threads
 * changed, or -errno.
 */
static int set_threads(pid_t pid, int ioprio, bool first)
{
	struct id_list threads;
	int error = list_threads(pid, &threads), changed = 0;

	for (size_t i = 0; i < threads.count && !error; i++) {
		if (!first && thread_get_ioprio(threads.ids[i]) == ioprio)
			continue;
		error = thread_set_ioprio(threads.ids[i], ioprio);
		if (error == -ESRCH)	/* the thread has ended meanwhile */
			error = 0;
		else
			changed++;
	}
	free(threads.ids);
	return error ? error : changed;
}

/*
 * During a walk a thread without the priority may start another one, which then
 * lacks it too, so walk until no thread was changed.  Limit the number of walks:
 * a zombie never gets the priority.
 */
static int set_process(pid_t pid, int ioprio)
{
	const int max_walks = 8;
	int changed = set_threads(pid, ioprio, true);

	if (changed <= 0)
		return changed ? changed : -ESRCH;
	for (int walk = 1; walk < max_walks && changed > 0; walk++)
		changed = set_threads(pid, ioprio, false);
	/* not a failure if the process has ended since */
	return changed > 0 || changed == -ESRCH ? 0 : changed;
}

static bool parse_pid(const char *text, pid_t *pid)
{
	uint64_t value;

	if (!parse_decimal(text, INT_MAX, &value) || !value)
		return false;
	*pid = (pid_t)value;
	return true;
}

static int set_one(pid_t pid, int ioprio, const struct options *options)
{
	char whom[64];
	int error;

	error = options->thread ? thread_set_ioprio(pid, ioprio) : set_process(pid, ioprio);
	if (!error)
		return EXIT_DONE;
	put_text(whom, sizeof(whom), "%s %d", options->thread ? "thread" : "process", (int)pid);
	if (error == -ESRCH)
		say("%s: no such %s", whom, options->thread ? "thread" : "process");
	else if (error == -EPERM && options->none)
		say("%s: not permitted: run as root, or with CAP_SYS_NICE for processes of other users", whom);
	else
		say_refused(error, whom, false);
	return EXIT_FAILED;
}

static int check_set(const struct options *options)
{
	pid_t pid;

	if (!options->nr_operands) {
		say("set: no process ID given (see bwctl set --help)");
		return EXIT_BAD_USE;
	}
	if (options->none && (options->rate || options->delay || options->device)) {
		say("set: --none cannot be combined with --rate, --delay or --device");
		return EXIT_BAD_USE;
	}
	for (int i = 0; i < options->nr_operands; i++) {
		if (!parse_pid(options->operands[i], &pid)) {
			say("set: '%s' is not a process ID", options->operands[i]);
			return EXIT_BAD_USE;
		}
	}
	return EXIT_DONE;
}

int command_set(const struct options *options)
{
	struct request request;
	int code = check_set(options), ioprio = 0, failed = EXIT_DONE;
	pid_t pid = 0;

	if (!code && !options->none) {
		code = make_request(options, &request);
		if (!code)
			ioprio = request_ioprio(&request);
	}
	if (code)
		return code;
	for (int i = 0; i < options->nr_operands; i++) {
		parse_pid(options->operands[i], &pid);
		failed |= set_one(pid, ioprio, options);
	}
	return failed;
}
