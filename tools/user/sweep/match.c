// SPDX-License-Identifier: GPL-2.0
/* The tests of qfind; those of name and type come first, since they do not read the inode. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "match.h"
#include "program.h"

static unsigned int type_of_letter(char letter)
{
	static const struct {
		char letter;
		unsigned char type;
	} types[] = {
		{ 'b', DT_BLK }, { 'c', DT_CHR }, { 'd', DT_DIR }, { 'f', DT_REG },
		{ 'l', DT_LNK }, { 'p', DT_FIFO }, { 's', DT_SOCK },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].letter == letter)
			return 1U << types[i].type;
	return 0;
}

static void parse_types(struct match *match, const char *value)
{
	const char *at = value;
	unsigned int types = 0, bit;

	do {
		bit = *at ? type_of_letter(*at) : 0;
		if (!bit || (at[1] && at[1] != ','))
			bad_use("-type: invalid type '%s': use b, c, d, f, l, p, s, or a list such as f,l",
				value);
		types |= bit;
		at += at[1] ? 2 : 1;
	} while (*at || at[-1] == ',');
	match->types = match->types ? match->types & types : types;
	if (!match->types)
		bad_use("-type: given twice with different types: no file matches");
}

static uint64_t unit_of_letter(char letter)
{
	switch (letter) {
	case '\0':
	case 'b':
		return 512;
	case 'c':
		return 1;
	case 'w':
		return 2;
	case 'k':
		return 1 << 10;
	case 'M':
		return 1 << 20;
	case 'G':
		return 1 << 30;
	default:
		return 0;
	}
}

static void parse_size(struct match *match, const char *value)
{
	struct size_test size = { 0 };
	const char *digits = value;
	char *end;

	if (*value == '+' || *value == '-')
		size.sign = *digits++ == '+' ? 1 : -1;
	errno = 0;
	size.units = strtoull(digits, &end, 10);
	size.unit = *end && end[1] ? 0 : unit_of_letter(*end);
	if (!isdigit((unsigned char)*digits) || errno || !size.unit)
		bad_use("-size: invalid size '%s' (examples: +10M, -64k, 512c)", value);
	match->sizes = need(reallocarray(match->sizes, match->nr_sizes + 1, sizeof(size)));
	match->sizes[match->nr_sizes++] = size;
}

static bool is_after(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static void parse_newer(struct match *match, const char *value)
{
	struct stat st;

	if (lstat(value, &st))
		bad_use("-newer: cannot read '%s': %s", value, strerror(errno));
	if (!match->has_newer || is_after(&st.st_mtim, &match->newer))
		match->newer = st.st_mtim;
	match->has_newer = true;
}

bool match_is_test(const char *word)
{
	return !strcmp(word, "-name") || !strcmp(word, "-type") ||
	       !strcmp(word, "-size") || !strcmp(word, "-newer");
}

void match_parse(struct match *match, const char *test, const char *value)
{
	if (!strcmp(test, "-type")) {
		parse_types(match, value);
	} else if (!strcmp(test, "-size")) {
		parse_size(match, value);
	} else if (!strcmp(test, "-newer")) {
		parse_newer(match, value);
	} else {
		match->names = need(reallocarray(match->names, match->nr_names + 1,
						 sizeof(*match->names)));
		match->names[match->nr_names++] = value;
	}
}

/* The last part of an operand, which may be a path with slashes at its end. */
static char *last_part(const char *name)
{
	size_t end = strlen(name), begin;

	while (end > 1 && name[end - 1] == '/')
		end--;
	for (begin = end; begin && name[begin - 1] != '/'; begin--)
		;
	if (begin == end)
		begin = 0;	/* the root */
	return need(strndup(name + begin, end - begin));
}

static bool name_matches(const struct match *match, const char *name)
{
	for (size_t i = 0; i < match->nr_names; i++)
		if (fnmatch(match->names[i], name, 0))
			return false;
	return true;
}

static bool entry_name_matches(const struct match *match, struct platter_entry *entry)
{
	bool matches;
	char *name;

	if (platter_depth(entry) || !match->nr_names)
		return name_matches(match, platter_name(entry));
	name = last_part(platter_name(entry));
	matches = name_matches(match, name);
	free(name);
	return matches;
}

static bool size_matches(const struct size_test *size, uint64_t bytes)
{
	uint64_t units = bytes / size->unit + !!(bytes % size->unit);

	if (size->sign > 0)
		return units > size->units;
	return size->sign < 0 ? units < size->units : units == size->units;
}

int match_entry(const struct match *match, struct platter_entry *entry)
{
	const struct stat *status;

	if (match->types && !(match->types & 1U << platter_type(entry)))
		return 0;
	if (!entry_name_matches(match, entry))
		return 0;
	if (!match->nr_sizes && !match->has_newer)
		return 1;
	status = platter_stat(entry);
	if (!status)
		return -1;
	for (size_t i = 0; i < match->nr_sizes; i++)
		if (!size_matches(&match->sizes[i], (uint64_t)status->st_size))
			return 0;
	return !match->has_newer || is_after(&status->st_mtim, &match->newer);
}

void match_free(struct match *match)
{
	free(match->names);
	free(match->sizes);
}
