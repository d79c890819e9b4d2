// SPDX-License-Identifier: GPL-2.0
/*
 * Encode a reservation.  A rate that is not a multiple of 128 KiB/s is rounded
 * up, a delay that is not in the table is rounded down, so that the reservation
 * is never weaker than requested.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "request.h"
#include "units.h"

#define NS_PER_MS	1000000ull
#define UNIT_BITS	(IOPRIO_BW_RATE_UNIT * 8ull)

static int encode_rate(const struct options *options, struct request *request)
{
	char text[AMOUNT_TEXT];
	struct amount bits;
	uint64_t units;

	if (!option_rate(options->rate, &bits))
		return EXIT_BAD_USE;
	if (!bits.whole && !bits.more) {
		say("rate '%s' is zero: the minimum is 128 KiB/s", options->rate);
		return EXIT_BAD_USE;
	}
	units = bits.whole / UNIT_BITS;
	request->rate_rounded = bits.whole % UNIT_BITS || bits.more;
	units += request->rate_rounded;
	if (units > IOPRIO_BW_RATE_MAX) {
		format_rate(text, (uint64_t)IOPRIO_BW_RATE_MAX * IOPRIO_BW_RATE_UNIT);
		say("rate '%s' is too high: the class can reserve up to %s", options->rate, text);
		return EXIT_BAD_USE;
	}
	request->rate_units = (unsigned int)units;
	if (request->rate_rounded && !options->quiet) {
		format_rate(text, units * IOPRIO_BW_RATE_UNIT);
		say("rate %s rounded up to %s", options->rate, text);
	}
	return EXIT_DONE;
}

/* Get the delay table of the disks below @device, which must all have the same one. */
static int device_delays(const char *device, unsigned int *delays_ms, char why[LINE_SIZE])
{
	unsigned int other[IOPRIO_BW_NR_DELAYS];
	struct disk_list disks = { 0 };
	char name[DISK_NAME];
	int error = 0;

	if (disk_find(device, name, why))
		return -1;
	disk_bottoms(name, &disks);
	for (size_t i = 0; i < disks.count && !error; i++) {
		error = disk_delays_ms(disks.names[i], i ? other : delays_ms);
		if (error)
			put_text(why, LINE_SIZE, "%s has no delay table: %s (try bwctl check %s)",
				 disks.names[i], error == -EBADMSG ?
				 "bw_delays_ms does not hold eight numbers" : strerror(-error), name);
		else if (i && !same_delays(delays_ms, other)) {
			put_text(why, LINE_SIZE, "%s and %s have different delay tables: set bw_delays_ms of both to the same values",
				 disks.names[0], disks.names[i]);
			error = -1;
		}
	}
	disk_list_free(&disks);
	return error ? -1 : 0;
}

static int choose_delays(const struct options *options, unsigned int *delays_ms)
{
	unsigned int common[IOPRIO_BW_NR_DELAYS];
	char name[DISK_NAME], why[LINE_SIZE];

	memcpy(delays_ms, default_delays_ms, sizeof(default_delays_ms));
	if (options->device) {
		if (!device_delays(options->device, delays_ms, why))
			return EXIT_DONE;
		say("%s", why);
		return EXIT_FAILED;
	}
	common_delays_ms(common, name);
	if (name[0] && !options->quiet)
		say("%s does not have the default delay table, which was used: the delay will differ there (use --device %s)",
		    name, name);
	return EXIT_DONE;
}

/* The index of the longest delay of at most @ns, or -1 if there is none. */
static int find_delay(const unsigned int *delays_ms, uint64_t ns)
{
	int best = -1;

	for (int i = 0; i < IOPRIO_BW_NR_DELAYS; i++)
		if (delays_ms[i] * NS_PER_MS <= ns && (best < 0 || delays_ms[i] > delays_ms[best]))
			best = i;
	return best;
}

static int encode_delay(const struct options *options, struct request *request)
{
	unsigned int delays_ms[IOPRIO_BW_NR_DELAYS];
	char table[LINE_SIZE];
	struct amount ns;
	int level, code;

	if (!option_time("delay", options->delay, &ns))
		return EXIT_BAD_USE;
	code = choose_delays(options, delays_ms);
	if (code)
		return code;
	format_delays(table, delays_ms);
	level = find_delay(delays_ms, ns.whole);
	if (level < 0) {
		say("delay '%s' is shorter than every entry of the delay table (%s ms)",
		    options->delay, table);
		return EXIT_BAD_USE;
	}
	request->delay_level = (unsigned int)level;
	request->delay_ms = delays_ms[level];
	request->delay_rounded = ns.more || ns.whole != delays_ms[level] * NS_PER_MS;
	if (request->delay_rounded && !options->quiet)
		say("delay %s rounded down to %u ms, the next lower entry of the delay table (%s ms)",
		    options->delay, request->delay_ms, table);
	return EXIT_DONE;
}

int make_request(const struct options *options, struct request *request)
{
	int code;

	if (!options->rate || !options->delay) {
		say("%s: %s is missing (see bwctl %s --help)", options->command,
		    options->rate ? "--delay" : "--rate", options->command);
		return EXIT_BAD_USE;
	}
	code = encode_rate(options, request);
	return code ? code : encode_delay(options, request);
}

int request_ioprio(const struct request *request)
{
	return IOPRIO_BW_VALUE(request->rate_units, request->delay_level);
}

void say_refused(int error, const char *whom, bool own)
{
	switch (error) {
	case -EPERM:
		say("%s: not permitted: run as root, or with CAP_SYS_NICE or CAP_SYS_ADMIN%s",
		    whom, own ? "" : " (for another user's process, with CAP_SYS_NICE)");
		break;
	case -EINVAL:
		say("%s: this kernel has no bandwidth class (try bwctl check)", whom);
		break;
	case -ENOSYS:
		say("%s: this kernel has no I/O priorities", whom);
		break;
	default:
		say("%s: %s", whom, strerror(-error));
		break;
	}
}
