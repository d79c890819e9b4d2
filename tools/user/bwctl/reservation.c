// SPDX-License-Identifier: GPL-2.0
/*
 * Read sched/reservations (lines of "name value name value ...") and
 * sched/counters ("name value").  Unknown names are skipped, so that a newer
 * kernel may add some.  A line that lacks one of the known names, or has a value
 * that is not a number, counts as damaged and is left out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reservation.h"

struct field {
	const char *name;
	size_t offset;
	bool may_be_negative;
};

#define FIELD(name, negative) { #name, offsetof(struct reservation, name), negative }
#define SLACK(part) { "slack" #part, offsetof(struct reservation, slack[part]), false }

static const struct field fields[] = {
	FIELD(pid, false), FIELD(rate, false), FIELD(delay_ms, false),
	FIELD(bucket, false), FIELD(tokens, true), FIELD(bytes_in, false),
	FIELD(bytes_over, false), FIELD(met, false), FIELD(missed, false),
	SLACK(0), SLACK(1), SLACK(2), SLACK(3), SLACK(4), SLACK(5), SLACK(6), SLACK(7),
	FIELD(cgroup, false),
};

#define NR_FIELDS (sizeof(fields) / sizeof(fields[0]))
/* The last field is optional. */
#define ALL_FIELDS ((1u << (NR_FIELDS - 1)) - 1)

static bool parse_signed(const char *text, bool may_be_negative, int64_t *value)
{
	bool negative = may_be_negative && *text == '-';
	uint64_t size;

	if (!parse_decimal(text + negative, INT64_MAX, &size))
		return false;
	*value = negative ? -(int64_t)size : (int64_t)size;
	return true;
}

static const struct field *find_field(const char *name)
{
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

/* Set one field.  Returns false if it is damaged or occurs twice. */
static bool set_field(struct reservation *entry, const char *name, const char *text,
		      unsigned int *seen)
{
	const struct field *field = find_field(name);
	unsigned int bit;

	if (!field)
		return true;
	bit = 1u << (field - fields);
	if (*seen & bit)
		return false;
	*seen |= bit;
	return parse_signed(text, field->may_be_negative,
			    (int64_t *)((char *)entry + field->offset));
}

static bool parse_reservation(char *line, struct reservation *entry)
{
	char *save, *name, *text;
	unsigned int seen = 0;

	entry->cgroup = 0;
	for (name = strtok_r(line, " \t", &save); name; name = strtok_r(NULL, " \t", &save)) {
		text = strtok_r(NULL, " \t", &save);
		if (!text || !set_field(entry, name, text, &seen))
			return false;
	}
	return (seen & ALL_FIELDS) == ALL_FIELDS;
}

static bool parse_counter(char *line, struct counter *entry)
{
	char *save, *name = strtok_r(line, " \t", &save), *text = strtok_r(NULL, " \t", &save);

	if (!name || !text || strtok_r(NULL, " \t", &save) || strlen(name) >= sizeof(entry->name))
		return false;
	strcpy(entry->name, name);
	return parse_signed(text, true, &entry->value);
}

static void sched_path(const char *name, const char *file, char path[PATH_SIZE])
{
	put_path(path, "%s/block/%s/sched/%s", debugfs_root(), name, file);
}

void reservations_path(const char *name, char path[PATH_SIZE])
{
	sched_path(name, "reservations", path);
}

/*
 * Read the next line that is not blank, without its newline.  Returns 1, 0 at the
 * end, or -errno.  A line with a NUL in it is damaged and becomes "?".
 */
static int next_line(FILE *file, char **line, size_t *size)
{
	ssize_t length;

	do {
		errno = 0;
		length = getline(line, size, file);
		if (length < 0)
			return -errno;
		if ((*line)[length - 1] == '\n')
			(*line)[--length] = '\0';
	} while (!length);
	if (strlen(*line) != (size_t)length)
		strcpy(*line, "?");
	return 1;
}

/* Call @take for each line of a file of the disk.  Returns 0 or -errno. */
static int each_line(const char *name, const char *file, void *result,
		     void (*take)(void *result, char *line))
{
	char path[PATH_SIZE], *line = NULL;
	size_t size = 0;
	FILE *stream;
	int more;

	sched_path(name, file, path);
	stream = fopen(path, "re");
	if (!stream)
		return -errno;
	while ((more = next_line(stream, &line, &size)) > 0)
		take(result, line);
	free(line);
	fclose(stream);
	return more;
}

static void take_reservation(void *result, char *line)
{
	struct reservations *list = result;
	struct reservation entry;

	if (!parse_reservation(line, &entry)) {
		list->damaged++;
		return;
	}
	list->entries = grow(list->entries, list->count + 1, sizeof(entry));
	list->entries[list->count++] = entry;
}

static void take_counter(void *result, char *line)
{
	struct counters *list = result;
	struct counter entry;

	if (!parse_counter(line, &entry)) {
		list->damaged++;
		return;
	}
	list->entries = grow(list->entries, list->count + 1, sizeof(entry));
	list->entries[list->count++] = entry;
}

void read_reservations(const char *name, struct reservations *result)
{
	memset(result, 0, sizeof(*result));
	result->error = each_line(name, "reservations", result, take_reservation);
}

void read_counters(const char *name, struct counters *result)
{
	memset(result, 0, sizeof(*result));
	result->error = each_line(name, "counters", result, take_counter);
}
