// SPDX-License-Identifier: GPL-2.0
/*
 * bwctl check: find out whether kernel, device and scheduler honour the
 * bandwidth class.  The checks go from the kernel down to the drive; a check is
 * skipped if one that it depends on failed.  A stacked device passes if each
 * disk below it passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "device.h"
#include "json.h"

enum status { OK, NO, SKIPPED };

struct report {
	bool json;
	bool honoured;
};

/*
 * Print one result: the @name of the check, the state @found, and @advice what
 * to do (NULL: nothing).
 */
static void result(struct report *report, enum status status, const char *name, const char *device,
		   const char *found, const char *advice)
{
	static const char *const marks[] = { [OK] = "ok", [NO] = "NO", [SKIPPED] = "-" };
	static const char *const words[] = { [OK] = "ok", [NO] = "no", [SKIPPED] = "skipped" };

	if (status == NO)
		report->honoured = false;
	if (report->json) {
		json_object(NULL);
		json_string("check", name);
		if (device)
			json_string("device", device);
		else
			json_null("device");
		json_string("status", words[status]);
		json_string("found", found);
		if (advice)
			json_string("advice", advice);
		else
			json_null("advice");
		json_end_object();
		return;
	}
	printf("%-2s  %-10s %s%s%s\n", marks[status], name, device ? device : "", device ? ": " : "",
	       found);
	if (advice)
		printf("    %-10s %s\n", "", advice);
}

/* --- the kernel -------------------------------------------------------------- */

/* Set the class in a child process that ends at once.  Returns 0 or -errno. */
static int try_class(void)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		return -errno;
	if (!child)
		_exit(-thread_set_ioprio(0, IOPRIO_BW_VALUE(1, 0)));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static void check_class(struct report *report)
{
	char found[LINE_SIZE];
	int error = try_class();

	switch (error) {
	case 0:
		result(report, OK, "kernel", NULL, "supports the class, and you may use it", NULL);
		break;
	case -EPERM:
		result(report, OK, "kernel", NULL, "supports the class",
		       "you may not set it: run as root, or with CAP_SYS_NICE or CAP_SYS_ADMIN");
		break;
	case -EINVAL:
		result(report, NO, "kernel", NULL, "does not support the class",
		       "boot a kernel with the patches of the bandwidth class");
		break;
	default:
		put_text(found, sizeof(found), "cannot be checked: ioprio_set: %s",
			 strerror(-error));
		result(report, NO, "kernel", NULL, found,
		       error == -ENOSYS ? "boot a kernel with CONFIG_BLOCK and ioprio_set" :
		       "allow ioprio_set in the sandbox of this process (seccomp, a container)");
		break;
	}
}

/* --- one disk ------------------------------------------------------------------ */

static bool check_scheduler(struct report *report, const char *disk)
{
	char active[LINE_SIZE], found[LINE_SIZE * 2], advice[LINE_SIZE];
	int error = disk_scheduler(disk, active, sizeof(active));

	if (error) {
		put_text(found, sizeof(found), "has no queue/scheduler: %s", strerror(-error));
		result(report, NO, "scheduler", disk, found, "give the disk that holds the data");
		return false;
	}
	if (!strcmp(active, "cfq")) {
		result(report, OK, "scheduler", disk, "cfq is active", NULL);
		return true;
	}
	if (disk_offers(disk, "cfq")) {
		put_text(found, sizeof(found), "%s is active", active);
		put_text(advice, sizeof(advice), "echo cfq > /sys/block/%s/queue/scheduler", disk);
	} else {
		put_text(found, sizeof(found), "%s is active, and cfq is not available", active);
		put_text(advice, sizeof(advice),
			 "modprobe cfq-iosched (a kernel with CONFIG_IOSCHED_CFQ), then echo cfq > /sys/block/%s/queue/scheduler",
			 disk);
	}
	result(report, NO, "scheduler", disk, found, advice);
	return false;
}

/* Return the first missing tunable of the class, or NULL. */
static const char *missing_tunable(const char *disk)
{
	static const char *const names[] = {
		"bw_delays_ms", "bw_bucket_ms", "bw_seek_kb", "bw_share_percent", "bw_depth"
	};
	char file[64], text[LINE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		put_text(file, sizeof(file), "queue/iosched/%s", names[i]);
		if (disk_read(disk, file, text, sizeof(text)) < 0)
			return names[i];
	}
	return NULL;
}

static void check_tunables(struct report *report, const char *disk, bool active)
{
	unsigned int delays_ms[IOPRIO_BW_NR_DELAYS];
	char delays[LINE_SIZE], found[LINE_SIZE * 2];
	const char *missing;

	if (!active) {
		result(report, SKIPPED, "tunables", disk, "not checked: cfq is not active", NULL);
		return;
	}
	missing = missing_tunable(disk);
	if (missing) {
		put_text(found, sizeof(found), "queue/iosched/%s is missing: this cfq lacks the class",
			 missing);
		result(report, NO, "tunables", disk, found,
		       "boot a kernel with the patches of the bandwidth class, with the cfq-iosched module of that kernel");
	} else if (disk_delays_ms(disk, delays_ms)) {
		result(report, NO, "tunables", disk, "queue/iosched/bw_delays_ms does not hold eight numbers",
		       "use the version of bwctl that belongs to this kernel");
	} else {
		format_delays(delays, delays_ms);
		put_text(found, sizeof(found), "delays %s ms", delays);
		result(report, OK, "tunables", disk, found, NULL);
	}
}

static bool check_rotation(struct report *report, const char *disk)
{
	uint64_t rotational;

	if (!disk_read_number(disk, "queue/rotational", &rotational)) {
		result(report, OK, "rotation", disk, "unknown", NULL);
		return false;
	}
	if (rotational)
		result(report, OK, "rotation", disk, "rotating: reservations are served in disk order",
		       NULL);
	else
		result(report, OK, "rotation", disk, "not rotating: reservations are served by deadline",
		       "nothing to do, unless it is a rotating disk behind a controller: then echo 1 > queue/rotational");
	return rotational != 0;
}

/* The drive's own queue (NCQ) may serve other requests before one with a deadline. */
static void check_depth(struct report *report, const char *disk, bool rotating)
{
	char found[LINE_SIZE], advice[LINE_SIZE];
	uint64_t depth, kept_short;

	if (!disk_read_number(disk, "device/queue_depth", &depth)) {
		result(report, OK, "drive", disk, "queue depth unknown", NULL);
		return;
	}
	put_text(found, sizeof(found), "queue depth %llu", (unsigned long long)depth);
	if (!rotating || depth <= 1 ||
	    !disk_read_number(disk, "queue/iosched/bw_depth", &kept_short)) {
		result(report, OK, "drive", disk, found, NULL);
		return;
	}
	if (kept_short)
		put_text(advice, sizeof(advice),
			 "cfq keeps this queue short for reservations (bw_depth); for strict deadlines, echo 1 > /sys/block/%s/device/queue_depth",
			 disk);
	else
		put_text(advice, sizeof(advice),
			 "up to %llu queued requests may delay one with a deadline; echo 1 > /sys/block/%s/queue/iosched/bw_depth",
			 (unsigned long long)depth, disk);
	result(report, OK, "drive", disk, found, advice);
}

/* Settings of the queue that configs/udev/90-cfq.rules recommends: numbers in queue/NAME. */
static const struct setting {
	const char *name;
	uint64_t value;
} recommended[] = {
#include "recommended.h"
};

/* What a setting costs that is larger or smaller than recommended. `make pages` writes it from results. */
static const struct cost {
	const char *name, *larger, *smaller;
} costs[] = {
#include "costs.h"
};

static const char *cost_of(const struct setting *setting, uint64_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
		if (!strcmp(costs[i].name, setting->name))
			return value > setting->value ? costs[i].larger : costs[i].smaller;
	}
	return "not measured";
}

/* Compare the settings of a rotating disk, or only the one called @only, with what is recommended. */
static void check_settings(struct report *report, const char *disk, const char *only)
{
	char found[LINE_SIZE], advice[LINE_SIZE], file[LINE_SIZE];
	bool differs = false;
	uint64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(recommended); i++) {
		const struct setting *setting = &recommended[i];

		put_text(file, sizeof(file), "queue/%s", setting->name);
		if ((only && strcmp(only, setting->name)) ||
		    !disk_read_number(disk, file, &value) || value == setting->value)
			continue;
		put_text(found, sizeof(found), "%s is %" PRIu64 ", recommended: %" PRIu64,
			 setting->name, value, setting->value);
		put_text(advice, sizeof(advice), "%s; echo %" PRIu64 " > /sys/block/%s/%s",
			 cost_of(setting, value), setting->value, disk, file);
		result(report, OK, "settings", disk, found, advice);
		differs = true;
	}
	if (!differs && !only)
		result(report, OK, "settings", disk, "as recommended", NULL);
}

static void check_disk(struct report *report, const char *disk)
{
	bool active = check_scheduler(report, disk), rotating;

	check_tunables(report, disk, active);
	rotating = check_rotation(report, disk);
	check_depth(report, disk, rotating);
	if (rotating)
		check_settings(report, disk, NULL);
}

/* --- the device ------------------------------------------------------------------ */

static void check_stack(struct report *report, const char *name, const struct disk_list *disks)
{
	char found[LINE_SIZE] = "stacked: reservations apply to the disks below it:", more[LINE_SIZE];
	uint64_t rotational;

	if (disks->count == 1 && !strcmp(disks->names[0], name)) {
		result(report, OK, "stack", name, "not stacked: reservations apply to it", NULL);
		return;
	}
	for (size_t i = 0; i < disks->count; i++) {
		put_text(more, sizeof(more), "%s %s", found, disks->names[i]);
		strcpy(found, more);
	}
	result(report, OK, "stack", name, found, NULL);
	/* Buffered reads use the read-ahead of this device, not that of the disks. */
	if (disk_read_number(name, "queue/rotational", &rotational) && rotational)
		check_settings(report, name, "read_ahead_kb");
}

static void check_device(struct report *report, const char *text)
{
	struct disk_list disks = { 0 };
	char name[DISK_NAME], why[LINE_SIZE];

	if (disk_find(text, name, why)) {
		result(report, NO, "device", NULL, why, "run lsblk for a list of devices");
		return;
	}
	result(report, OK, "device", name, "exists", NULL);
	disk_bottoms(name, &disks);
	check_stack(report, name, &disks);
	for (size_t i = 0; i < disks.count; i++)
		check_disk(report, disks.names[i]);
	disk_list_free(&disks);
}

int command_check(const struct options *options)
{
	struct report report = { .json = options->json, .honoured = true };

	if (options->nr_operands != 1) {
		say("check: give exactly one device (see bwctl check --help)");
		return EXIT_BAD_USE;
	}
	if (report.json) {
		json_object(NULL);
		json_array("checks");
	}
	check_class(&report);
	check_device(&report, options->operands[0]);
	if (report.json) {
		json_end_array();
		json_bool("honoured", report.honoured);
		json_end();
	} else {
		printf("%s\n", report.honoured ? "The class is honoured." : "The class is not honoured.");
	}
	return report.honoured ? EXIT_DONE : EXIT_FAILED;
}
