// SPDX-License-Identifier: GPL-2.0
/*
 * ending_readers DISK SCHEDULER-FILE ROUNDS: in each round many tasks, each with an
 * I/O context of its own, read a block and end one after the other, while the
 * scheduler is switched off.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TASKS	64
#define BLOCK	4096
/* As long as the switch takes or so: most of it goes before icqs are cleared. */
#define SPREAD_US	40000

static pthread_barrier_t all_have_read;
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
	usleep((long)data * (SPREAD_US / TASKS));
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
	pthread_t task[TASKS];
	int round, i;

	if (argc != 4)
		errx(2, "usage: ending_readers DISK SCHEDULER-FILE ROUNDS");
	disk = open(argv[1], O_RDONLY | O_DIRECT);
	if (disk < 0)
		err(1, "%s", argv[1]);
	for (round = 0; round < atoi(argv[3]); round++) {
		choose(argv[2], "cfq");
		pthread_barrier_init(&all_have_read, NULL, TASKS + 1);
		for (i = 0; i < TASKS; i++)
			if (pthread_create(&task[i], NULL, reader, (void *)(long)i))
				errx(1, "no task");
		pthread_barrier_wait(&all_have_read);
		choose(argv[2], "none");
		for (i = 0; i < TASKS; i++)
			pthread_join(task[i], NULL);
		pthread_barrier_destroy(&all_have_read);
	}
	return 0;
}
