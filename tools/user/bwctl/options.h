/* SPDX-License-Identifier: GPL-2.0 */
/* Command-line options, common to all commands. */
#ifndef BWCTL_OPTIONS_H
#define BWCTL_OPTIONS_H

#include <stdbool.h>

#include "units.h"

enum {
	OPTION_RATE = 1 << 0,
	OPTION_DELAY = 1 << 1,
	OPTION_DEVICE = 1 << 2,
	OPTION_NONE = 1 << 3,
	OPTION_THREAD = 1 << 4,
	OPTION_QUIET = 1 << 5,
	OPTION_JSON = 1 << 6,
	OPTION_HELP = 1 << 7,		/* every command has it */
	OPTION_OPERANDS_LAST = 1 << 8,	/* stop at the first operand: the rest is a command */
	OPTION_GROUP = 1 << 9,
	OPTION_STREAMS = 1 << 10,
	OPTION_SEEK = 1 << 11,
	OPTION_SHARE = 1 << 12,
	OPTION_MEASURE = 1 << 13,
};

struct options {
	const char *command;
	const char *rate;
	const char *delay;
	const char *device;
	const char *group;
	const char *streams;
	const char *seek;
	const char *share;
	bool none;
	bool measure;
	bool thread;
	bool quiet;
	bool json;
	bool help;
	char **operands;
	int nr_operands;
};

/* Parse the argument of --rate, or of a time option.  On error print a message, return false. */
bool option_rate(const char *text, struct amount *bits_per_s);
bool option_time(const char *option, const char *text, struct amount *ns);

/* Parse the arguments of the command argv[0].  On error print a message, return false. */
bool parse_options(int argc, char **argv, unsigned int allowed, struct options *options);

#endif
