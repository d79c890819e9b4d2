// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's side of ioprio_set and ioprio_get, for the tests.
 *
 * BWCTL_FAKE_IOPRIO is what ioprio_set answers: "ok" (the default) or one of
 * EINVAL, EPERM, ENOSYS, EIO.  BWCTL_FAKE_STATE is a folder with one file for each
 * thread, named by its id, that holds its priority.  A thread exists when it
 * has a file or is the caller; "gone" in its file: it ends before it is set.
 * BWCTL_FAKE_SPAWN is a folder that appears when a priority is set: a thread
 * that starts meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ioprio.h"

static int answer(void)
{
	const char *text = getenv("BWCTL_FAKE_IOPRIO");

	if (!text || !strcmp(text, "ok"))
		return 0;
	if (!strcmp(text, "EINVAL"))
		return -EINVAL;
	if (!strcmp(text, "EPERM"))
		return -EPERM;
	if (!strcmp(text, "ENOSYS"))
		return -ENOSYS;
	return -EIO;
}

static void state_path(pid_t tid, char *path, size_t size)
{
	const char *folder = getenv("BWCTL_FAKE_STATE");

	snprintf(path, size, "%s/%d", folder ? folder : "/nonexistent",
		 (int)(tid ? tid : getpid()));
}

int thread_get_ioprio(pid_t tid)
{
	char path[4096];
	int ioprio = -ESRCH;
	FILE *file;

	state_path(tid, path, sizeof(path));
	file = fopen(path, "re");
	if (!file)
		return tid ? -ESRCH : 0;
	if (fscanf(file, "%d", &ioprio) != 1)
		ioprio = -ESRCH;
	fclose(file);
	return ioprio;
}

int thread_set_ioprio(pid_t tid, int ioprio)
{
	char path[4096];
	FILE *file;

	if (answer())
		return answer();
	if (getenv("BWCTL_FAKE_SPAWN"))
		mkdir(getenv("BWCTL_FAKE_SPAWN"), 0777);
	if (thread_get_ioprio(tid) < 0)
		return -ESRCH;
	state_path(tid, path, sizeof(path));
	file = fopen(path, "we");
	if (!file)
		return tid ? -ESRCH : 0;
	fprintf(file, "%d\n", ioprio);
	fclose(file);
	return 0;
}
