/* SPDX-License-Identifier: GPL-2.0 */
/* Processes and their threads in /proc. */
#ifndef BWCTL_PROC_H
#define BWCTL_PROC_H

#include <stddef.h>
#include <sys/types.h>

#define COMMAND_SIZE 64

struct id_list {
	pid_t *ids;
	size_t count;
};

/* The lists are sorted; the caller frees ids.  Return 0 or -errno. */
int list_processes(struct id_list *list);
int list_threads(pid_t pid, struct id_list *list);

/* Get the command name of a process or thread, "?" if it has ended. */
void process_command(pid_t pid, char command[COMMAND_SIZE]);

#endif
