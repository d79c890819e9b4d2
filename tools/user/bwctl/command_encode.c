// SPDX-License-Identifier: GPL-2.0
/*
 * bwctl encode and bwctl decode: convert between a reservation and the 16 bits
 * of an I/O priority, for programs that set the priority of single requests
 * (aio_reqprio, io_uring's sqe->ioprio).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "device.h"
#include "ioprio.h"
#include "json.h"
#include "request.h"
#include "units.h"
#include "util.h"

int command_encode(const struct options *options)
{
	struct request request;
	int code;

	if (options->nr_operands) {
		say("encode: unexpected argument '%s' (see bwctl encode --help)", options->operands[0]);
		return EXIT_BAD_USE;
	}
	code = make_request(options, &request);
	if (code)
		return code;
	if (!options->json) {
		printf("%d\n", request_ioprio(&request));
		return EXIT_DONE;
	}
	json_object(NULL);
	json_int("ioprio", request_ioprio(&request));
	json_int("rate", (int64_t)request.rate_units * IOPRIO_BW_RATE_UNIT);
	json_int("rate_units", request.rate_units);
	json_bool("rate_rounded", request.rate_rounded);
	json_int("delay_level", request.delay_level);
	json_int("delay_ms", request.delay_ms);
	json_bool("delay_rounded", request.delay_rounded);
	json_end();
	return EXIT_DONE;
}

/* Decimal, or hexadecimal with 0x. */
static bool parse_ioprio(const char *text, int *ioprio)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, text[1] == 'x' ? 16 : 10);
	*ioprio = (int)value;
	return !errno && !*end && value <= IOPRIO_MAX;
}

static void print_decoded(int ioprio)
{
	char rate[AMOUNT_TEXT];

	if (IOPRIO_PRIO_CLASS(ioprio) != IOPRIO_CLASS_BW) {
		printf("%d class %s level %d\n", ioprio, ioprio_class_name(ioprio),
		       IOPRIO_PRIO_LEVEL(ioprio));
		return;
	}
	format_rate(rate, (uint64_t)IOPRIO_BW_RATE(ioprio) * IOPRIO_BW_RATE_UNIT);
	printf("%d class bw rate %s delay level %d (%u ms by the default table)\n", ioprio, rate,
	       IOPRIO_BW_DELAY(ioprio), default_delays_ms[IOPRIO_BW_DELAY(ioprio)]);
}

static void json_decoded(int ioprio)
{
	json_object(NULL);
	json_int("ioprio", ioprio);
	json_string("class", ioprio_class_name(ioprio));
	if (IOPRIO_PRIO_CLASS(ioprio) == IOPRIO_CLASS_BW) {
		json_int("rate", (int64_t)IOPRIO_BW_RATE(ioprio) * IOPRIO_BW_RATE_UNIT);
		json_int("rate_units", IOPRIO_BW_RATE(ioprio));
		json_int("delay_level", IOPRIO_BW_DELAY(ioprio));
		json_int("delay_ms", default_delays_ms[IOPRIO_BW_DELAY(ioprio)]);
	} else {
		json_int("level", IOPRIO_PRIO_LEVEL(ioprio));
	}
	json_end_object();
}

int command_decode(const struct options *options)
{
	int ioprio;

	if (!options->nr_operands) {
		say("decode: no number given (see bwctl decode --help)");
		return EXIT_BAD_USE;
	}
	for (int i = 0; i < options->nr_operands; i++) {
		if (!parse_ioprio(options->operands[i], &ioprio)) {
			say("decode: '%s' is not a number from 0 to %d", options->operands[i], IOPRIO_MAX);
			return EXIT_BAD_USE;
		}
	}
	if (options->json) {
		json_object(NULL);
		json_array("priorities");
	}
	for (int i = 0; i < options->nr_operands; i++) {
		parse_ioprio(options->operands[i], &ioprio);
		if (options->json)
			json_decoded(ioprio);
		else
			print_decoded(ioprio);
	}
	if (options->json) {
		json_end_array();
		json_end();
	}
	return EXIT_DONE;
}
