/* SPDX-License-Identifier: GPL-2.0 */
/* The reservations of a disk, as cfq lists them in debugfs. */
#ifndef BWCTL_RESERVATION_H
#define BWCTL_RESERVATION_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define RESERVATION_NR_SLACK	8

struct reservation {
	int64_t pid;
	int64_t cgroup;		/* ID of the group that holds the reservation; 0: the process does */
	int64_t rate;		/* bytes/s */
	int64_t delay_ms;
	int64_t bucket;		/* bytes */
	int64_t tokens;		/* bytes; negative: to be paid back first */
	int64_t bytes_in;	/* dispatched within the reservation */
	int64_t bytes_over;	/* dispatched over the reservation */
	int64_t met;		/* deadlines of requests within it */
	int64_t missed;
	int64_t slack[RESERVATION_NR_SLACK];	/* deadlines met, by the part of the delay that was left */
};

struct counter {
	char name[64];
	int64_t value;
};

/* @error is 0 or -errno; @damaged counts lines that cannot be parsed. */
struct reservations {
	struct reservation *entries;
	size_t count;
	size_t damaged;
	int error;
};

struct counters {
	struct counter *entries;
	size_t count;
	size_t damaged;
	int error;
};

/* Read those of the disk @name; the caller frees entries. */
void read_reservations(const char *name, struct reservations *result);
void read_counters(const char *name, struct counters *result);

/* The path of the file, for messages. */
void reservations_path(const char *name, char path[PATH_SIZE]);

#endif
