// SPDX-License-Identifier: GPL-2.0
/* A worker: a process that reads or writes one disk in one way. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "soak.h"
#include "uring.h"

static void began(struct slot *s, uint64_t at)
{
	s->lowest = s->mixed ? IDLE : s->category;
	s->issue_ns = at;
}

static void ended(struct slot *s, uint64_t issue, uint64_t at)
{
	bool write = s->kind == WRITER || s->kind == DIRECT_WRITER;
	enum category c = write ? WRITE : s->lowest;
	uint64_t by_request = (at - issue) / s->requests;

	s->operations++;
	if (by_request <= s->worst_ns[c])
		return;
	s->worst_ns[c] = by_request;
	s->worst_pid[c] = s->pid;
}

struct cursor {
	uint64_t state;
	uint64_t pos;
};

static uint64_t next_offset(const struct slot *s, struct cursor *c)
{
	bool random = s->kind == RANDOM || s->kind == DIRECT_WRITER ||
		      (s->kind == URING && s->think_ns);
	uint64_t offset;

	if (random)
		return s->offset + draw_below(&c->state, s->length / s->size) * s->size;
	if (c->pos + s->size > s->length)
		c->pos = 0;
	offset = s->offset + c->pos;
	c->pos += s->size;
	return offset;
}

/*
 * Starts a read without waiting for it. The fsync that follows writes the dirty pages of all
 * workers, so this process has requests of two control groups at a time if most pages are
 * another group's.
 */
static void ask_ahead(const struct disk *d, int fd, uint64_t *state)
{
	uint64_t offset = draw_below(state, d->bytes / MIB) * MIB;

	errno = posix_fadvise(fd, offset, LARGEST_READ_AHEAD, POSIX_FADV_WILLNEED);
	if (errno)
		fail("posix_fadvise of %s: %s", d->name, strerror(errno));
}

static void transfer(struct disk *d, const struct slot *s, int fd, char *buf,
		     struct cursor *c, uint64_t nr)
{
	uint64_t offset = next_offset(s, c);
	bool write = s->kind == WRITER || s->kind == DIRECT_WRITER;
	ssize_t ret;

	ret = write ? pwrite(fd, buf, s->size, offset) : pread(fd, buf, s->size, offset);
	if (ret != (ssize_t)s->size)
		fail("%s: %" PRIu64 " bytes at %" PRIu64 ": %s", kind_name[s->kind], s->size,
		     offset, ret < 0 ? strerror(errno) : "short");
	if (!s->fsync_every || nr % s->fsync_every)
		return;
	if (s->ahead)
		ask_ahead(d, fd, &c->state);
	flush(d, fd);
}

static void run_plain(struct disk *d, struct slot *s, int fd, char *buf)
{
	struct cursor c = { .state = s->seed };
	uint64_t issue = now_ns(), due = issue;

	for (uint64_t nr = 1; nr <= s->count && !s->stop; nr++) {
		uint64_t done;

		began(s, issue);
		transfer(d, s, fd, buf, &c, nr);
		done = now_ns();
		ended(s, issue, done);
		s->issue_ns = 0;
		if (s->period_ns) {
			due += s->period_ns;
			/* a worker that is late by more than a second skips the rest */
			if (due + NSEC_PER_SEC < done)
				due = done;
			sleep_until(due);
			issue = now_ns();
		} else if (s->think_ns) {
			sleep_until(done + draw_below(&c.state, 2 * s->think_ns));
			issue = now_ns();
		} else {
			/* reading the clock would take as long as a read */
			issue = done;
		}
	}
}

static void queue_read(struct slot *s, struct ring *r, struct cursor *c, int fd, char *buf,
		       unsigned int tag)
{
	ring_queue(r, &(struct io_uring_sqe) {
		.opcode = IORING_OP_READ,
		.fd = fd,
		.addr = (uintptr_t)(buf + tag * s->size),
		.len = s->size,
		.off = next_offset(s, c),
		.ioprio = s->mixed ? draw_ioprio(&c->state) : 0,
		.user_data = tag,
	});
}

/* Publishes the begin of the oldest operation that has not ended. */
static void update_oldest(struct slot *s, const uint64_t *issue)
{
	uint64_t oldest = 0;

	for (unsigned int i = 0; i < s->depth; i++)
		if (issue[i] && (!oldest || issue[i] < oldest))
			oldest = issue[i];
	s->issue_ns = oldest;
}

static unsigned int reap_ring(struct slot *s, struct ring *r, uint64_t *issue, uint64_t now)
{
	unsigned int head = *r->cq_head, nr = 0;

	while (head != __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE)) {
		const struct io_uring_cqe *cqe = &r->cqes[head++ & *r->cq_mask];

		if (cqe->res != (int)s->size)
			fail("io_uring read of %" PRIu64 " bytes: %d", s->size, cqe->res);
		ended(s, issue[cqe->user_data], now);
		issue[cqe->user_data] = 0;
		nr++;
	}
	__atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
	return nr;
}

static void run_uring(struct slot *s, int fd, char *buf)
{
	struct cursor c = { .state = s->seed };
	uint64_t issue[MAX_DEPTH] = { 0 };
	unsigned int busy = 0;
	uint64_t now = now_ns();
	struct ring r;

	make_ring(&r, MAX_DEPTH);
	for (uint64_t nr = 0; (nr < s->count && !s->stop) || busy;) {
		unsigned int submit = 0, wait;
		bool more = nr < s->count && !s->stop;

		for (unsigned int tag = 0; more && tag < s->depth; tag++) {
			if (issue[tag])
				continue;
			issue[tag] = now;
			queue_read(s, &r, &c, fd, buf, tag);
			submit++;
		}
		if (!busy)
			began(s, now);
		busy += submit;
		nr += submit;
		update_oldest(s, issue);
		wait = more ? 1 + draw_below(&c.state, busy) : busy;
		ring_enter(&r, submit, wait);
		now = now_ns();
		busy -= reap_ring(s, &r, issue, now);
		update_oldest(s, issue);
		if (s->think_ns && !busy) {
			sleep_until(now + draw_below(&c.state, 2 * s->think_ns));
			now = now_ns();
		}
	}
	close(r.fd);
}

void __attribute__((noreturn)) run_worker(struct disk *d, struct slot *s)
{
	bool buffered = s->kind == BUFFERED || s->kind == WRITER;
	const struct sched_param normal = { 0 };
	char path[PATH_MAX];
	char *buf;
	int fd;

	if (sched_setscheduler(0, SCHED_OTHER, &normal))
		fail("sched_setscheduler: %s", strerror(errno));
	s->pid = getpid();
	buf = mmap(NULL, s->size * s->depth, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED)
		fail("mmap of %" PRIu64 " bytes: %s", s->size * s->depth, strerror(errno));
	snprintf(path, sizeof(path), "/dev/%s", d->name);
	fd = open(path, O_RDWR | (buffered ? 0 : O_DIRECT));
	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, s->ioprio))
		fail("ioprio_set 0x%x: %s", s->ioprio, strerror(errno));
	if (s->kind == URING)
		run_uring(s, fd, buf);
	else
		run_plain(d, s, fd, buf);
	_exit(0);
}
