/* SPDX-License-Identifier: GPL-2.0 */
/* The tests of qfind. */
#ifndef SWEEP_MATCH_H
#define SWEEP_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "platter.h"

/**
 * struct match - tests, all of which must hold
 * @names, @nr_names: patterns
 * @types: a bit for each DT_ constant that is good; 0: all are
 * @sizes, @nr_sizes: of so many units
 * @has_newer, @newer: modified after that
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

/* Is the word one of -name, -type, -size, -newer? */
bool match_is_test(const char *word);

/* Add a test; ends the program if its value is no good. */
void match_parse(struct match *match, const char *test, const char *value);

/* 1: all hold; 0: one does not; -1: the inode cannot be read, errno is set. */
int match_entry(const struct match *match, struct platter_entry *entry);

void match_free(struct match *match);

#endif
