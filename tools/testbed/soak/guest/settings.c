// SPDX-License-Identifier: GPL-2.0
/* The scheduler of a disk, its tunables and the settings of its queue. */
#define _GNU_SOURCE
#include <inttypes.h>

#include "soak.h"

static void apply_setting(struct disk *d, unsigned int i, const char *value)
{
	const struct setting *s = &job.settings[i];
	char path[PATH_MAX];
	int ret;

	if (s->tunable && d->scheduler != job.schedulers.choices[0])
		return;
	snprintf(path, sizeof(path), "/sys/block/%s/queue/%s%s", d->name,
		 s->tunable ? "iosched/" : "", s->name);
	log_event(d, "set %s %s", s->name, value);
	ret = try_write_file(path, value);
	/* without a scheduler nr_requests cannot be more than the drive takes */
	if (ret && !(ret == EINVAL && d->scheduler != job.schedulers.choices[0]))
		fail("write '%s' to %s: %s", value, path, strerror(ret));
}

void apply_usual(struct disk *d)
{
	for (unsigned int i = 0; i < job.nr_settings; i++)
		apply_setting(d, i, job.settings[i].choices[0]);
}

void change_setting(uint64_t *state, struct disk *d)
{
	unsigned int i = draw_below(state, job.nr_settings);

	apply_setting(d, i, job.settings[i].choices[draw_below(state, job.settings[i].nr)]);
}

void set_scheduler(struct disk *d, const char *scheduler)
{
	char path[PATH_MAX];

	log_event(d, "switch %s", scheduler);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", d->name);
	write_file(path, scheduler);
	d->scheduler = scheduler;
	log_event(d, "scheduler %s completed %" PRIu64 " flushes %" PRIu64 " %" PRIu64, scheduler,
		  completed(d), d->flushes_begun, d->flushes_ended);
	for (unsigned int i = 0; i < job.nr_others; i++) {
		if (strcmp(job.others[i][0], scheduler))
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s/queue/iosched/%s", d->name,
			 job.others[i][1]);
		write_file(path, job.others[i][2]);
	}
	/* a new scheduler and its queue begin with their own defaults */
	if (scheduler == job.schedulers.choices[0])
		apply_usual(d);
}

/* Switches to another scheduler, or back to the first of the job. */
void change_scheduler(uint64_t *state, struct disk *d)
{
	const struct setting *s = &job.schedulers;

	/* setting the same scheduler again changes nothing */
	if (s->nr == 1)
		return;
	if (d->scheduler == s->choices[0])
		set_scheduler(d, s->choices[1 + draw_below(state, s->nr - 1)]);
	else
		set_scheduler(d, s->choices[0]);
}
