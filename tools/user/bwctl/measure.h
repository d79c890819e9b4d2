/* SPDX-License-Identifier: GPL-2.0 */
/* What a disk can do, measured on it. */
#ifndef BWCTL_MEASURE_H
#define BWCTL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct measured - of a disk that nobody else uses
 * @bps: bytes a second where it is slowest, at its end
 * @seek_us: from one stream to the next where many wait: a read in a sweep over the
 *	disk, its data left aside
 * @disturbed: others used it meanwhile, so that it seems slower than it is
 */
struct measured {
	uint64_t bps;
	uint64_t seek_us;
	bool disturbed;
};

/* Read @disk for a few seconds: 0 or -errno; -EFBIG if it is too small for that. */
int disk_measure(const char *disk, struct measured *measured);

#endif
