/* SPDX-License-Identifier: GPL-2.0 */
/*
 * io_uring without a library: one ring, read only, no fixed anything.
 */
#ifndef URING_H
#define URING_H

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "init.h"

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

HELPER void *map_ring(int fd, size_t size, off_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (p == MAP_FAILED)
		fail("mmap of an io_uring: %s", strerror(errno));
	return p;
}

/* Makes a ring for so many operations. */
HELPER void make_ring(struct ring *r, unsigned int entries)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	r->fd = syscall(SYS_io_uring_setup, entries, &p);
	if (r->fd < 0)
		fail("io_uring_setup: %s", strerror(errno));
	sq = map_ring(r->fd, p.sq_off.array + p.sq_entries * sizeof(*r->sq_array),
		      IORING_OFF_SQ_RING);
	cq = map_ring(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes),
		      IORING_OFF_CQ_RING);
	r->sqes = map_ring(r->fd, p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
	r->sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned int *)(sq + p.sq_off.array);
	r->cq_head = (unsigned int *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

/* An operation that the next ring_enter() may submit. */
HELPER void ring_queue(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int tail = *r->sq_tail, i = tail & *r->sq_mask;

	r->sqes[i] = *sqe;
	r->sq_array[i] = i;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

/* Submits so many operations and waits until so many have ended. */
HELPER void ring_enter(const struct ring *r, unsigned int submit, unsigned int wait)
{
	if (syscall(SYS_io_uring_enter, r->fd, submit, wait, IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
	    errno != EINTR)
		fail("io_uring_enter: %s", strerror(errno));
}

#endif
