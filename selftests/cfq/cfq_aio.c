// SPDX-License-Identifier: GPL-2.0
/*
 * Reads 4 KiB at random places of a disk, with so many reads under way at any time,
 * for so long, and prints how many have ended. With "nowait" a read that would have to
 * wait for a tag is refused instead, and not tried again; prints how many were.
 *
 *	cfq_aio DEVICE NUMBER SECONDS [nowait]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/fs.h>

#define BLOCK		4096
#define MAX		256
#define KSFT_SKIP	4

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Submits these reads again, each at another place; the kernel may take some. */
static void submit(aio_context_t ctx, struct iocb **cbs, long count, off_t blocks)
{
	long i, taken;

	for (i = 0; i < count; i++)
		cbs[i]->aio_offset = random() % blocks * BLOCK;
	for (i = 0; i < count; i += taken) {
		taken = syscall(SYS_io_submit, ctx, count - i, cbs + i);
		if (taken < 1)
			fail("io_submit");
	}
}

int main(int argc, char **argv)
{
	struct iocb cb[MAX] = {}, *cbs[MAX];
	struct io_event done[MAX];
	aio_context_t ctx = 0;
	long number, i, count;
	long ended = 0, refused = 0, again;
	bool nowait;
	off_t blocks;
	double end;
	void *data;
	int fd, skip;

	nowait = argc == 5 && !strcmp(argv[4], "nowait");
	number = argc == 4 || nowait ? atol(argv[2]) : 0;
	if (number < 1 || number > MAX) {
		fprintf(stderr,
			"usage: cfq_aio DEVICE NUMBER SECONDS [nowait], NUMBER up to %d\n",
			MAX);
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_DIRECT);
	if (fd < 0)
		fail(argv[1]);
	blocks = lseek(fd, 0, SEEK_END) / BLOCK;
	if (blocks < 1 || posix_memalign(&data, BLOCK, BLOCK))
		fail("no block, or no memory for one");
	if (syscall(SYS_io_setup, number, &ctx)) {
		/* not in this kernel, or not so many for all who ask */
		skip = errno == ENOSYS || errno == EAGAIN;
		perror("io_setup");
		return skip ? KSFT_SKIP : 1;
	}
	for (i = 0; i < number; i++) {
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_fildes = fd;
		cb[i].aio_buf = (unsigned long)data;
		cb[i].aio_nbytes = BLOCK;
		cb[i].aio_rw_flags = nowait ? RWF_NOWAIT : 0;
		cbs[i] = &cb[i];
	}

	srandom(number);
	end = now() + atof(argv[3]);
	submit(ctx, cbs, number, blocks);
	for (;;) {
		count = syscall(SYS_io_getevents, ctx, 1, number, done, NULL);
		if (count < 1)
			fail("io_getevents");
		if (now() > end)
			break;
		for (again = i = 0; i < count; i++) {
			if (nowait && done[i].res == -EAGAIN) {
				refused++;
				continue;
			}
			if (done[i].res != BLOCK) {
				fprintf(stderr, "a read of %d bytes: %lld\n", BLOCK,
					(long long)done[i].res);
				return 1;
			}
			cbs[again++] = (struct iocb *)(unsigned long)done[i].obj;
		}
		ended += again;
		submit(ctx, cbs, again, blocks);
	}
	printf("%ld\n", nowait ? refused : ended);
	return 0;
}
