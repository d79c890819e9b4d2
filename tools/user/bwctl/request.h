/* SPDX-License-Identifier: GPL-2.0 */
/* Convert --rate and --delay to an I/O priority. */
#ifndef BWCTL_REQUEST_H
#define BWCTL_REQUEST_H

#include <stdbool.h>

#include "options.h"

struct request {
	unsigned int rate_units;	/* of 128 KiB/s */
	unsigned int delay_level;
	unsigned int delay_ms;		/* entry of the table used */
	bool rate_rounded;		/* up */
	bool delay_rounded;		/* down */
};

/*
 * Encode --rate and --delay with the delay table of --device, or the default one.
 * Prints errors and, unless --quiet, what was rounded.  Returns an exit code.
 */
int make_request(const struct options *options, struct request *request);

int request_ioprio(const struct request *request);

/*
 * Print why the kernel refused the priority of @whom.  @error is -errno; @own:
 * the priority was the caller's own.
 */
void say_refused(int error, const char *whom, bool own);

#endif
