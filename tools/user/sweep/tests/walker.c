// SPDX-License-Identifier: GPL-2.0
/*
 * A walk as the tests ask for it; prints what happens, one event after the
 * other, each ended by a zero byte.
 *
 * walker [-o ORDER] [-m BYTES] [-x] [-L] [-s] [-d NAME] [-q] [-e NAME=COMMAND] PATH...
 * -s: ask for the status of files; -d: do not enter NAME; -q: print only how many
 * there are, and the most memory in KiB;
 * -e: at the first event of an entry of that name, run the command;
 * -S NAME: end the walk there; -D NAME: when its data is read
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../platter.h"

#define STOPPED (-77)

static bool with_status, quiet;
static const char *closed, *stop_at, *stop_at_data;
static char *event_name, *command;
static unsigned long events;

static int event(const char *what, struct platter_entry *entry, int error)
{
	events++;
	if (!quiet)
		printf("%s %d %s%c", what, error, platter_path(entry), 0);
	if (command && !strcmp(platter_name(entry), event_name)) {
		fflush(stdout);
		if (system(command))
			exit(9);
		command = NULL;
	}
	return stop_at && !strcmp(platter_name(entry), stop_at) ? STOPPED : PLATTER_YES;
}

static int directory(struct platter_entry *entry, void *user)
{
	(void)user;
	if (closed && !strcmp(platter_name(entry), closed))
		return PLATTER_NO;
	platter_attach(entry, strdup(platter_name(entry)));
	return event("directory", entry, 0);
}

static int file(struct platter_entry *entry, void *user)
{
	(void)user;
	if (with_status && !platter_stat(entry))
		return event("gone", entry, 0) < 0 ? STOPPED : PLATTER_NO;
	return event("file", entry, platter_type(entry));
}

static int data(struct platter_entry *entry, void *user)
{
	int fd = platter_open(entry);

	(void)user;
	if (fd >= 0)
		close(fd);
	if (stop_at_data && !strcmp(platter_name(entry), stop_at_data))
		stop_at = stop_at_data;
	return event(fd < 0 ? "gone" : "data", entry, 0);
}

static int leave(struct platter_entry *entry, void *user)
{
	char *attached = platter_attached(entry);

	(void)user;
	if (strcmp(attached, platter_name(entry)))
		exit(8);
	free(attached);
	return event("leave", entry, 0);
}

static int failed(struct platter_entry *entry, int error, void *user)
{
	(void)user;
	return event("error", entry, error);
}

/* Most memory that the process had, since it is this program. */
static unsigned long peak_kib(void)
{
	FILE *in = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[256];

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			break;
	if (in)
		fclose(in);
	return kib;
}

int main(int argc, char **argv)
{
	struct platter_options options = {
		.directory = directory, .file = file, .data = data, .leave = leave,
		.error = failed,
	};
	int option, result;

	while ((option = getopt(argc, argv, "o:m:xLsd:qe:S:D:")) != -1)
		switch (option) {
		case 'o':
			options.order = (enum platter_order)platter_order_of_name(optarg);
			break;
		case 'm':
			options.memory = strtoul(optarg, NULL, 10);
			break;
		case 'x':
			options.flags |= PLATTER_ONE_FS;
			break;
		case 'L':
			options.flags |= PLATTER_FOLLOW;
			break;
		case 's':
			with_status = true;
			break;
		case 'd':
			closed = optarg;
			break;
		case 'q':
			quiet = true;
			break;
		case 'e':
			event_name = optarg;
			command = strchr(optarg, '=');
			*command++ = '\0';
			break;
		case 'S':
			stop_at = optarg;
			break;
		case 'D':
			stop_at_data = optarg;
			break;
		default:
			return 7;
		}
	result = platter_walk((const char *const *)argv + optind, (size_t)(argc - optind), &options);
	if (quiet)
		printf("%lu %lu", events, peak_kib());
	return result == STOPPED ? 6 : result ? 5 : 0;
}
