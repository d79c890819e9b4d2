// SPDX-License-Identifier: GPL-2.0
/*
 * Drives the parser and the encoder with many inputs in one process.  Lines:
 *   rate TEXT          -> "WHOLE MORE" in bits/s, or "! what is wrong"
 *   time TEXT          -> the same in ns
 *   encode RATE\tTIME  -> "CODE IOPRIO"
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../request.h"
#include "../units.h"

static void print_amount(const char *wrong, const struct amount *amount)
{
	if (wrong)
		printf("! %s\n", wrong);
	else
		printf("%" PRIu64 " %d\n", amount->whole, amount->more);
}

static void encode(char *text)
{
	struct options options = { .command = "encode", .quiet = true };
	struct request request;
	char *tab = strchr(text, '\t');
	int code;

	if (!tab)
		exit(3);
	*tab = '\0';
	options.rate = text;
	options.delay = tab + 1;
	code = make_request(&options, &request);
	printf("%d %d\n", code, code ? -1 : request_ioprio(&request));
}

int main(void)
{
	struct amount amount;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	while ((length = getline(&line, &size, stdin)) > 0) {
		line[length - 1] = '\0';
		if (!strncmp(line, "rate ", 5))
			print_amount(parse_rate(line + 5, &amount), &amount);
		else if (!strncmp(line, "time ", 5))
			print_amount(parse_time(line + 5, &amount), &amount);
		else if (!strncmp(line, "encode ", 7))
			encode(line + 7);
		else
			return 3;
	}
	free(line);
	return 0;
}
