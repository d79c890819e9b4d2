/* SPDX-License-Identifier: GPL-2.0 */
/* The tests of qfind. */
#ifndef SWEEP_MATCH_H
#define SWEEP_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "platter.h"

/**
 * struct match - tests, all of which must be true
 * @names, @nr_names: patterns
 * @types: a bit for each DT_ constant that matches; 0: all match
 * @sizes, @nr_sizes: sizes in units
 * @has_newer, @newer: modified after this time
 */
struct match {
	const char **names;
	size_t nr_names;
	unsigned int types;
	struct size_test {
		int sign;
		uint64_t units;
		uint64_t unit;
	} *sizes;
	size_t nr_sizes;
	bool has_newer;
	struct timespec newer;
};

/* Whether the word is one of -name, -type, -size, -newer. */
bool match_is_test(const char *word);

/* Add a test; exits if its value is invalid. */
void match_parse(struct match *match, const char *test, const char *value);

/* Returns 1 if all tests are true, 0 if one is false, -1 with errno set if the inode cannot be read. */
int match_entry(const struct match *match, struct platter_entry *entry);

void match_free(struct match *match);

#endif
