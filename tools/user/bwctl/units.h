/* SPDX-License-Identifier: GPL-2.0 */
/* Rates and times with units. */
#ifndef BWCTL_UNITS_H
#define BWCTL_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The amount @whole or, if @more is set, one between @whole and @whole + 1. */
struct amount {
	uint64_t whole;
	bool more;
};

/*
 * Parse "3M", "24Mbit/s", "3145728" into bits per second; parse "200ms",
 * "0.2s" into nanoseconds.  Return NULL, or the end of an error
 * message: "is empty".
 */
const char *parse_rate(const char *text, struct amount *bits_per_s);
const char *parse_time(const char *text, struct amount *ns);

#define AMOUNT_TEXT 32

/* "3 MiB/s", "384 KiB/s", "1000 B/s": exact, with at most three decimals. */
void format_rate(char text[AMOUNT_TEXT], uint64_t bytes_per_s);

/* "-12.1 KiB": rounded to one decimal, for tables. */
void format_bytes(char text[AMOUNT_TEXT], int64_t bytes);

#endif
