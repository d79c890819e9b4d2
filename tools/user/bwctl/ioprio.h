/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The I/O priority of a thread, 16 bits: class (13-15) and data (0-12).
 * For the bandwidth class the data are a rate (3-12) in units of 128 KiB/s and
 * a delay level (0-2), an index into the table of delays of each device.
 *
 * The names are those of linux/ioprio.h, which is not included because that of
 * current distributions lacks the class.
 */
#ifndef BWCTL_IOPRIO_H
#define BWCTL_IOPRIO_H

#include <sys/types.h>

#define IOPRIO_CLASS_SHIFT	13
#define IOPRIO_MAX		0xffff

enum {
	IOPRIO_CLASS_NONE,
	IOPRIO_CLASS_RT,
	IOPRIO_CLASS_BE,
	IOPRIO_CLASS_IDLE,
	IOPRIO_CLASS_BW,
};

#define IOPRIO_BW_RATE_UNIT	131072	/* bytes/s */
#define IOPRIO_BW_RATE_MAX	1023	/* units */
#define IOPRIO_BW_NR_DELAYS	8

#define IOPRIO_PRIO_CLASS(ioprio)	((ioprio) >> IOPRIO_CLASS_SHIFT & 7)
#define IOPRIO_PRIO_LEVEL(ioprio)	((ioprio) & 7)

#define IOPRIO_BW_VALUE(rate_units, delay_level) \
	(IOPRIO_CLASS_BW << IOPRIO_CLASS_SHIFT | (int)(rate_units) << 3 | (int)(delay_level))
#define IOPRIO_BW_RATE(ioprio)		((ioprio) >> 3 & 0x3ff)
#define IOPRIO_BW_DELAY(ioprio)		((ioprio) & 7)

/* "none", "rt", "be", "idle", "bw" or "unknown". */
const char *ioprio_class_name(int ioprio);

/* Get or set the priority of one thread (0: the caller).  Return -errno on failure. */
int thread_get_ioprio(pid_t tid);
int thread_set_ioprio(pid_t tid, int ioprio);

#endif
