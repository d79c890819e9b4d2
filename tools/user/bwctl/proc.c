// SPDX-License-Identifier: GPL-2.0
/* List processes and threads in /proc. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "util.h"

static int by_id(const void *a, const void *b)
{
	pid_t first = *(const pid_t *)a, second = *(const pid_t *)b;

	return (first > second) - (first < second);
}

/* List the entries of a folder whose names are numbers. */
static int list_numbers(const char *folder, struct id_list *list)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	uint64_t id;
	int error;

	list->ids = NULL;
	list->count = 0;
	if (!dir)
		return -errno;
	while (errno = 0, (entry = readdir(dir))) {
		if (!parse_decimal(entry->d_name, INT_MAX, &id))
			continue;
		list->ids = grow(list->ids, list->count + 1, sizeof(*list->ids));
		list->ids[list->count++] = (pid_t)id;
	}
	/* not an error: the process ended while its threads were listed */
	error = errno == ESRCH || errno == ENOENT ? 0 : errno;
	closedir(dir);
	if (list->count)
		qsort(list->ids, list->count, sizeof(*list->ids), by_id);
	return -error;
}

int list_processes(struct id_list *list)
{
	return list_numbers(proc_root(), list);
}

int list_threads(pid_t pid, struct id_list *list)
{
	char path[PATH_SIZE];
	int error;

	put_path(path, "%s/%d/task", proc_root(), (int)pid);
	error = list_numbers(path, list);
	return error == -ENOENT ? -ESRCH : error;
}

void process_command(pid_t pid, char command[COMMAND_SIZE])
{
	char path[PATH_SIZE];

	put_path(path, "%s/%d/comm", proc_root(), (int)pid);
	if (read_text(path, command, COMMAND_SIZE) <= 0)
		strcpy(command, "?");
}
