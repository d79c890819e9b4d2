// SPDX-License-Identifier: GPL-2.0
/*
 * failing_writer DEVICE OFFSET: lets every allocation of a write fail once.
 *
 * By /proc/self/fail-nth only what the write itself allocates fails, one after
 * the other: a process of its own for each, so that what the block layer keeps
 * for a process is allocated anew. What a write claims to have written is read
 * back.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE	(64 * 1024)
#define LIMIT	500
/* The mapping of a disk keeps one error for all who write there, and each who asks gets it. */
#define TRIES	100

enum { WRITTEN, FAILED, NOTHING_LEFT };

static const struct {
	const char *name;
	int flags;
} ways[] = {
	{ "direct", O_DIRECT },
	{ "dsync", O_DSYNC },
	{ "direct dsync", O_DIRECT | O_DSYNC },
};

/* In a child: write while the nth allocation fails. */
static int write_failing(int fd, const char *buffer, off_t offset, int nth)
{
	int fail = open("/proc/self/fail-nth", O_RDWR);
	char left[16] = "";
	int result;

	if (fail < 0 || dprintf(fail, "%d", nth) < 0)
		err(1, "fail-nth");
	result = pwrite(fd, buffer, SIZE, offset) == SIZE ? WRITTEN : FAILED;
	if (pread(fail, left, sizeof(left) - 1, 0) < 1 || pwrite(fail, "0", 1, 0) != 1)
		err(1, "fail-nth");
	return atoi(left) ? NOTHING_LEFT : result;
}

static int failing_child(int fd, const char *buffer, off_t offset, int nth)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(1, "fork");
	if (!child)
		_exit(write_failing(fd, buffer, offset, nth));
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		errx(1, "the writer with failing allocation %d was killed", nth);
	return WEXITSTATUS(status);
}

static void fill(char *buffer, unsigned int seed)
{
	srandom(seed);
	for (size_t i = 0; i < SIZE; i += sizeof(int))
		*(int *)(buffer + i) = random();
}

/*
 * Whether the disk has what is in the buffer. To read without the cache is first to
 * write back what is in it; the error may be another writer's, whose pages these are too.
 */
static int is_there(const char *device, const char *buffer, char *there, off_t offset)
{
	int fd = open(device, O_RDONLY | O_DIRECT);
	ssize_t got = -1;

	if (fd < 0)
		err(1, "%s", device);
	for (int i = 0; i < TRIES && got < 0; i++)
		got = pread(fd, there, SIZE, offset);
	if (got < 0)
		warn("%s: cannot be read", device);
	close(fd);
	return got == SIZE && !memcmp(there, buffer, SIZE);
}

/* Without a fault. Of writing back the same holds here. */
static int write_again(int fd, const char *buffer, off_t offset)
{
	for (int i = 0; i < TRIES; i++) {
		if (pwrite(fd, buffer, SIZE, offset) == SIZE)
			return 1;
	}
	return 0;
}

static void try_all(const char *device, off_t offset, int way, char *buffer, char *there)
{
	const char *name = ways[way].name;
	int failed = 0;

	for (int nth = 1; nth < LIMIT; nth++) {
		int fd = open(device, O_RDWR | ways[way].flags);
		int code;

		if (fd < 0)
			err(1, "%s", device);
		fill(buffer, offset + way * LIMIT + nth);
		code = failing_child(fd, buffer, offset, nth);
		if (code == FAILED) {
			failed++;
			if (!write_again(fd, buffer, offset))
				errx(1, "%s: a short write after failing allocation %d",
				     name, nth);
		}
		close(fd);
		if (!is_there(device, buffer, there, offset))
			errx(1, "%s: what was written with failing allocation %d is not there",
			     name, nth);
		if (code == NOTHING_LEFT) {
			printf("%s: %d allocations failed, %d writes\n", name, nth - 1, failed);
			return;
		}
	}
	errx(1, "%s: more than %d allocations in one write", name, LIMIT);
}

int main(int argc, char **argv)
{
	char *buffer, *there;

	if (argc != 3)
		errx(2, "usage: failing_writer DEVICE OFFSET");
	buffer = aligned_alloc(4096, SIZE);
	there = aligned_alloc(4096, SIZE);
	if (!buffer || !there)
		err(1, "memory");
	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
		try_all(argv[1], atoll(argv[2]), way, buffer, there);
	return 0;
}
