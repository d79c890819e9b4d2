// SPDX-License-Identifier: GPL-2.0
/*
 * Writes DIR/samples: what the director did (log_event()), and what the scheduler reports
 * about itself in debugfs (sample()).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>

#include "soak.h"

#define SAMPLE_BYTES		(512 * KIB)
#define MAX_TRIES		8	/* to take a sample during which no request changes */

static const char * const category_name[NR_CATEGORIES] = {
	"rt", "bw", "be", "idle", "write",
};

const char * const kind_name[NR_KINDS] = {
	"paced", "greedy", "random", "uring", "buffered", "writer", "direct-writer",
};

static int samples_fd = -1;

void open_samples(void)
{
	samples_fd = open(RESULTS "/samples", O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (samples_fd < 0)
		err(1, "samples");
}

void close_samples(void)
{
	close(samples_fd);
}

/* Writes a record with one system call, as director and sampler append to the same file. */
static void append(const char *text, size_t len)
{
	if (write(samples_fd, text, len) != (ssize_t)len)
		fail("samples: %s", strerror(errno));
}

void log_event(const struct disk *d, const char *fmt, ...)
{
	char text[1024];
	int len = snprintf(text, sizeof(text), "@event %" PRIu64 " %s ", now_ns(), d->name);
	va_list args;

	va_start(args, fmt);
	len += vsnprintf(text + len, sizeof(text) - len - 1, fmt, args);
	va_end(args);
	text[len++] = '\n';
	append(text, len);
}

/* Calls fsync, and counts flushes: they bypass the scheduler, so its counters do not have them. */
void flush(struct disk *d, int fd)
{
	__atomic_fetch_add(&d->flushes_begun, d->write_back, __ATOMIC_SEQ_CST);
	if (fsync(fd))
		fail("fsync of %s: %s", d->name, strerror(errno));
	__atomic_fetch_add(&d->flushes_ended, d->write_back, __ATOMIC_SEQ_CST);
}

/* Returns the requests that a disk has completed: reads, writes, and the flushes of fsync. */
uint64_t completed(const struct disk *d)
{
	uint64_t reads, writes, skip;
	char path[PATH_MAX], text[512];

	snprintf(path, sizeof(path), "/sys/block/%s/stat", d->name);
	read_file(path, text, sizeof(text));
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &reads, &skip, &skip, &skip, &writes) != 5)
		fail("%s: unknown format: '%s'", path, text);
	return reads + writes;
}

static const char * const sched_files[] = {
	"counters", "state", "queues", "service_tree", "sort_tree", "reservations",
};

static size_t read_sched_file(const struct disk *d, const char *name, char *text,
			      size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/kernel/debug/block/%s/sched/%s", d->name, name);
	return read_file(path, text, size);
}

/* Copies what changes whenever a request changes its state. */
static void fingerprint(const struct disk *d, char *text, size_t size)
{
	size_t len = read_sched_file(d, "counters", text, size);
	char *state = text + len, *rest;

	read_sched_file(d, "state", state, size - len);
	/* skip the line of the active queue: it contains times */
	rest = strncmp(state, "pid ", 4) ? NULL : strchr(state, '\n');
	if (rest)
		memmove(state, rest + 1, strlen(rest));
}

static size_t copy_sched_files(const struct disk *d, char *text, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < sizeof(sched_files) / sizeof(sched_files[0]); i++) {
		len += snprintf(text + len, size - len, "@%s\n", sched_files[i]);
		len += read_sched_file(d, sched_files[i], text + len, size - len);
	}
	return len;
}

/*
 * Copies the scheduler's files, and the number of requests completed by then. Returns
 * whether all of it is of one moment: reading the clock takes 128 ns each time, and a
 * request may complete meanwhile.
 */
static bool copy_scheduler(const struct disk *d, char *text, size_t size, size_t *len,
			   uint64_t *done)
{
	static char before[16 * KIB], after[16 * KIB];

	for (int i = 0; i < MAX_TRIES; i++) {
		fingerprint(d, before, sizeof(before));
		*len = copy_sched_files(d, text, size);
		*done = completed(d);
		fingerprint(d, after, sizeof(after));
		if (!strcmp(before, after))
			return true;
	}
	return false;
}

/*
 * Returns how many processes wait for a tag: one of the scheduler's, if there is a scheduler.
 * They have no request yet, and the scheduler does not decide which of them gets the next tag.
 */
static unsigned int tag_waiters(const struct disk *d)
{
	static const char * const files[] = { "sched_tags", "tags" };
	static char text[16 * KIB];
	char path[PATH_MAX], *active;
	unsigned int nr;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/block/%s/hctx0/%s", d->name,
			 files[i]);
		read_file(path, text, sizeof(text));
		active = strstr(text, "\nws_active=");
		if (active && sscanf(active, "\nws_active=%u", &nr) == 1)
			return nr;
	}
	fail("%s: no ws_active: '%s'", path, text);
}

static size_t copy_operations(struct disk *d, char *text, size_t size)
{
	size_t len = snprintf(text, size, "@operations\n");

	for (unsigned int i = 0; i < job.slots; i++) {
		struct slot *s = &d->slots[i];
		uint64_t now = now_ns(), issue = s->issue_ns;

		if (s->pid)
			len += snprintf(text + len, size - len,
					"pid %d %s class %s requests %u age_ns %" PRIu64 "\n",
					s->pid, kind_name[s->kind],
					category_name[s->lowest], s->requests,
					issue && issue < now ? now - issue : 0);
		for (int c = 0; c < NR_CATEGORIES; c++) {
			if (!s->worst_ns[c])
				continue;
			len += snprintf(text + len, size - len,
					"worst %s pid %d by_request_ns %" PRIu64 "\n",
					category_name[c], s->worst_pid[c], s->worst_ns[c]);
			s->worst_ns[c] = 0;
		}
	}
	return len;
}

void sample(struct disk *d, const char *phase)
{
	static char text[SAMPLE_BYTES], body[SAMPLE_BYTES / 2], scheduler[256];
	bool whole;
	char path[PATH_MAX];
	size_t len, body_len = 0;
	uint64_t begin = now_ns(), done;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", d->name);
	whole = copy_scheduler(d, body, sizeof(body), &body_len, &done);
	read_file(path, scheduler, sizeof(scheduler));
	scheduler[strcspn(scheduler, "\n")] = '\0';
	len = snprintf(text, sizeof(text),
		       "@sample %" PRIu64 " %s %s whole %d completed %" PRIu64 " flushes %" PRIu64
		       " %" PRIu64 " tag_waiters %u schedulers %s\n",
		       begin, d->name, phase, whole, done, d->flushes_begun,
		       d->flushes_ended, tag_waiters(d), scheduler);
	memcpy(text + len, body, body_len);
	len += body_len;
	len += copy_operations(d, text + len, sizeof(text) - len);
	len += snprintf(text + len, sizeof(text) - len, "@end\n");
	append(text, len);
}

void be_first(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	/* no worker runs between the files of a sample */
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("sched_setscheduler: %s", strerror(errno));
}

void __attribute__((noreturn)) run_sampler(void)
{
	uint64_t state = job.seed ^ 0x5a5a, step = job.sample_ns / job.nr_disks;
	uint64_t next = now_ns();

	be_first(1);
	for (unsigned int i = 0; !shared->sampler_stop; i = (i + 1) % job.nr_disks) {
		/* not in phase with anything periodic */
		next += step / 2 + draw_below(&state, step);
		sleep_until(next);
		sample(&shared->disks[i], "run");
	}
	_exit(0);
}
