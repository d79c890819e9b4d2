// SPDX-License-Identifier: GPL-2.0
/*
 * trace_cpu DEVICE CPU STEPS: a CPU comes online while a trace of the device is set up,
 * at STEPS moments from the beginning to the end of that; what the CPU reads then is in
 * the trace.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/blktrace_api.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char online[64];
static char page[4096] __attribute__((aligned(4096)));

static void turn(const char *state)
{
	int fd = open(online, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, state, 1) != 1)
		err(3, "%s", online);
	close(fd);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(3, "CPU %d", cpu);
}

/* Begins a trace so many us after the CPU has begun to come, and lets it read. */
static void trace_after(int disk, int cpu, uint64_t us)
{
	struct blk_user_trace_setup setup = {
		.act_mask = 0xffff, .buf_size = 4096, .buf_nr = 2,
	};
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		turn("1");
		_exit(0);
	}
	usleep(us);
	if (ioctl(disk, BLKTRACESETUP, &setup) || ioctl(disk, BLKTRACESTART))
		err(3, "no trace");
	if (waitpid(pid, &status, 0) != pid || status)
		errx(3, "the CPU does not come");
	run_on(cpu);
	if (pread(disk, page, sizeof(page), 0) != sizeof(page))
		err(3, "no page is read");
	run_on(0);
	if (ioctl(disk, BLKTRACESTOP) || ioctl(disk, BLKTRACETEARDOWN))
		err(3, "the trace does not end");
}

int main(int argc, char **argv)
{
	uint64_t start, most_us;
	int cpu, disk, i, steps;

	if (argc != 4)
		errx(3, "usage: trace_cpu DEVICE CPU STEPS");
	cpu = atoi(argv[2]);
	steps = atoi(argv[3]);
	snprintf(online, sizeof(online), "/sys/devices/system/cpu/cpu%d/online", cpu);
	disk = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (disk < 0)
		err(3, "%s", argv[1]);
	run_on(0);
	turn("0");
	start = now_us();
	turn("1");
	most_us = now_us() - start;
	for (i = 0; i < steps; i++) {
		turn("0");
		trace_after(disk, cpu, most_us * i / steps);
	}
	printf("%d traces within %llu us\n", steps, (unsigned long long)most_us);
	return 0;
}
