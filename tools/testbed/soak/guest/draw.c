// SPDX-License-Identifier: GPL-2.0
/* Draws what a worker does. */
#define _GNU_SOURCE
#include "soak.h"

/* Any class; in class BW rates of 128 KiB/s to 16 MiB/s, and any delay. */
int draw_ioprio(uint64_t *state)
{
	unsigned int level = draw_below(state, IOPRIO_NR_LEVELS), dice = draw_below(state, 100);

	if (dice < 35)
		return IOPRIO_BW(draw_size(state, 1, 128), level);
	if (dice < 50)
		return IOPRIO(IOPRIO_CLASS_RT, level);
	if (dice < 85)
		return IOPRIO(IOPRIO_CLASS_BE, level);
	return IOPRIO(IOPRIO_CLASS_IDLE, 0);
}

enum category category_of(int ioprio)
{
	switch (ioprio >> 13) {
	case IOPRIO_CLASS_RT:
		return RT;
	case IOPRIO_CLASS_BW:
		return BW;
	case IOPRIO_CLASS_IDLE:
		return IDLE;
	default:
		return BE;
	}
}

/*
 * Reduces the levels of a writer to three: each level has an asynchronous queue of its own,
 * and three queues are enough.
 */
int writer_ioprio(int ioprio)
{
	if (ioprio >> 13 == IOPRIO_CLASS_BW || ioprio >> 13 == IOPRIO_CLASS_IDLE)
		return ioprio;
	return IOPRIO(ioprio >> 13, (ioprio & 7) < 3 ? 0 : (ioprio & 7) < 6 ? 4 : 7);
}

/*
 * Draws the whole disk, or a part of it. Random readers share a part: workers near the head
 * must not starve those elsewhere. The part is large enough for CFQ to see the readers as
 * seeky, and so small that one of them is always near the head.
 */
static void draw_region(uint64_t *state, const struct disk *d, struct slot *s)
{
	unsigned int dice = draw_below(state, 100);
	bool random = s->kind == RANDOM || s->kind == URING;

	s->offset = 0;
	s->length = d->bytes / MIB * MIB;
	if (random && dice < 40)
		return;
	s->length = dice < 80 ? 24 * MIB : dice < 90 ? 256 * MIB : 4096 * MIB;
	if (random)
		s->offset = d->hot;
	else
		s->offset = draw_below(state, (d->bytes - s->length) / MIB) * MIB;
	/* a region larger than the page cache, as cached reads cause no I/O */
	if (s->kind == BUFFERED)
		s->length = d->bytes / MIB * MIB - s->offset;
}

/* Returns the most requests that an operation may have to wait for. */
static unsigned int requests_of(const struct slot *s)
{
	uint64_t bytes = s->size;

	switch (s->kind) {
	case WRITER:
		/* fsync waits for what all writers of the disk have written */
		bytes = (uint64_t)job.slots * LARGEST_WRITE * MAX_FSYNC_EVERY;
		break;
	case BUFFERED:
		bytes += 2 * LARGEST_READ_AHEAD;
		break;
	case URING:
		/* and those in front of it in the same queue */
		return s->depth * ((bytes + SMALLEST_REQUEST - 1) / SMALLEST_REQUEST);
	default:
		break;
	}
	/* rounded up: a range may not be aligned to the size of a request */
	return (bytes + SMALLEST_REQUEST - 1) / SMALLEST_REQUEST;
}

static enum kind draw_kind(uint64_t *state)
{
	static const enum kind kinds[] = {
		PACED, PACED, PACED, GREEDY, GREEDY, RANDOM, RANDOM, RANDOM,
		URING, URING, URING, BUFFERED, BUFFERED, WRITER, DIRECT_WRITER,
	};

	return kinds[draw_below(state, sizeof(kinds) / sizeof(kinds[0]))];
}

void draw_slot(uint64_t *state, const struct disk *d, struct slot *s)
{
	s->kind = draw_kind(state);
	s->ending = s->killed = s->stop = false;
	s->seed = draw(state);
	s->depth = 1;
	s->mixed = s->ahead = false;
	s->group = -1;
	s->fsync_every = 0;
	s->period_ns = s->think_ns = 0;
	s->count = draw_size(state, 2, 65536);
	draw_region(state, d, s);
	s->ioprio = draw_ioprio(state);

	switch (s->kind) {
	case PACED:
		s->size = draw_size(state, 64 * KIB, LARGEST_READ);
		s->period_ns = (20 + draw_below(state, 980)) * NSEC_PER_MSEC;
		break;
	case GREEDY:
		s->size = draw_size(state, 16 * KIB, LARGEST_READ);
		break;
	case RANDOM:
		s->size = draw_size(state, 4 * KIB, 64 * KIB);
		if (chance(state, 50))
			s->think_ns = (1 + draw_below(state, 20)) * NSEC_PER_MSEC;
		break;
	case URING:
		s->size = draw_size(state, 4 * KIB, 128 * KIB);
		s->depth = draw_size(state, 2, MAX_DEPTH);
		s->mixed = chance(state, 30);
		if (chance(state, 50))
			s->think_ns = (1 + draw_below(state, 10)) * NSEC_PER_MSEC;
		break;
	case BUFFERED:
		s->size = draw_size(state, 4 * KIB, 256 * KIB);
		s->think_ns = (1 + draw_below(state, 5)) * NSEC_PER_MSEC;
		break;
	case WRITER:
		s->size = draw_size(state, 4 * KIB, LARGEST_WRITE);
		/* others never call it: their pages are written back in the background */
		if (chance(state, 70))
			s->fsync_every = draw_size(state, 1, MAX_FSYNC_EVERY);
		s->ahead = chance(state, 50);
		s->think_ns = (1 + draw_below(state, 100)) * NSEC_PER_MSEC;
		s->ioprio = writer_ioprio(s->ioprio);
		break;
	default:
		s->size = draw_size(state, 4 * KIB, LARGEST_WRITE);
		s->think_ns = (1 + draw_below(state, 50)) * NSEC_PER_MSEC;
		break;
	}
	s->requests = requests_of(s);
	s->category = s->lowest = category_of(s->ioprio);
	s->issue_ns = 0;
	s->operations = 0;
}
