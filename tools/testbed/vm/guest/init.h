/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program needs that is process 1 of a guest: file systems, the folder of the host
 * that its results go to, a way to end with a message, a clock.
 */
#ifndef INIT_H
#define INIT_H

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>

/*
 * Not inline: where little memory is free, a page of the program more is a page of the
 * page cache less, and buffered readers have other times.
 */
#define HELPER			static __attribute__((unused))
#define NSEC_PER_SEC		1000000000ULL
/* Where a guest mounts the host's folder. */
#define RESULTS			"/mnt"

/* The folder of results; RESULTS once set_up_guest() has run. */
static const char *result_dir = RESULTS;
static bool in_guest;

/* ---- leaving with a message ------------------------------------------------ */

HELPER void write_result(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", result_dir, name);
	f = fopen(path, "w");
	if (!f)
		err(1, "%s", path);
	fputs(text, f);
	if (fclose(f))
		err(1, "%s", path);
}

HELPER __attribute__((noreturn)) void power_off(void)
{
	sync();
	umount(RESULTS);
	reboot(RB_POWER_OFF);
	err(1, "power off");
}

/* Only process 1 can end a guest; of another the message is on the console. */
HELPER __attribute__((noreturn, format(printf, 1, 2))) void
fail(const char *fmt, ...)
{
	char text[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	warnx("%s", text);
	if (in_guest && getpid() != 1)
		_exit(1);
	write_result("error", text);
	if (in_guest)
		power_off();
	exit(1);
}

/* ---- time --------------------------------------------------------------- */

HELPER uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		err(1, "clock_gettime");
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

HELPER void sleep_until(uint64_t t)
{
	struct timespec ts = {
		.tv_sec = t / NSEC_PER_SEC,
		.tv_nsec = t % NSEC_PER_SEC,
	};
	int ret;

	do {
		ret = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	} while (ret == EINTR);
	if (ret)
		errx(1, "clock_nanosleep: %s", strerror(ret));
}

/* ---- file systems --------------------------------------------------------- */

HELPER void must_mount(const char *type, const char *target, const char *data)
{
	/* A kernel may have mounted /dev by itself. */
	if (mount("none", target, type, 0, data) && errno != EBUSY)
		err(1, "mount %s on %s", type, target);
}

/* @dir: the folder of the host that results go to */
HELPER void set_up_guest(const char *dir)
{
	in_guest = true;
	/* first of all what a message needs to get out */
	must_mount("hostfs", RESULTS, dir);
	result_dir = RESULTS;
	must_mount("proc", "/proc", NULL);
	must_mount("sysfs", "/sys", NULL);
	must_mount("devtmpfs", "/dev", NULL);
	must_mount("configfs", "/sys/kernel/config", NULL);
	must_mount("debugfs", "/sys/kernel/debug", NULL);
	must_mount("tmpfs", "/tmp", NULL);
}

#endif
