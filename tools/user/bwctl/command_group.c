// SPDX-License-Identifier: GPL-2.0
/* bwctl group: set, remove and show the reservations of a control group. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"
#include "commands.h"
#include "device.h"
#include "json.h"
#include "units.h"

#define NS_PER_US	1000ull
#define BITS_PER_BYTE	8ull
/* Limits of the kernel; see Documentation/admin-guide/cgroup-v2.rst. */
#define DELAY_MIN_US	1000ull
#define DELAY_MAX_US	100000000ull
#define STREAMS_MAX	10000ull

/* --- reserve ------------------------------------------------------------------- */

static int parse_line(const struct options *options, char line[LINE_SIZE])
{
	struct amount bits, ns;
	uint64_t bps, delay_us, streams;

	if (!option_rate(options->rate, &bits) || !option_time("delay", options->delay, &ns))
		return EXIT_BAD_USE;
	/* never less than requested: round the rate up, the delay down */
	bps = bits.whole / BITS_PER_BYTE + (bits.whole % BITS_PER_BYTE || bits.more);
	delay_us = ns.whole / NS_PER_US;
	if (bps < GROUP_BPS_MIN || bps > GROUP_BPS_MAX) {
		say("rate '%s' is out of range: a group can reserve 4 KiB/s to 1 TiB/s", options->rate);
		return EXIT_BAD_USE;
	}
	if (delay_us < DELAY_MIN_US || delay_us > DELAY_MAX_US) {
		say("delay '%s' is out of range: 1 ms to 100 s", options->delay);
		return EXIT_BAD_USE;
	}
	if (options->streams && (!parse_decimal(options->streams, STREAMS_MAX, &streams) || !streams)) {
		say("streams '%s' is not a number from 1 to %llu", options->streams, STREAMS_MAX);
		return EXIT_BAD_USE;
	}
	put_text(line, LINE_SIZE, "bps=%" PRIu64 " delay=%" PRIu64, bps, delay_us);
	if (options->streams)
		put_text(line + strlen(line), LINE_SIZE - strlen(line), " streams=%" PRIu64, streams);
	return EXIT_DONE;
}

/* Print why io.bw of a group cannot be read, or why the kernel refused the line. */
static void say_refused_group(const char *folder, const char *disk, int error)
{
	const char *group = group_path(folder);

	switch (error) {
	case -ENOENT:
		say("%s: has no io.bw: write +io to cgroup.subtree_control of the parent group; the kernel must have CONFIG_CFQ_GROUP_IOSCHED",
		    group);
		break;
	case -EPERM:
	case -EACCES:
		say("%s: not permitted: run as root, or with CAP_SYS_NICE or CAP_SYS_ADMIN and write permission for io.bw",
		    group);
		break;
	case -ENODEV:
		say("%s: disk %s no longer exists", group, disk);
		break;
	case -EINVAL:
		say("%s: the kernel refuses these values for %s", group, disk);
		break;
	case -ENOSPC:
		say("%s: too much of %s is reserved already (see bwctl model %s)", group,
		    disk, disk);
		break;
	default:
		say("%s: %s: %s", group, disk, strerror(-error));
		break;
	}
}

static int write_line(const char *folder, const char *disk, const char *line)
{
	char number[64], text[LINE_SIZE + 80];
	int error;

	if (disk_read(disk, "dev", number, sizeof(number)) < 0) {
		say("%s: cannot read its device number in sysfs", disk);
		return EXIT_FAILED;
	}
	put_text(text, sizeof(text), "%s %s\n", number, line);
	error = group_write(folder, "io.bw", text);
	if (!error)
		return EXIT_DONE;
	say_refused_group(folder, disk, error);
	return EXIT_FAILED;
}

/* Write the line for each disk below the device; warn where cfq is not active. */
static int reserve(const struct options *options, const char *folder, const char *line)
{
	char name[DISK_NAME], why[LINE_SIZE], scheduler[64];
	struct disk_list disks = { 0 };
	int code = EXIT_DONE;

	if (disk_find(options->operands[1], name, why)) {
		say("%s", why);
		return EXIT_FAILED;
	}
	disk_bottoms(name, &disks);
	for (size_t i = 0; i < disks.count && !code; i++) {
		code = write_line(folder, disks.names[i], line);
		if (code || options->none || options->quiet ||
		    disk_scheduler(disks.names[i], scheduler, sizeof(scheduler)) ||
		    !strcmp(scheduler, "cfq"))
			continue;
		say("%s: stored, but without effect until its scheduler is cfq instead of %s (see bwctl check %s)",
		    disks.names[i], scheduler, disks.names[i]);
	}
	disk_list_free(&disks);
	return code;
}

/* --- show ---------------------------------------------------------------------- */

/* A line of io.bw, with the statistics of io.stat if there are any. */
struct reserved {
	char number[32];
	int64_t bps, delay_us, burst, streams;
	bool served;
	int64_t within, beyond, met, missed;
	bool has_slack;
	int64_t slack_us;
};

static bool parse_reserved(const char *line, const char *stat, struct reserved *reserved)
{
	char of_disk[LINE_SIZE];

	memset(reserved, 0, sizeof(*reserved));
	put_text(reserved->number, sizeof(reserved->number), "%.*s", (int)strcspn(line, " \n"), line);
	if (!line_number(line, "bps", &reserved->bps) || !line_number(line, "delay", &reserved->delay_us) ||
	    !line_number(line, "burst", &reserved->burst))
		return false;
	if (!line_number(line, "streams", &reserved->streams))
		reserved->streams = 1;
	if (!line_of_disk(stat, reserved->number, of_disk))
		return true;
	reserved->served = line_number(of_disk, "bw.entitled", &reserved->within) &&
			   line_number(of_disk, "bw.surplus", &reserved->beyond) &&
			   line_number(of_disk, "bw.met", &reserved->met) &&
			   line_number(of_disk, "bw.missed", &reserved->missed);
	reserved->has_slack = line_number(of_disk, "bw.slack_us", &reserved->slack_us);
	return true;
}

static void print_head(void)
{
	printf("%-12s  %14s  %10s  %11s  %11s  %11s  %8s  %8s  %10s\n", "DEVICE", "RATE", "DELAY", "BURST",
	       "WITHIN", "OVER", "MET", "MISSED", "MIN SLACK");
}

static void print_reserved(const struct reserved *reserved, const char *disk)
{
	char rate[AMOUNT_TEXT], burst[AMOUNT_TEXT], within[AMOUNT_TEXT], beyond[AMOUNT_TEXT];
	char slack[AMOUNT_TEXT] = "-";

	format_rate(rate, (uint64_t)reserved->bps);
	format_bytes(burst, reserved->burst);
	format_bytes(within, reserved->within);
	format_bytes(beyond, reserved->beyond);
	if (reserved->has_slack)
		put_text(slack, sizeof(slack), "%.1f ms", (double)reserved->slack_us / 1000);
	printf("%-12s  %14s  %7.6g ms  %11s", disk, rate, (double)reserved->delay_us / 1000, burst);
	if (reserved->served)
		printf("  %11s  %11s  %8" PRId64 "  %8" PRId64 "  %10s\n", within, beyond, reserved->met,
		       reserved->missed, slack);
	else
		puts("  not served by cfq yet");
}

static void json_reserved(const struct reserved *reserved, const char *disk)
{
	json_object(NULL);
	json_string("device", disk);
	json_string("number", reserved->number);
	json_int("bps", reserved->bps);
	json_int("delay_us", reserved->delay_us);
	json_int("burst", reserved->burst);
	json_int("streams", reserved->streams);
	json_bool("served", reserved->served);
	if (reserved->served) {
		json_int("entitled", reserved->within);
		json_int("surplus", reserved->beyond);
		json_int("met", reserved->met);
		json_int("missed", reserved->missed);
	}
	if (reserved->has_slack)
		json_int("slack_us", reserved->slack_us);
	else
		json_null("slack_us");
	json_end_object();
}

static int show(const struct options *options, const char *folder)
{
	static char lines[GROUP_FILE_SIZE], stat[GROUP_FILE_SIZE];
	int error = group_read(folder, "io.bw", lines);
	char disk[DISK_NAME];
	struct reserved reserved;
	size_t count = 0;

	if (error) {
		say_refused_group(folder, "", error);
		return EXIT_FAILED;
	}
	group_read(folder, "io.stat", stat);
	if (options->json) {
		json_object(NULL);
		json_string("group", group_path(folder));
		json_array("reservations");
	}
	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
		if (!parse_reserved(line, stat, &reserved)) {
			say("%s: io.bw: cannot parse '%s'", group_path(folder), line);
			continue;
		}
		disk_of_numbers(reserved.number, disk);
		if (options->json)
			json_reserved(&reserved, disk);
		else if (!count)
			print_head();
		if (!options->json)
			print_reserved(&reserved, disk);
		count++;
	}
	if (options->json) {
		json_end_array();
		json_end();
	} else if (!count) {
		printf("%s has no reservation of its own\n", group_path(folder));
	}
	return EXIT_DONE;
}

/* --- the command ------------------------------------------------------------------ */

static int check_use(const struct options *options, bool sets)
{
	if (!options->nr_operands) {
		say("group: no control group given (see bwctl group --help)");
		return EXIT_BAD_USE;
	}
	if (options->none && (options->rate || options->delay || options->streams)) {
		say("group: --none cannot be combined with --rate, --delay or --streams");
		return EXIT_BAD_USE;
	}
	if (sets && !options->none && (!options->rate || !options->delay)) {
		say("group: %s is missing (see bwctl group --help)", options->rate ? "--delay" : "--rate");
		return EXIT_BAD_USE;
	}
	if (sets && options->json) {
		say("group: --json only applies when showing reservations");
		return EXIT_BAD_USE;
	}
	if (options->nr_operands != 1 + sets) {
		say(options->nr_operands < 1 + sets ? "group: no device given (see bwctl group --help)" :
		    "group: give one group%s (see bwctl group --help)", sets ? " and one device" : "");
		return EXIT_BAD_USE;
	}
	return EXIT_DONE;
}

int command_group(const struct options *options)
{
	bool sets = options->none || options->rate || options->delay || options->streams;
	char folder[PATH_SIZE], why[LINE_SIZE], line[LINE_SIZE] = "none";
	int code = check_use(options, sets);

	if (!code && sets && !options->none)
		code = parse_line(options, line);
	if (code)
		return code;
	if (group_find(options->operands[0], folder, why)) {
		say("%s", why);
		return EXIT_FAILED;
	}
	return sets ? reserve(options, folder, line) : show(options, folder);
}
