// SPDX-License-Identifier: GPL-2.0
/*
 * Replays a list of requests with DiskSim, through its interface for system simulators. One
 * request is replayed at a time: the next one is issued when the last one is complete and the
 * think time has passed.
 *
 * Usage: replay PARAMETERS OUTPUT [COMPONENT PARAMETER VALUE]... < LIST
 *
 * Each line of the list is "R|W first-sector sectors think-time-in-us". For each it prints a line
 * with the response time in nanoseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disksim_interface.h"

static double now_ms;
static double event_ms = -1;
static int done;

static void schedule(disksim_interface_callback_t fn, double ms, void *ctx)
{
	event_ms = ms;
}

static void deschedule(double ms, void *ctx)
{
	event_ms = -1;
}

static void complete(double ms, struct disksim_request *request, void *ctx)
{
	done = 1;
	now_ms = ms;
}

/* Runs DiskSim until it is idle, at most until a time. */
static void work(struct disksim_interface *disksim, double until_ms)
{
	double ms;

	while (event_ms >= 0 && event_ms <= until_ms) {
		ms = event_ms;
		event_ms = -1;
		disksim_interface_internal_event(disksim, ms, NULL);
	}
}

/* Serves a request; returns the response time in milliseconds, less than 0: it never completes. */
static double serve(struct disksim_interface *disksim, int flags,
		    unsigned long sector, int sectors)
{
	struct disksim_request request;
	double begin_ms = now_ms, ms;

	memset(&request, 0, sizeof(request));
	request.start = now_ms;
	request.flags = flags;
	request.blkno = sector;
	request.bytecount = sectors; /* in spite of its name */
	done = 0;
	disksim_interface_request_arrive(disksim, now_ms, &request);
	while (!done && event_ms >= 0) {
		ms = event_ms;
		event_ms = -1;
		disksim_interface_internal_event(disksim, ms, NULL);
	}
	return done ? now_ms - begin_ms : -1;
}

int main(int argc, char **argv)
{
	struct disksim_interface *disksim;
	unsigned long sector;
	double think_us, ms;
	int sectors;
	char kind;

	if (argc < 3 || argc % 3) {
		fprintf(stderr, "usage: %s PARAMETERS OUTPUT [COMPONENT PARAMETER VALUE]... < LIST\n",
			argv[0]);
		return 2;
	}
	disksim = disksim_interface_initialize(argv[1], argv[2], complete, schedule,
					       deschedule, NULL, argc - 3, argv + 3);
	while (scanf(" %c %lu %d %lf", &kind, &sector, &sectors, &think_us) == 4) {
		ms = now_ms + think_us / 1000;
		work(disksim, ms);
		now_ms = ms;
		ms = serve(disksim, kind == 'R' ? DISKSIM_READ : DISKSIM_WRITE, sector,
			   sectors);
		if (ms < 0) {
			fprintf(stderr, "%s: a request for sector %lu never completes\n", argv[0],
				sector);
			return 1;
		}
		printf("%.0f\n", ms * 1e6);
	}
	return 0;
}
