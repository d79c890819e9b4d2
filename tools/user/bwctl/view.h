/* SPDX-License-Identifier: GPL-2.0 */
/* The data that bwctl show has collected, before it is printed as text or JSON. */
#ifndef BWCTL_VIEW_H
#define BWCTL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "device.h"
#include "proc.h"
#include "reservation.h"

struct thread {
	pid_t tid;
	int ioprio;
};

struct process {
	pid_t pid;
	char command[COMMAND_SIZE];
	struct thread *threads;
	size_t count;
};

#define TUNABLE_SIZE 32

struct device {
	char name[DISK_NAME];
	char scheduler[TUNABLE_SIZE];
	bool cfq;
	int rotational;			/* -1: unknown */
	bool has_delays;
	unsigned int delays_ms[IOPRIO_BW_NR_DELAYS];
	/* tunables; empty if there is no such file */
	char bucket_ms[TUNABLE_SIZE];
	char seek_kb[TUNABLE_SIZE];
	char share_percent[TUNABLE_SIZE];
	char depth[TUNABLE_SIZE];
	struct reservations reservations;
	struct counters counters;
};

struct view {
	struct process *processes;
	size_t nr_processes;
	struct device *devices;
	size_t nr_devices;
	/* whether all devices have the same delay table, and that table */
	bool has_common;
	unsigned int common_ms[IOPRIO_BW_NR_DELAYS];
	bool each_thread;		/* a line for each thread */
	char missing[LINE_SIZE];	/* which data is missing, and why */
};

void print_view(const struct view *view);
void print_view_json(const struct view *view);

#endif
