// SPDX-License-Identifier: GPL-2.0
/*
 * ending_readers DISK SCHEDULER-FILE ROUNDS [SCHEDULER TASKS]: in each round many tasks
 * (64), each with an I/O context of its own, read a block and end one after the other,
 * while the scheduler (cfq) is switched off.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TASKS_MAX	1024
#define BLOCK	4096

static pthread_barrier_t all_have_read;
static int tasks = 64;
/* As long as the last switch took: most of it goes before icqs are cleared. */
static long spread_us = 40000;
static int disk;

static void *reader(void *data)
{
	off_t at = (off_t)(long)data * BLOCK;
	void *block;

	if (posix_memalign(&block, BLOCK, BLOCK))
		errx(1, "no memory");
	if (pread(disk, block, BLOCK, at) != BLOCK)
		err(1, "read at %lld", (long long)at);
	free(block);
	pthread_barrier_wait(&all_have_read);
	usleep((long)data * spread_us / tasks);
	return NULL;
}

static void choose(const char *file, const char *scheduler)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, scheduler, strlen(scheduler)) < 0)
		err(1, "%s: %s", file, scheduler);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *scheduler = argc == 6 ? argv[4] : "cfq";
	static pthread_t task[TASKS_MAX];
	struct timespec begin, end;
	int round, i;

	if (argc != 4 && argc != 6)
		errx(2, "usage: ending_readers DISK SCHEDULER-FILE ROUNDS [SCHEDULER TASKS]");
	if (argc == 6)
		tasks = atoi(argv[5]);
	if (tasks < 1 || tasks > TASKS_MAX)
		errx(2, "not 1 to %d tasks", TASKS_MAX);
	disk = open(argv[1], O_RDONLY | O_DIRECT);
	if (disk < 0)
		err(1, "%s", argv[1]);
	for (round = 0; round < atoi(argv[3]); round++) {
		choose(argv[2], scheduler);
		pthread_barrier_init(&all_have_read, NULL, tasks + 1);
		for (i = 0; i < tasks; i++)
			if (pthread_create(&task[i], NULL, reader, (void *)(long)i))
				errx(1, "no task");
		pthread_barrier_wait(&all_have_read);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		choose(argv[2], "none");
		clock_gettime(CLOCK_MONOTONIC, &end);
		for (i = 0; i < tasks; i++)
			pthread_join(task[i], NULL);
		pthread_barrier_destroy(&all_have_read);
		spread_us = (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
	}
	return 0;
}
