// SPDX-License-Identifier: GPL-2.0
/* Reads DIR/job, which load.py writes: creates the disks, and keeps the lists to draw from. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "soak.h"

struct job job = {
	.phase_ns = 600 * NSEC_PER_SEC,
	.sample_ns = NSEC_PER_SEC,
	.event_ns = 50 * NSEC_PER_MSEC,
	.slots = 8,
};

static uint64_t number(const char *text, const char *key)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		fail("job: %s: '%s' is not a number", key, text);
	return v;
}

static char *keep(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		fail("out of memory");
	return copy;
}

static char *cut(char *text, char at)
{
	char *rest = strchr(text, at);

	if (!rest)
		fail("job: '%s' lacks an argument", text);
	*rest = '\0';
	return rest + 1;
}

static void parse_choices(struct setting *s, char *text)
{
	char *save = NULL;

	for (char *tok = strtok_r(text, "|", &save); tok; tok = strtok_r(NULL, "|", &save)) {
		if (s->nr == MAX_CHOICES)
			fail("job: more than %d choices", MAX_CHOICES);
		s->choices[s->nr++] = keep(tok);
	}
	if (!s->nr)
		fail("job: no choices");
}

static void parse_setting(char *text, bool tunable)
{
	struct setting *s = &job.settings[job.nr_settings];
	char *choices = cut(text, ' ');

	if (job.nr_settings++ == MAX_SETTINGS)
		fail("job: more than %d settings", MAX_SETTINGS);
	s->name = keep(text);
	s->tunable = tunable;
	parse_choices(s, choices);
}

static void parse_disk(char *text)
{
	struct disk *d = &shared->disks[job.nr_disks];
	char *mib = cut(text, ' ');

	if (job.nr_disks++ == MAX_DISKS)
		fail("job: more than %d disks", MAX_DISKS);
	snprintf(d->name, sizeof(d->name), "%s", text);
	d->bytes = number(mib, "disk") * MIB;
}

static void parse_other(char *text)
{
	char *name = cut(text, ' '), *value = cut(name, ' ');

	if (job.nr_others == MAX_CHOICES)
		fail("job: more than %d settings of other schedulers", MAX_CHOICES);
	job.others[job.nr_others][0] = keep(text);
	job.others[job.nr_others][1] = keep(name);
	job.others[job.nr_others][2] = keep(value);
	job.nr_others++;
}

static void obey(char *verb, char *rest)
{
	const struct {
		const char *verb;
		uint64_t *value;
	} numbers[] = {
		{ "seed", &job.seed },
		{ "requests", &job.requests },
		{ "until_ns", &job.until_ns },
		{ "phase_ns", &job.phase_ns },
		{ "sample_ns", &job.sample_ns },
		{ "event_ns", &job.event_ns },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(verb, numbers[i].verb)) {
			*numbers[i].value = number(rest, verb);
			return;
		}
	}
	if (!strcmp(verb, "mkdir")) {
		if (mkdir(rest, 0755))
			fail("job: mkdir %s: %s", rest, strerror(errno));
	} else if (!strcmp(verb, "write")) {
		char *value = cut(rest, ' ');

		write_file(rest, value);
	} else if (!strcmp(verb, "disk")) {
		parse_disk(rest);
	} else if (!strcmp(verb, "slots")) {
		job.slots = number(rest, verb);
		if (!job.slots || job.slots > MAX_SLOTS)
			fail("job: slots: 1 to %d", MAX_SLOTS);
	} else if (!strcmp(verb, "groups")) {
		job.nr_groups = number(rest, verb);
		if (job.nr_groups > MAX_GROUPS)
			fail("job: groups: at most %d", MAX_GROUPS);
	} else if (!strcmp(verb, "line")) {
		parse_choices(&job.lines, rest);
	} else if (!strcmp(verb, "tunable") || !strcmp(verb, "queue")) {
		parse_setting(rest, verb[0] == 't');
	} else if (!strcmp(verb, "scheduler")) {
		parse_choices(&job.schedulers, rest);
	} else if (!strcmp(verb, "other")) {
		parse_other(rest);
	} else {
		fail("job: unknown verb '%s'", verb);
	}
}

void read_job(void)
{
	FILE *f = fopen(RESULTS "/job", "r");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		fail("job: %s", strerror(errno));
	while (getline(&text, &size, f) > 0) {
		char *rest;

		text[strcspn(text, "\n")] = '\0';
		if (!text[0] || text[0] == '#')
			continue;
		rest = cut(text, ' ');
		obey(text, rest);
	}
	free(text);
	fclose(f);
	if (!job.nr_disks || !job.requests || !job.until_ns || !job.schedulers.nr)
		fail("job: needs disk, requests, until_ns and scheduler");
	if (job.nr_groups && !job.lines.nr)
		fail("job: groups need lines");
}
