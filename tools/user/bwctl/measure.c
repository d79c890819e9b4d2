// SPDX-License-Identifier: GPL-2.0
/*
 * Measure two values of a disk: its lowest rate, by sequential reads of the last
 * cylinders, and the seek time, by sweeps over the whole disk.  When a dozen streams
 * wait the head sweeps upwards over them, so that a seek crosses a twelfth of the
 * stroke and takes about half an average seek, plus half a revolution.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "measure.h"

#define BLOCK		4096
#define CHUNK		(512 << 10)
#define RATE_BYTES	(64 << 20)
#define PLACES		12	/* of a sweep */
#define SWEEPS		20
#define DISK_MIN	((off_t)1 << 30)
/* Sectors that others may read meanwhile, for instance a partition table. */
#define SLACK_SECTORS	128
#define SECTOR		512

#define NS_PER_S	1000000000ull

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int read_at(int fd, void *buffer, size_t count, off_t at)
{
	ssize_t got = pread(fd, buffer, count, at);

	if (got < 0)
		return -errno;
	return (size_t)got == count ? 0 : -EIO;
}

/* A random offset below @size, different in each run: the drive may have the last ones cached. */
static off_t draw(off_t size)
{
	static unsigned int chance;

	if (!chance)
		chance = (unsigned int)now_ns() | 1;
	return (off_t)((double)rand_r(&chance) / RAND_MAX * (double)size) / BLOCK * BLOCK;
}

/* Read in the last hundredth of the disk.  The first read, which has a seek, is not counted. */
static int measure_rate(int fd, void *buffer, off_t size, uint64_t *bps)
{
	off_t last = size / 100 > RATE_BYTES ? size / 100 : RATE_BYTES;
	off_t begin = (size - last) / BLOCK * BLOCK + draw(last - RATE_BYTES);
	uint64_t started;
	int error = read_at(fd, buffer, CHUNK, begin);

	started = now_ns();
	for (off_t at = CHUNK; !error && at < RATE_BYTES; at += CHUNK)
		error = read_at(fd, buffer, CHUNK, begin + at);
	if (!error)
		*bps = (uint64_t)(RATE_BYTES - CHUNK) * NS_PER_S / (now_ns() - started + 1);
	return error;
}

/* The first read of each sweep is not counted: its seek is longer. */
static int measure_seek(int fd, void *buffer, off_t size, uint64_t *seek_us)
{
	off_t part = size / PLACES;
	uint64_t took = 0, started;
	int error = 0;

	for (int i = 0; i < SWEEPS * PLACES && !error; i++) {
		off_t place = i % PLACES * part / BLOCK * BLOCK + draw(part - BLOCK);

		started = now_ns();
		error = read_at(fd, buffer, BLOCK, place);
		if (i % PLACES)
			took += now_ns() - started;
	}
	*seek_us = took / (SWEEPS * (PLACES - 1)) / 1000;
	return error;
}

/* Sectors read and written so far; constant if the disk has no statistics (queue/iostats). */
static uint64_t sectors(const char *disk)
{
	unsigned long long read, written;
	char stat[LINE_SIZE];

	if (disk_read(disk, "stat", stat, sizeof(stat)) < 0 ||
	    sscanf(stat, "%*u %*u %llu %*u %*u %*u %llu", &read, &written) != 2)
		return 0;
	return read + written;
}

static int measure(int fd, const char *disk, struct measured *measured)
{
	uint64_t own = (RATE_BYTES + SWEEPS * PLACES * BLOCK) / SECTOR, before = sectors(disk);
	off_t size = lseek(fd, 0, SEEK_END);
	void *buffer;
	int error;

	if (size < DISK_MIN)
		return size < 0 ? -errno : -EFBIG;
	if (posix_memalign(&buffer, BLOCK, CHUNK))
		return -ENOMEM;
	error = measure_rate(fd, buffer, size, &measured->bps);
	if (!error)
		error = measure_seek(fd, buffer, size, &measured->seek_us);
	free(buffer);
	measured->disturbed = sectors(disk) - before > own + SLACK_SECTORS;
	return error;
}

int disk_measure(const char *disk, struct measured *measured)
{
	char path[PATH_SIZE];
	int fd, error;

	put_text(path, sizeof(path), "%s/%s", dev_root(), disk);
	for (char *slash = path + strlen(dev_root()) + 1; *slash; slash++)
		if (*slash == '!')
			*slash = '/';
	fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = measure(fd, disk, measured);
	close(fd);
	return error;
}
