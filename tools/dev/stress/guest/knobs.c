// SPDX-License-Identifier: GPL-2.0
/*
 * Turns knobs of the kernel at random:
 *
 *	knobs TABLE SEED MEAN_MS
 *
 * A line of TABLE is a path, the errors that are no faults there (with commas
 * between them, or "-"), and values, with tabs between all of these. A value A..B
 * is any number from A to B, small ones as often as large ones. Every MEAN_MS
 * milliseconds on average a value is written to a path, until SIGTERM. Then prints
 * "file<TAB>result<TAB>count" for each kind of result: "done", "expected E...",
 * "unexpected E...".
 *
 * Exit codes: 0 good; 1 an error where none may be; 2 bad use.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "chance.h"

#define MAX_VALUES	32

struct knob {
	char *path, *allowed;
	char *values[MAX_VALUES];
	int nr_values;
	unsigned long done, failed[256];
};

static struct knob *knobs;
static size_t nr_knobs;
static uint64_t state;
static volatile sig_atomic_t stop;
static bool bad;

static uint64_t below(uint64_t n)
{
	return draw_below(&state, n);
}

static void end(int sig)
{
	(void)sig;
	stop = 1;
}

static void read_table(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL, *rest, *word;
	size_t size = 0;

	if (!file)
		err(2, "%s", path);
	while (getline(&line, &size, file) > 0) {
		struct knob *knob;

		line[strcspn(line, "\n")] = 0;
		if (!*line || *line == '#')
			continue;
		knobs = realloc(knobs, (nr_knobs + 1) * sizeof(*knobs));
		if (!knobs)
			err(2, "memory");
		knob = &knobs[nr_knobs++];
		*knob = (struct knob) {};
		rest = strdup(line);
		knob->path = strsep(&rest, "\t");
		knob->allowed = strsep(&rest, "\t");
		while ((word = strsep(&rest, "\t")) && knob->nr_values < MAX_VALUES)
			knob->values[knob->nr_values++] = word;
		if (!knob->nr_values || word)
			errx(2, "%s: %s: no values, or too many", path, knob->path);
	}
	free(line);
	fclose(file);
	if (!nr_knobs)
		errx(2, "%s: no knobs", path);
}

static void choose(const struct knob *knob, char *text, size_t size)
{
	const char *value = knob->values[below(knob->nr_values)];
	unsigned long long from, to;
	int end = 0;

	if (sscanf(value, "%llu..%llu%n", &from, &to, &end) == 2 && !value[end])
		snprintf(text, size, "%llu", !below(5) ? (below(2) ? from : to) :
			 from + below(1 + ((to - from) >> below(16))));
	else
		snprintf(text, size, "%s", value);
}

static bool allowed(const struct knob *knob, int error)
{
	const char *name = strerrorname_np(error), *at = knob->allowed;
	size_t len = strlen(name);

	while (at) {
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
		at = strchr(at, ',');
		at += !!at;
	}
	return false;
}

static void turn(struct knob *knob)
{
	char text[256];
	int fd, error = 0;

	choose(knob, text, sizeof(text));
	fd = open(knob->path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	if (!error) {
		knob->done++;
		return;
	}
	knob->failed[error & 255]++;
	if (!allowed(knob, error)) {
		printf("ERROR: %s does not take %s: %s\n", knob->path, text, strerror(error));
		fflush(stdout);
		bad = true;
	}
}

static void report(void)
{
	size_t i, e;

	for (i = 0; i < nr_knobs; i++) {
		const char *path = knobs[i].path;
		const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

		if (knobs[i].done)
			printf("%s\tdone\t%lu\n", name, knobs[i].done);
		for (e = 0; e < 256; e++)
			if (knobs[i].failed[e])
				printf("%s\t%s %s\t%lu\n", name,
				       allowed(&knobs[i], e) ? "expected" : "unexpected",
				       strerrorname_np(e), knobs[i].failed[e]);
	}
}

int main(int argc, char **argv)
{
	uint64_t mean_us;

	if (argc != 4) {
		fprintf(stderr, "usage: %s TABLE SEED MEAN_MS\n", argv[0]);
		return 2;
	}
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = end }, NULL);
	read_table(argv[1]);
	state = strtoull(argv[2], NULL, 0);
	mean_us = strtoull(argv[3], NULL, 0) * 1000;
	while (!stop) {
		uint64_t pause_us = below(2 * mean_us + 1);

		nanosleep(&(struct timespec){ pause_us / 1000000, pause_us % 1000000 * 1000 },
			  NULL);
		if (!stop)
			turn(&knobs[below(nr_knobs)]);
	}
	report();
	return bad;
}
