/* SPDX-License-Identifier: GPL-2.0 */
/* Measure the performance of a disk. */
#ifndef BWCTL_MEASURE_H
#define BWCTL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct measured - measured performance of an idle disk
 * @bps: bytes per second where it is slowest, at its end
 * @seek_us: time from one stream to the next when many wait: a short read in a sweep
 *	over the disk
 * @disturbed: there was other I/O, so that the disk seems slower than it is
 */
struct measured {
	uint64_t bps;
	uint64_t seek_us;
	bool disturbed;
};

/* Read @disk for a few seconds.  Returns 0 or -errno; -EFBIG if it is too small. */
int disk_measure(const char *disk, struct measured *measured);

#endif
