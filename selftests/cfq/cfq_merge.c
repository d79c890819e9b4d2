// SPDX-License-Identifier: GPL-2.0
/*
 * Two reads of neighbours, of which the second begins where the first ends, and
 * others far from them that keep the disk busy meanwhile.
 *
 *	cfq_merge batch|later|between|other DEVICE
 *
 * The second is submitted together with the first, not next to it, so that only the
 * scheduler sees that they are neighbours (batch), or after it while the first still
 * waits (later), and also one waits that begins where the second ends (between), or
 * it is submitted then by another process (other). Ends with 2 if that process was
 * so late that the first may not have waited any more.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/aio_abi.h>

#define BLOCK		4096
/* The head comes from sector 0: what lies before is served before. */
#define FIRST		(64 << 20)
#define SECOND		(FIRST + BLOCK)
#define THIRD		(SECOND + BLOCK)
/* For so long the two reads before the first take, of 200 ms each. */
#define WAITS_NS	400000000
#define LATE		2

static char *data;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Submits reads at these offsets in one call; the kernel plugs three or more. */
static void submit(aio_context_t ctx, int fd, const off_t *offs, int count)
{
	struct iocb cb[4] = {}, *cbs[4];
	int i;

	for (i = 0; i < count; i++) {
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_fildes = fd;
		cb[i].aio_buf = (unsigned long)data;
		cb[i].aio_nbytes = BLOCK;
		cb[i].aio_offset = offs[i];
		cbs[i] = &cb[i];
	}
	if (syscall(SYS_io_submit, ctx, count, cbs) != count)
		fail("io_submit");
}

static void wait_for(aio_context_t ctx, int count)
{
	struct io_event done;

	for (; count; count--) {
		if (syscall(SYS_io_getevents, ctx, 1, 1, &done, NULL) != 1)
			fail("io_getevents");
		if (done.res != BLOCK) {
			fprintf(stderr, "a read ended with %lld\n",
				(long long)done.res);
			exit(1);
		}
	}
}

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Returns what the other process ends with; the first waits since this time. */
static int read_by_other(int fd, long long since)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		if (now_ns() - since >= WAITS_NS)
			_exit(LATE);
		_exit(pread(fd, data, BLOCK, SECOND) != BLOCK);
	}
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	const off_t batch[] = { 1 << 20, FIRST, 2 << 20, SECOND };
	const off_t before[] = { 1 << 20, 2 << 20, FIRST };
	const off_t around[] = { 1 << 20, 2 << 20, FIRST, THIRD };
	const off_t second = SECOND;
	aio_context_t ctx = 0;
	long long since;
	int fd, status;

	if (argc != 3) {
		fprintf(stderr, "usage: %s batch|later|between|other DEVICE\n", argv[0]);
		return 255;
	}
	fd = open(argv[2], O_RDONLY | O_DIRECT);
	if (fd < 0)
		fail(argv[2]);
	if (posix_memalign((void **)&data, BLOCK, BLOCK))
		fail("posix_memalign");
	if (syscall(SYS_io_setup, 5, &ctx))
		fail("io_setup");
	if (pread(fd, data, BLOCK, 0) != BLOCK)
		fail("pread");
	if (!strcmp(argv[1], "batch")) {
		submit(ctx, fd, batch, 4);
		wait_for(ctx, 4);
		return 0;
	}
	since = now_ns();
	if (!strcmp(argv[1], "between")) {
		submit(ctx, fd, around, 4);
		submit(ctx, fd, &second, 1);
		wait_for(ctx, 5);
		return 0;
	}
	submit(ctx, fd, before, 3);
	if (!strcmp(argv[1], "later")) {
		submit(ctx, fd, &second, 1);
		wait_for(ctx, 4);
		return 0;
	}
	status = read_by_other(fd, since);
	wait_for(ctx, 3);
	return status;
}
