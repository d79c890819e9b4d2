// SPDX-License-Identifier: GPL-2.0
/*
 * Reads with a priority that each request carries itself: not that of the process,
 * but the one in the iocb or in the submission queue entry.
 *
 *	cfq_request aio|uring DEVICE PRIORITY COUNT
 *	cfq_request aio|uring DEVICE RATE,DELAY COUNT
 *
 * COUNT direct reads of 64 KiB, one after the other. RATE in units of 128 KiB/s,
 * DELAY an index. Ends with the errno that the kernel answers with, or with 254 if
 * there is no io_uring to read with.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/io_uring.h>

#define BLOCK		65536
#define CLASS_BW	4
#define NO_URING	254

static char *data;

static int aio_read(int fd, off_t off, unsigned int prio)
{
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_reqprio = prio,
		.aio_flags = IOCB_FLAG_IOPRIO,
		.aio_fildes = fd,
		.aio_buf = (unsigned long)data,
		.aio_nbytes = BLOCK,
		.aio_offset = off,
	};
	struct iocb *cbs[] = { &cb };
	static aio_context_t ctx;
	struct io_event done;

	if (!ctx && syscall(SYS_io_setup, 1, &ctx))
		return errno;
	if (syscall(SYS_io_submit, ctx, 1, cbs) != 1 ||
	    syscall(SYS_io_getevents, ctx, 1, 1, &done, NULL) != 1)
		return errno;
	if ((long)done.res < 0)
		return -(long)done.res;
	return done.res == BLOCK ? 0 : EIO;
}

static struct io_uring_params set;
static struct io_uring_sqe *sqe;
static char *sq, *cq;
static int ring;

/* Whether io_uring is not built in, or not allowed to anybody like us. */
static int no_uring(int error)
{
	int disabled = 0;
	FILE *file;

	if (error != EPERM)
		return error == ENOSYS;
	file = fopen("/proc/sys/kernel/io_uring_disabled", "r");
	if (file) {
		if (fscanf(file, "%d", &disabled) != 1)
			disabled = 0;
		fclose(file);
	}
	return disabled;
}

static int uring_begin(void)
{
	ring = syscall(SYS_io_uring_setup, 1, &set);
	if (ring < 0)
		return no_uring(errno) ? NO_URING : errno;
	sq = mmap(NULL, set.sq_off.array + 4096, PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, set.cq_off.cqes + 4096, PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED,
		   ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
		return errno;
	return 0;
}

static int uring_read(int fd, off_t off, unsigned int prio)
{
	static unsigned int number;
	struct io_uring_cqe *cqe;
	unsigned int mask;

	*sqe = (struct io_uring_sqe) {
		.opcode = IORING_OP_READ, .fd = fd, .ioprio = prio, .off = off,
		.addr = (unsigned long)data, .len = BLOCK,
	};
	*(unsigned int *)(sq + set.sq_off.array) = 0;
	__atomic_store_n((unsigned int *)(sq + set.sq_off.tail), number + 1,
			 __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		return errno;
	mask = *(unsigned int *)(cq + set.cq_off.ring_mask);
	cqe = (struct io_uring_cqe *)(cq + set.cq_off.cqes) + (number & mask);
	number++;
	__atomic_store_n((unsigned int *)(cq + set.cq_off.head), number,
			 __ATOMIC_RELEASE);
	if (cqe->res < 0)
		return -cqe->res;
	return cqe->res == BLOCK ? 0 : EIO;
}

int main(int argc, char **argv)
{
	int (*read_one)(int fd, off_t off, unsigned int prio);
	unsigned int prio, rate, delay;
	int fd, i, error;

	if (argc != 5) {
		fprintf(stderr, "usage: %s aio|uring DEVICE PRIORITY COUNT\n",
			argv[0]);
		return 255;
	}
	read_one = strcmp(argv[1], "aio") ? uring_read : aio_read;
	if (sscanf(argv[3], "%u,%u", &rate, &delay) == 2)
		prio = CLASS_BW << 13 | rate << 3 | delay;
	else
		prio = atoi(argv[3]);
	fd = open(argv[2], O_RDONLY | O_DIRECT);
	if (fd < 0 || posix_memalign((void **)&data, 4096, BLOCK)) {
		perror(argv[2]);
		return 255;
	}
	error = read_one == uring_read ? uring_begin() : 0;
	if (error == NO_URING)
		fprintf(stderr, "no io_uring here\n");
	if (error)
		return error;
	for (i = 0; i < atoi(argv[4]); i++) {
		error = read_one(fd, (off_t)i * BLOCK, prio);
		if (error)
			return error;
	}
	return 0;
}
