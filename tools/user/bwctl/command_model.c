// SPDX-License-Identifier: GPL-2.0
/* bwctl model: set, measure and show the performance model of a disk. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"
#include "commands.h"
#include "device.h"
#include "json.h"
#include "measure.h"
#include "units.h"

/* Limits of the kernel; see Documentation/admin-guide/cgroup-v2.rst. */
#define SEEK_MAX_US	1000000ull
#define NS_PER_US	1000ull
#define US_PER_S	1000000.0
/* A group is charged at most one seek for this many bytes, however many streams it has. */
#define VISIT_BYTES	65536
/* What is left is printed as a number of streams of this rate and delay. */
#define EXAMPLE_BPS	(1024 * 1024)
#define EXAMPLE_DELAY_US	1000000

/* --- set ----------------------------------------------------------------------- */

/* @share is 0 if the option was not given. */
static int parse_share(const struct options *options, uint64_t *share)
{
	*share = 0;
	if (!options->share || (parse_decimal(options->share, 100, share) && *share))
		return EXIT_DONE;
	say("share '%s' is not a number from 1 to 100", options->share);
	return EXIT_BAD_USE;
}

static void put_model(char line[LINE_SIZE], uint64_t bps, uint64_t seek_us, uint64_t share)
{
	put_text(line, LINE_SIZE, "bps=%" PRIu64 " seek=%" PRIu64, bps, seek_us);
	if (share)
		put_text(line + strlen(line), LINE_SIZE - strlen(line), " share=%" PRIu64, share);
}

static int parse_model(const struct options *options, char line[LINE_SIZE])
{
	struct amount bits, ns;
	uint64_t bps, seek_us, share;

	if (!option_rate(options->rate, &bits) || !option_time("seek", options->seek, &ns))
		return EXIT_BAD_USE;
	bps = bits.whole / 8;
	if (bps < GROUP_BPS_MIN || bps > GROUP_BPS_MAX) {
		say("rate '%s' is out of range: 4 KiB/s to 1 TiB/s", options->rate);
		return EXIT_BAD_USE;
	}
	seek_us = ns.whole / NS_PER_US;
	if (seek_us > SEEK_MAX_US) {
		say("seek '%s' is out of range: at most 1 s", options->seek);
		return EXIT_BAD_USE;
	}
	if (parse_share(options, &share))
		return EXIT_BAD_USE;
	put_model(line, bps, seek_us, share);
	return EXIT_DONE;
}

/* Print why io.bw.model cannot be read, or why the kernel refused the line. */
static void say_refused_model(const char *disk, int error)
{
	switch (error) {
	case -ENOENT:
		say("%s has no io.bw.model: mount cgroup v2 there; the kernel must have CONFIG_CFQ_GROUP_IOSCHED",
		    cgroup_root());
		break;
	case -EPERM:
	case -EACCES:
		say("%s: not permitted: run as root", disk);
		break;
	default:
		say("%s: io.bw.model: %s", disk, strerror(-error));
		break;
	}
}

/*
 * Measure the disk, print the result and put it into @line.  What would make the
 * result useless is checked before the disk is read.
 */
static int measure(const char *disk, const struct options *options, char line[LINE_SIZE])
{
	static char lines[GROUP_FILE_SIZE];
	struct measured measured;
	char rate[AMOUNT_TEXT];
	uint64_t share;
	int error;

	if (parse_share(options, &share))
		return EXIT_BAD_USE;
	error = group_read(cgroup_root(), "io.bw.model", lines);
	if (error) {
		say_refused_model(disk, error);
		return EXIT_FAILED;
	}
	error = disk_measure(disk, &measured);
	if (error == -EFBIG) {
		say("%s: cannot be measured: smaller than 1 GiB", disk);
		return EXIT_FAILED;
	}
	if (error) {
		say("%s: cannot be read: %s", disk, strerror(-error));
		return EXIT_FAILED;
	}
	if (measured.disturbed) {
		say("%s: other I/O disturbed the measurement: measure when the disk is idle", disk);
		return EXIT_FAILED;
	}
	format_rate(rate, measured.bps);
	printf("%s: rate %s at its slowest, seek %.6g ms\n", disk, rate, (double)measured.seek_us / 1000);
	put_model(line, measured.bps, measured.seek_us, share);
	return EXIT_DONE;
}

static int set(const char *disk, const char *number, const char *line)
{
	char text[LINE_SIZE + 80];
	int error;

	put_text(text, sizeof(text), "%s %s\n", number, line);
	error = group_write(cgroup_root(), "io.bw.model", text);
	if (!error)
		return EXIT_DONE;
	say_refused_model(disk, error);
	return EXIT_FAILED;
}

/* --- show ---------------------------------------------------------------------- */

/* The model, and the sum of reservations so far: nftw() passes no data to its callback. */
static struct {
	char number[64];
	int64_t bps, seek_us, share;
	double reserved;	/* of the disk's time */
	bool json;
} model;

/* The part of the disk's time that a reservation takes, computed as the kernel does. */
static double part_of(int64_t bps, int64_t delay_us, int64_t streams)
{
	double visits = (double)streams * US_PER_S / (double)delay_us;
	double most = (double)((bps + VISIT_BYTES - 1) / VISIT_BYTES);

	return (double)bps / (double)model.bps +
	       (visits < most ? visits : most) * (double)model.seek_us / US_PER_S;
}

static void show_group(const char *folder, double part)
{
	if (!model.json) {
		printf("%5.1f%%  %s\n", 100 * part, group_path(folder));
		return;
	}
	json_object(NULL);
	json_string("group", group_path(folder));
	json_int("ppm", (int64_t)(US_PER_S * part));
	json_end_object();
}

static int look_at_group(const char *folder)
{
	static char lines[GROUP_FILE_SIZE];
	int64_t bps, delay_us, streams;
	char line[LINE_SIZE];
	double part;

	if (group_read(folder, "io.bw", lines) || !line_of_disk(lines, model.number, line) ||
	    !line_number(line, "bps", &bps) || !line_number(line, "delay", &delay_us) || !delay_us)
		return 0;
	if (!line_number(line, "streams", &streams))
		streams = 1;
	part = part_of(bps, delay_us, streams);
	model.reserved += part;
	show_group(folder, part);
	return 0;
}

/* Add the disk time used recently by processes with a reservation of their own (ioprio). */
static void look_at_class(void)
{
	static char lines[GROUP_FILE_SIZE];
	char line[LINE_SIZE];
	int64_t us = 0;

	if (!group_read(cgroup_root(), "io.stat", lines) && line_of_disk(lines, model.number, line))
		(void)line_number(line, "bw.class_us", &us);
	model.reserved += (double)us / US_PER_S;
	if (model.json)
		json_int("class_ppm", us);
	else if (us)
		printf("%5.1f%%  used recently by processes with a reservation of their own\n", 100 * us / US_PER_S);
}

static int64_t streams_left(void)
{
	double left = (double)model.share / 100 - model.reserved;

	return left > 0 ? (int64_t)(left / part_of(EXAMPLE_BPS, EXAMPLE_DELAY_US, 1)) : 0;
}

static int show(const struct options *options, const char *disk, const char *number)
{
	static char lines[GROUP_FILE_SIZE];
	int error = group_read(cgroup_root(), "io.bw.model", lines);
	char line[LINE_SIZE], rate[AMOUNT_TEXT];

	if (error) {
		say_refused_model(disk, error);
		return EXIT_FAILED;
	}
	memset(&model, 0, sizeof(model));
	put_text(model.number, sizeof(model.number), "%s", number);
	model.json = options->json;
	if (!line_of_disk(lines, number, line) || !line_number(line, "bps", &model.bps) ||
	    !line_number(line, "seek", &model.seek_us) || !line_number(line, "share", &model.share) ||
	    model.bps <= 0) {
		say("%s: has no model: the kernel accepts any reservation (see bwctl model --help)", disk);
		return EXIT_FAILED;
	}
	if (model.json) {
		json_object(NULL);
		json_string("device", disk);
		json_int("bps", model.bps);
		json_int("seek_us", model.seek_us);
		json_int("share", model.share);
		json_array("groups");
	} else {
		format_rate(rate, (uint64_t)model.bps);
		printf("%s: rate %s, seek %.6g ms, %" PRId64 "%% of its time may be reserved\n", disk, rate,
		       (double)model.seek_us / 1000, model.share);
	}
	group_each(look_at_group);
	if (model.json)
		json_end_array();
	look_at_class();
	if (model.json) {
		json_int("reserved_ppm", (int64_t)(US_PER_S * model.reserved));
		json_int("streams_left", streams_left());
		json_end();
		return EXIT_DONE;
	}
	printf("%5.1f%%  reserved; room for %" PRId64 " more groups of 1 MiB/s (1 stream, delay 1 s)\n",
	       100 * model.reserved, streams_left());
	return EXIT_DONE;
}

/* --- the command ------------------------------------------------------------------ */

static int check_use(const struct options *options, bool sets)
{
	if (options->nr_operands != 1) {
		say("model: %s (see bwctl model --help)", options->nr_operands ? "give one device" :
		    "no device given");
		return EXIT_BAD_USE;
	}
	if (options->none && (options->rate || options->seek || options->share || options->measure)) {
		say("model: --none cannot be combined with --rate, --seek, --share or --measure");
		return EXIT_BAD_USE;
	}
	if (options->measure && (options->rate || options->seek)) {
		say("model: --measure cannot be combined with --rate or --seek, which it measures");
		return EXIT_BAD_USE;
	}
	if (sets && !options->none && !options->measure && (!options->rate || !options->seek)) {
		say("model: %s is missing (see bwctl model --help)", options->rate ? "--seek" : "--rate");
		return EXIT_BAD_USE;
	}
	if (sets && options->json) {
		say("model: --json only applies when showing a model");
		return EXIT_BAD_USE;
	}
	return EXIT_DONE;
}

int command_model(const struct options *options)
{
	bool sets = options->none || options->rate || options->seek || options->share || options->measure;
	char name[DISK_NAME], why[LINE_SIZE], line[LINE_SIZE] = "none", number[64];
	struct disk_list disks = { 0 };
	int code = check_use(options, sets);

	if (!code && sets && !options->none && !options->measure)
		code = parse_model(options, line);
	if (code)
		return code;
	if (disk_find(options->operands[0], name, why)) {
		say("%s", why);
		return EXIT_FAILED;
	}
	disk_bottoms(name, &disks);
	for (size_t i = 0; i < disks.count && !code; i++) {
		if (disk_read(disks.names[i], "dev", number, sizeof(number)) < 0) {
			say("%s: cannot read its device number in sysfs", disks.names[i]);
			code = EXIT_FAILED;
			break;
		}
		if (options->measure)
			code = measure(disks.names[i], options, line);
		if (!code)
			code = sets ? set(disks.names[i], number, line) : show(options, disks.names[i], number);
	}
	disk_list_free(&disks);
	return code;
}
