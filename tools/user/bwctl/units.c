// SPDX-License-Identifier: GPL-2.0
/*
 * Parse and print rates and times: a decimal number and a unit.  Integer
 * arithmetic only, so that rounding is detected exactly.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "units.h"

#define MAX_DECIMALS	9
#define DECIMALS_SCALE	1000000000u	/* 10^MAX_DECIMALS */

#define KIB		1024u
#define MIB		(1024u * 1024)

struct unit {
	const char *name;
	uint64_t scale;
	bool has_prefix;	/* k, M or G, in either case */
};

/*
 * In bits.  The largest scale times 10^MAX_DECIMALS must fit into 64 bits.
 * 'b' and 'B' are different; "Mb" is ambiguous and refused.
 */
static const struct unit rate_units[] = {
	{ "", 8, false }, { "B", 8, false }, { "bit", 1, false },
	{ "K", 8ull << 10, true }, { "M", 8ull << 20, true }, { "G", 8ull << 30, true },
	{ "KiB", 8ull << 10, true }, { "MiB", 8ull << 20, true }, { "GiB", 8ull << 30, true },
	{ "kB", 8000, true }, { "MB", 8000000, true }, { "GB", 8000000000, true },
	{ "kbit", 1000, true }, { "Mbit", 1000000, true }, { "Gbit", 1000000000, true },
	{ NULL, 0, false }
};

/* In nanoseconds.  A time must have a unit. */
static const struct unit time_units[] = {
	{ "us", 1000, false }, { "ms", 1000000, false }, { "s", 1000000000, false },
	{ NULL, 0, false }
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether @text, of @length characters, names the unit. */
static bool names_unit(const struct unit *unit, const char *text, size_t length)
{
	if (strlen(unit->name) != length)
		return false;
	if (unit->has_prefix)
		return lower(unit->name[0]) == lower(text[0]) &&
		       !strncmp(unit->name + 1, text + 1, length - 1);
	return !strncmp(unit->name, text, length);
}

static const struct unit *find_unit(const struct unit *units, const char *text,
				    size_t length)
{
	for (; units->name; units++)
		if (names_unit(units, text, length))
			return units;
	return NULL;
}

struct number {
	uint64_t integer;
	uint64_t decimals;	/* in 10^-MAX_DECIMALS */
};

static const char *parse_integer(const char **text, uint64_t *integer)
{
	for (*integer = 0; is_digit(**text); (*text)++)
		if (__builtin_mul_overflow(*integer, 10, integer) ||
		    __builtin_add_overflow(*integer, (uint64_t)(**text - '0'), integer))
			return "is too large";
	return NULL;
}

static const char *parse_decimals(const char **text, uint64_t *decimals)
{
	uint64_t place = DECIMALS_SCALE / 10;

	if (!is_digit(**text))
		return "has no digit after the decimal point";
	for (*decimals = 0; is_digit(**text); (*text)++) {
		if (!place && **text != '0')
			return "has more than 9 decimals";
		*decimals += (uint64_t)(**text - '0') * place;
		place /= 10;
	}
	return NULL;
}

/* Parse the number at the beginning of @text, and advance @text past it. */
static const char *parse_number(const char **text, struct number *number)
{
	const char *wrong;

	number->decimals = 0;
	if (!**text)
		return "is empty";
	if (**text == '-')
		return "is negative";
	if (!is_digit(**text))
		return "is not a number with a unit";
	wrong = parse_integer(text, &number->integer);
	if (wrong || **text != '.')
		return wrong;
	(*text)++;
	return parse_decimals(text, &number->decimals);
}

static const char *scale_number(const struct number *number, uint64_t scale,
				struct amount *amount)
{
	uint64_t part = number->decimals * scale;

	if (__builtin_mul_overflow(number->integer, scale, &amount->whole) ||
	    __builtin_add_overflow(amount->whole, part / DECIMALS_SCALE, &amount->whole))
		return "is too large";
	amount->more = part % DECIMALS_SCALE != 0;
	return NULL;
}

const char *parse_rate(const char *text, struct amount *bits_per_s)
{
	const struct unit *unit;
	struct number number;
	const char *wrong = parse_number(&text, &number);
	size_t length;

	if (wrong)
		return wrong;
	length = strlen(text);
	if (length >= 2 && !strcmp(text + length - 2, "/s"))
		length -= 2;
	unit = find_unit(rate_units, text, length);
	if (!unit)
		return "has no valid unit: use B, K, M, G, KiB, MiB, GiB, kB, MB, GB, bit, kbit, Mbit or Gbit";
	return scale_number(&number, unit->scale, bits_per_s);
}

const char *parse_time(const char *text, struct amount *ns)
{
	const struct unit *unit;
	struct number number;
	const char *wrong = parse_number(&text, &number);

	if (wrong)
		return wrong;
	unit = find_unit(time_units, text, strlen(text));
	if (!unit)
		return "has no valid unit: use us, ms or s";
	return scale_number(&number, unit->scale, ns);
}

void format_rate(char text[AMOUNT_TEXT], uint64_t bytes_per_s)
{
	uint64_t eighths = bytes_per_s / (MIB / 8);
	static const char *const fraction[] = {
		"", ".125", ".25", ".375", ".5", ".625", ".75", ".875"
	};

	if (bytes_per_s >= MIB && bytes_per_s % (MIB / 8) == 0)
		snprintf(text, AMOUNT_TEXT, "%" PRIu64 "%s MiB/s", eighths / 8,
			 fraction[eighths % 8]);
	else if (bytes_per_s && bytes_per_s % KIB == 0)
		snprintf(text, AMOUNT_TEXT, "%" PRIu64 " KiB/s", bytes_per_s / KIB);
	else
		snprintf(text, AMOUNT_TEXT, "%" PRIu64 " B/s", bytes_per_s);
}

void format_bytes(char text[AMOUNT_TEXT], int64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t i = 0;

	/* 1023.95 would be printed as 1024.0 */
	while (i + 1 < sizeof(names) / sizeof(names[0]) && (value >= 1023.95 || value <= -1023.95)) {
		value /= KIB;
		i++;
	}
	snprintf(text, AMOUNT_TEXT, i ? "%.1f %s" : "%.0f %s", value, names[i]);
}
