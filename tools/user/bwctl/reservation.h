/* SPDX-License-Identifier: GPL-2.0 */
/* What cfq tells of a disk's reservations in debugfs. */
#ifndef BWCTL_RESERVATION_H
#define BWCTL_RESERVATION_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define RESERVATION_NR_SLACK	8

struct reservation {
	int64_t pid;
	int64_t cgroup;		/* number of the group that has reserved; 0: the process has */
	int64_t rate;		/* bytes/s */
	int64_t delay_ms;
	int64_t bucket;		/* bytes */
	int64_t tokens;		/* bytes; negative: to be paid first */
	int64_t bytes_in;	/* dispatched within the reservation */
	int64_t bytes_over;	/* dispatched beyond it */
	int64_t met;		/* deadlines of requests within it */
	int64_t missed;
	int64_t slack[RESERVATION_NR_SLACK];	/* of those met, by what part of the delay was left */
};

struct counter {
	char name[64];
	int64_t value;
};

/* @error is 0 or -errno; @damaged counts lines that were not understood. */
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

/* Of the disk @name; the caller frees entries. */
void read_reservations(const char *name, struct reservations *result);
void read_counters(const char *name, struct counters *result);

/* Where it is, for messages. */
void reservations_path(const char *name, char path[PATH_SIZE]);

#endif
