// SPDX-License-Identifier: GPL-2.0
/* Parse and print sizes in bytes. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

static const char units[] = "KMGTPE";

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return value / unit + (value % unit != 0);
}

bool size_of_text(const char *text, uint64_t *bytes)
{
	unsigned long long value;
	const char *unit = NULL;
	unsigned int shift;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return false;
	}
	shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	*bytes = (uint64_t)value << shift;
	return *bytes >> shift == value;
}

void size_to_text(uint64_t bytes, char text[SIZE_TEXT])
{
	uint64_t unit = 1, tenths;
	int power = -1;

	while (units[power + 1] && bytes / 1024 >= unit) {
		unit *= 1024;
		power++;
	}
	if (power < 0) {
		snprintf(text, SIZE_TEXT, "%llu", (unsigned long long)bytes);
		return;
	}
	/* less than 10 units, and the unit is at most 2^60 */
	tenths = bytes / unit < 10 ? round_up(bytes % unit * 10, unit) + bytes / unit * 10 : 100;
	if (tenths < 100)
		snprintf(text, SIZE_TEXT, "%u.%u%c", (unsigned int)tenths / 10,
			 (unsigned int)tenths % 10, units[power]);
	else if (round_up(bytes, unit) == 1024 && units[power + 1])
		snprintf(text, SIZE_TEXT, "1.0%c", units[power + 1]);
	else
		snprintf(text, SIZE_TEXT, "%llu%c",
			 (unsigned long long)round_up(bytes, unit), units[power]);
}
