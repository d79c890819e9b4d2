// SPDX-License-Identifier: GPL-2.0
/*
 * soak - process 1 of the soak's guest: random load, and samples of the scheduler
 *
 * Obeys DIR/job (README.md beside this file): makes the disks, then plays three
 * parts. The director (this process) starts and ends workers, changes their
 * priorities, and changes the settings of the disks, all drawn from the seed. A
 * worker reads or writes one disk in one way. The sampler copies what the
 * scheduler says of itself in debugfs, and how old each worker's operation is,
 * to DIR/samples. Nothing is judged here: the host does that, so that what is
 * judged can be kept and tested.
 *
 * Nobody spins and everybody sleeps: where computing takes no time
 * (time-travel=inf-cpu) a busy wait would not end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "chance.h"
#include "init.h"
#include "uring.h"

#define KIB			1024ULL
#define MIB			(1024 * KIB)
#define NSEC_PER_MSEC		1000000ULL

#define IOPRIO_WHO_PROCESS	1
#define IOPRIO_CLASS_RT		1
#define IOPRIO_CLASS_BE		2
#define IOPRIO_CLASS_IDLE	3
#define IOPRIO_CLASS_BW		4
#define IOPRIO_NR_LEVELS	8
#define IOPRIO(class, data)	((class) << 13 | (data))
#define IOPRIO_BW(rate, delay)	IOPRIO(IOPRIO_CLASS_BW, (rate) << 3 | (delay))

#define MAX_DISKS		8
#define MAX_SLOTS		16	/* workers of a disk */
#define MAX_SETTINGS		32
#define MAX_CHOICES		16
#define MAX_DEPTH		32
#define MAX_TRIES		8	/* for a sample that nothing happens in */
#define MAX_GROUPS		8
#define SAMPLE_BYTES		(512 * KIB)
#define CGROUPS			"/sys/fs/cgroup"

/* The limits of one operation; the bound of its latency counts in requests. */
#define SMALLEST_REQUEST	(128 * KIB)
#define LARGEST_READ		(1024 * KIB)
#define LARGEST_READ_AHEAD	(512 * KIB)
#define LARGEST_WRITE		(256 * KIB)
#define MAX_FSYNC_EVERY		4

/* Each step is twice the time between two changes. */
#define MAX_CALM		7
#define SETTINGS_PER_PHASE	4

#define DRAIN_LIMIT_NS		(1800 * NSEC_PER_SEC)
/* Until RCU and work queues have freed what ended processes had. */
#define QUIET_NS		(3 * NSEC_PER_SEC)

/* In the order in which they are served; writes are judged on their own. */
enum category { RT, BW, BE, IDLE, WRITE, NR_CATEGORIES };

static const char * const category_name[NR_CATEGORIES] = {
	"rt", "bw", "be", "idle", "write",
};

enum kind { PACED, GREEDY, RANDOM, URING, BUFFERED, WRITER, DIRECT_WRITER, NR_KINDS };

static const char * const kind_name[NR_KINDS] = {
	"paced", "greedy", "random", "uring", "buffered", "writer", "direct-writer",
};

/* A file of the disk's queue and what may be written to it; the first is usual. */
struct setting {
	char *name;
	bool tunable;			/* in queue/iosched */
	unsigned int nr;
	char *choices[MAX_CHOICES];
};

/* A worker as the director draws it, and what it tells the sampler. */
struct slot {
	pid_t pid;			/* 0: free */
	enum kind kind;
	bool ending;			/* killed, or told to stop */
	bool killed;
	bool mixed;			/* each request has a priority of its own */
	bool ahead;			/* asks for something to be read before each fsync */
	int group;			/* the control group that it is in; -1: the root */
	uint64_t seed;
	uint64_t size;			/* bytes of one operation */
	uint64_t offset, length;	/* the part of the disk that it uses */
	uint64_t period_ns;
	uint64_t think_ns;
	uint64_t count;			/* operations until it ends by itself */
	unsigned int depth;
	unsigned int fsync_every;
	unsigned int requests;		/* at most, that an operation waits for */
	int ioprio;

	volatile bool stop;
	volatile enum category category;
	/* The worst since the operation began. */
	volatile enum category lowest;
	/* Begin of the oldest operation that has not ended; 0: none. */
	volatile uint64_t issue_ns;
	volatile uint64_t operations;
	/* The longest latency by request since the last sample, and whose. */
	volatile uint64_t worst_ns[NR_CATEGORIES];
	volatile pid_t worst_pid[NR_CATEGORIES];
};

/* A control group, which comes and goes; when it comes again it has another number. */
struct group {
	char path[64];
	uint64_t id;			/* 0: not there */
};

struct disk {
	char name[32];
	char dev[16];			/* major:minor */
	uint64_t bytes;
	uint64_t hot;			/* where small regions are */
	unsigned int wanted;		/* workers */
	const char *scheduler;
	bool write_back;		/* has a cache that fsync flushes */
	/* Flushes of all workers; each counts as a write. */
	uint64_t flushes_begun, flushes_ended;
	struct slot slots[MAX_SLOTS];
};

/* What director, workers and sampler share. */
struct shared {
	struct disk disks[MAX_DISKS];
	volatile bool sampler_stop;
};

static struct {
	uint64_t seed;
	uint64_t requests;		/* to complete, on all disks */
	uint64_t until_ns;		/* or until this time */
	uint64_t phase_ns;		/* between two times that all disks rest */
	uint64_t sample_ns;		/* between two samples of a disk */
	uint64_t event_ns;		/* shortest mean time between two changes */
	unsigned int slots;
	unsigned int nr_disks;
	unsigned int nr_settings;
	struct setting settings[MAX_SETTINGS];
	struct setting schedulers;
	unsigned int nr_groups;
	struct setting lines;		/* what control groups write to io.bw */
	/* Written to queue/iosched/ of a scheduler other than the first. */
	unsigned int nr_others;
	char *others[MAX_CHOICES][3];
} job = {
	.phase_ns = 600 * NSEC_PER_SEC,
	.sample_ns = NSEC_PER_SEC,
	.event_ns = 50 * NSEC_PER_MSEC,
	.slots = 8,
};

static struct shared *shared;
static struct group groups[MAX_GROUPS];	/* the director's */
static int samples_fd = -1;

/* ---- chance ---------------------------------------------------------- */

/* Whether something happens that has this probability, in percent. */
static bool chance(uint64_t *state, unsigned int percent)
{
	return draw_below(state, 100) < percent;
}

/* A power of two between two of them. */
static uint64_t draw_size(uint64_t *state, uint64_t least, uint64_t most)
{
	unsigned int steps = __builtin_ctzll(most) - __builtin_ctzll(least);

	return least << draw_below(state, steps + 1);
}

/* ---- files ---------------------------------------------------------------------- */

/* Returns 0 or an error number: settings may be refused. */
static int try_write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t len = strlen(value);
	int ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, value, len) != len)
		ret = errno;
	close(fd);
	return ret;
}

static void write_file(const char *path, const char *value)
{
	int ret = try_write_file(path, value);

	if (ret)
		fail("write '%s' to %s: %s", value, path, strerror(ret));
}

/* Appends a file to a text; what cannot be read is left out. Returns the length. */
static size_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t len = 0;
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return 0;
	while (len + 1 < size && (n = read(fd, text + len, size - len - 1)) > 0)
		len += n;
	close(fd);
	text[len] = '\0';
	return len;
}

static uint64_t number(const char *text, const char *key)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		fail("job: %s: '%s' is not a number", key, text);
	return v;
}

/* ---- the job --------------------------------------------------------------------- */

static char *keep(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		fail("out of memory");
	return copy;
}

static char *cut(char *text, char at)
{
	char *rest = strchr(text, at);

	if (!rest)
		fail("job: '%s' lacks an argument", text);
	*rest = '\0';
	return rest + 1;
}

static void parse_choices(struct setting *s, char *text)
{
	char *save = NULL;

	for (char *tok = strtok_r(text, "|", &save); tok; tok = strtok_r(NULL, "|", &save)) {
		if (s->nr == MAX_CHOICES)
			fail("job: more than %d choices", MAX_CHOICES);
		s->choices[s->nr++] = keep(tok);
	}
	if (!s->nr)
		fail("job: no choices");
}

static void parse_setting(char *text, bool tunable)
{
	struct setting *s = &job.settings[job.nr_settings];
	char *choices = cut(text, ' ');

	if (job.nr_settings++ == MAX_SETTINGS)
		fail("job: more than %d settings", MAX_SETTINGS);
	s->name = keep(text);
	s->tunable = tunable;
	parse_choices(s, choices);
}

static void parse_disk(char *text)
{
	struct disk *d = &shared->disks[job.nr_disks];
	char *mib = cut(text, ' ');

	if (job.nr_disks++ == MAX_DISKS)
		fail("job: more than %d disks", MAX_DISKS);
	snprintf(d->name, sizeof(d->name), "%s", text);
	d->bytes = number(mib, "disk") * MIB;
}

static void parse_other(char *text)
{
	char *name = cut(text, ' '), *value = cut(name, ' ');

	if (job.nr_others == MAX_CHOICES)
		fail("job: more than %d settings of other schedulers", MAX_CHOICES);
	job.others[job.nr_others][0] = keep(text);
	job.others[job.nr_others][1] = keep(name);
	job.others[job.nr_others][2] = keep(value);
	job.nr_others++;
}

static void obey(char *verb, char *rest)
{
	const struct {
		const char *verb;
		uint64_t *value;
	} numbers[] = {
		{ "seed", &job.seed },
		{ "requests", &job.requests },
		{ "until_ns", &job.until_ns },
		{ "phase_ns", &job.phase_ns },
		{ "sample_ns", &job.sample_ns },
		{ "event_ns", &job.event_ns },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!strcmp(verb, numbers[i].verb)) {
			*numbers[i].value = number(rest, verb);
			return;
		}
	}
	if (!strcmp(verb, "mkdir")) {
		if (mkdir(rest, 0755))
			fail("job: mkdir %s: %s", rest, strerror(errno));
	} else if (!strcmp(verb, "write")) {
		char *value = cut(rest, ' ');

		write_file(rest, value);
	} else if (!strcmp(verb, "disk")) {
		parse_disk(rest);
	} else if (!strcmp(verb, "slots")) {
		job.slots = number(rest, verb);
		if (!job.slots || job.slots > MAX_SLOTS)
			fail("job: slots: 1 to %d", MAX_SLOTS);
	} else if (!strcmp(verb, "groups")) {
		job.nr_groups = number(rest, verb);
		if (job.nr_groups > MAX_GROUPS)
			fail("job: groups: at most %d", MAX_GROUPS);
	} else if (!strcmp(verb, "line")) {
		parse_choices(&job.lines, rest);
	} else if (!strcmp(verb, "tunable") || !strcmp(verb, "queue")) {
		parse_setting(rest, verb[0] == 't');
	} else if (!strcmp(verb, "scheduler")) {
		parse_choices(&job.schedulers, rest);
	} else if (!strcmp(verb, "other")) {
		parse_other(rest);
	} else {
		fail("job: unknown verb '%s'", verb);
	}
}

static void read_job(void)
{
	FILE *f = fopen(RESULTS "/job", "r");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		fail("job: %s", strerror(errno));
	while (getline(&text, &size, f) > 0) {
		char *rest;

		text[strcspn(text, "\n")] = '\0';
		if (!text[0] || text[0] == '#')
			continue;
		rest = cut(text, ' ');
		obey(text, rest);
	}
	free(text);
	fclose(f);
	if (!job.nr_disks || !job.requests || !job.until_ns || !job.schedulers.nr)
		fail("job: needs disk, requests, until_ns and scheduler");
	if (job.nr_groups && !job.lines.nr)
		fail("job: groups need lines");
}

/* ---- fsync ------------------------------------------------------------------------- */

/* A flush does not pass the scheduler: without the number its counts do not add up. */
static void flush(struct disk *d, int fd)
{
	__atomic_fetch_add(&d->flushes_begun, d->write_back, __ATOMIC_SEQ_CST);
	if (fsync(fd))
		fail("fsync of %s: %s", d->name, strerror(errno));
	__atomic_fetch_add(&d->flushes_ended, d->write_back, __ATOMIC_SEQ_CST);
}

/* ---- samples ---------------------------------------------------------------------- */

/* One write for a record: director and sampler append to the same file. */
static void append(const char *text, size_t len)
{
	if (write(samples_fd, text, len) != (ssize_t)len)
		fail("samples: %s", strerror(errno));
}

static void __attribute__((format(printf, 2, 3)))
log_event(const struct disk *d, const char *fmt, ...)
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

/* Requests that a disk has completed: reads, writes, and the flushes of fsync. */
static uint64_t completed(const struct disk *d)
{
	uint64_t reads, writes, skip;
	char path[PATH_MAX], text[512];

	snprintf(path, sizeof(path), "/sys/block/%s/stat", d->name);
	read_file(path, text, sizeof(text));
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &reads, &skip, &skip, &skip, &writes) != 5)
		fail("%s: cannot be understood: '%s'", path, text);
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

/* What changes when anything happens to a request. */
static void fingerprint(const struct disk *d, char *text, size_t size)
{
	size_t len = read_sched_file(d, "counters", text, size);
	char *state = text + len, *rest;

	read_sched_file(d, "state", state, size - len);
	/* the active queue's line has times in it */
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
 * The scheduler's files at one moment, and how many requests have been completed
 * by then. Returns whether it is one: each look at the clock takes 128 ns, and a
 * completion may fall into them.
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
 * How many wait for a tag: one of the scheduler's, if there is one. What they ask for
 * is not a request yet, and who gets the next tag is not for the scheduler to say.
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

static void sample(struct disk *d, const char *phase)
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

static void be_first(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	/* workers do not come between the files of a sample */
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fail("sched_setscheduler: %s", strerror(errno));
}

static void __attribute__((noreturn)) run_sampler(void)
{
	uint64_t state = job.seed ^ 0x5a5a, step = job.sample_ns / job.nr_disks;
	uint64_t next = now_ns();

	be_first(1);
	for (unsigned int i = 0; !shared->sampler_stop; i = (i + 1) % job.nr_disks) {
		/* not in step with whatever has a period */
		next += step / 2 + draw_below(&state, step);
		sleep_until(next);
		sample(&shared->disks[i], "run");
	}
	_exit(0);
}

/* ---- a worker ------------------------------------------------------------------------ */

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
 * Reads somewhere, without waiting, and then writes what all have made dirty: requests of
 * two control groups at a time, if another one has made more of it dirty.
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
			/* nobody catches up for longer than a second */
			if (due + NSEC_PER_SEC < done)
				due = done;
			sleep_until(due);
			issue = now_ns();
		} else if (s->think_ns) {
			sleep_until(done + draw_below(&c.state, 2 * s->think_ns));
			issue = now_ns();
		} else {
			/* a look at the clock is as dear as a read */
			issue = done;
		}
	}
}

static int draw_ioprio(uint64_t *state);

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

/* The oldest operation that has not ended. */
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

static void __attribute__((noreturn)) run_worker(struct disk *d, struct slot *s)
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

/* ---- drawing a worker -------------------------------------------------------------------- */

/* Rates of 128 KiB/s to 16 MiB/s; any delay. */
static int draw_ioprio(uint64_t *state)
{
	unsigned int level = draw_below(state, IOPRIO_NR_LEVELS), dice = draw_below(state, 100);

	if (dice < 35)
		return IOPRIO_BW(draw_size(state, 1, 128), level);
	if (dice < 50)
		return IOPRIO(IOPRIO_CLASS_RT, level);
	if (dice < 85)
		return IOPRIO(IOPRIO_CLASS_BE, level);
	return IOPRIO(IOPRIO_CLASS_IDLE, 0);
}

static enum category category_of(int ioprio)
{
	switch (ioprio >> 13) {
	case IOPRIO_CLASS_RT:
		return RT;
	case IOPRIO_CLASS_BW:
		return BW;
	case IOPRIO_CLASS_IDLE:
		return IDLE;
	default:
		return BE;
	}
}

/*
 * A level of its own for each writer would be a queue for each; three levels are
 * enough to have several.
 */
static int writer_ioprio(int ioprio)
{
	if (ioprio >> 13 == IOPRIO_CLASS_BW || ioprio >> 13 == IOPRIO_CLASS_IDLE)
		return ioprio;
	return IOPRIO(ioprio >> 13, (ioprio & 7) < 3 ? 0 : (ioprio & 7) < 6 ? 4 : 7);
}

/*
 * The whole disk, or a part of it. Those that read at random share a place: workers
 * near the head must not keep those from the disk that are not. It is large
 * enough for them to be seeky, and so small that one of them is always near.
 */
static void draw_region(uint64_t *state, const struct disk *d, struct slot *s)
{
	unsigned int dice = draw_below(state, 100);
	bool random = s->kind == RANDOM || s->kind == URING;

	s->offset = 0;
	s->length = d->bytes / MIB * MIB;
	if (random && dice < 40)
		return;
	s->length = dice < 80 ? 24 * MIB : dice < 90 ? 256 * MIB : 4096 * MIB;
	if (random)
		s->offset = d->hot;
	else
		s->offset = draw_below(state, (d->bytes - s->length) / MIB) * MIB;
	/* what is in the page cache takes no time to read again */
	if (s->kind == BUFFERED)
		s->length = d->bytes / MIB * MIB - s->offset;
}

/* The most requests that end before an operation does. */
static unsigned int requests_of(const struct slot *s)
{
	uint64_t bytes = s->size;

	switch (s->kind) {
	case WRITER:
		/* fsync waits for what all writers of the disk have written */
		bytes = (uint64_t)job.slots * LARGEST_WRITE * MAX_FSYNC_EVERY;
		break;
	case BUFFERED:
		bytes += 2 * LARGEST_READ_AHEAD;
		break;
	case URING:
		/* those before it in the same queue */
		return s->depth * ((bytes + SMALLEST_REQUEST - 1) / SMALLEST_REQUEST);
	default:
		break;
	}
	/* one more where a range is not aligned to what a request may have */
	return (bytes + SMALLEST_REQUEST - 1) / SMALLEST_REQUEST;
}

static enum kind draw_kind(uint64_t *state)
{
	static const enum kind kinds[] = {
		PACED, PACED, PACED, GREEDY, GREEDY, RANDOM, RANDOM, RANDOM,
		URING, URING, URING, BUFFERED, BUFFERED, WRITER, DIRECT_WRITER,
	};

	return kinds[draw_below(state, sizeof(kinds) / sizeof(kinds[0]))];
}

static void draw_slot(uint64_t *state, const struct disk *d, struct slot *s)
{
	s->kind = draw_kind(state);
	s->ending = s->killed = s->stop = false;
	s->seed = draw(state);
	s->depth = 1;
	s->mixed = s->ahead = false;
	s->group = -1;
	s->fsync_every = 0;
	s->period_ns = s->think_ns = 0;
	s->count = draw_size(state, 2, 65536);
	draw_region(state, d, s);
	s->ioprio = draw_ioprio(state);

	switch (s->kind) {
	case PACED:
		s->size = draw_size(state, 64 * KIB, LARGEST_READ);
		s->period_ns = (20 + draw_below(state, 980)) * NSEC_PER_MSEC;
		break;
	case GREEDY:
		s->size = draw_size(state, 16 * KIB, LARGEST_READ);
		break;
	case RANDOM:
		s->size = draw_size(state, 4 * KIB, 64 * KIB);
		if (chance(state, 50))
			s->think_ns = (1 + draw_below(state, 20)) * NSEC_PER_MSEC;
		break;
	case URING:
		s->size = draw_size(state, 4 * KIB, 128 * KIB);
		s->depth = draw_size(state, 2, MAX_DEPTH);
		s->mixed = chance(state, 30);
		if (chance(state, 50))
			s->think_ns = (1 + draw_below(state, 10)) * NSEC_PER_MSEC;
		break;
	case BUFFERED:
		s->size = draw_size(state, 4 * KIB, 256 * KIB);
		s->think_ns = (1 + draw_below(state, 5)) * NSEC_PER_MSEC;
		break;
	case WRITER:
		s->size = draw_size(state, 4 * KIB, LARGEST_WRITE);
		/* or never: its pages are written back in the background */
		if (chance(state, 70))
			s->fsync_every = draw_size(state, 1, MAX_FSYNC_EVERY);
		s->ahead = chance(state, 50);
		s->think_ns = (1 + draw_below(state, 100)) * NSEC_PER_MSEC;
		s->ioprio = writer_ioprio(s->ioprio);
		break;
	default:
		s->size = draw_size(state, 4 * KIB, LARGEST_WRITE);
		s->think_ns = (1 + draw_below(state, 50)) * NSEC_PER_MSEC;
		break;
	}
	s->requests = requests_of(s);
	s->category = s->lowest = category_of(s->ioprio);
	s->issue_ns = 0;
	s->operations = 0;
}

/* ---- the director ---------------------------------------------------------------------------- */

static struct slot *free_slot(struct disk *d)
{
	for (unsigned int i = 0; i < job.slots; i++)
		if (!d->slots[i].pid)
			return &d->slots[i];
	return NULL;
}

static int draw_group(uint64_t *state)
{
	unsigned int i;

	if (!job.nr_groups || chance(state, 50))
		return -1;
	i = draw_below(state, job.nr_groups);
	return groups[i].id ? (int)i : -1;
}

/* @group: -1 is the root */
static void move_worker(struct disk *d, struct slot *s, int group)
{
	const char *folder = group < 0 ? CGROUPS : groups[group].path;
	char path[PATH_MAX], pid[16];
	int ret;

	s->group = group;
	log_event(d, "move pid %d %s", s->pid, folder);
	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	snprintf(pid, sizeof(pid), "%d", s->pid);
	ret = try_write_file(path, pid);
	/* it may have ended by itself */
	if (ret && ret != ESRCH)
		fail("write '%s' to %s: %s", pid, path, strerror(ret));
}

static void set_line(uint64_t *state, const struct group *g, const struct disk *d)
{
	const char *line = job.lines.choices[draw_below(state, job.lines.nr)];
	char path[PATH_MAX], text[256];

	log_event(d, "line %" PRIu64 " %s", g->id, line);
	snprintf(path, sizeof(path), "%s/io.bw", g->path);
	snprintf(text, sizeof(text), "%s %s", d->dev, line);
	write_file(path, text);
}

static void make_group(uint64_t *state, struct group *g)
{
	struct stat st;

	if (mkdir(g->path, 0755) || stat(g->path, &st))
		fail("%s: %s", g->path, strerror(errno));
	g->id = st.st_ino;
	log_event(&shared->disks[0], "group %" PRIu64 " made", g->id);
	for (unsigned int i = 0; i < job.nr_disks; i++)
		if (chance(state, 70))
			set_line(state, g, &shared->disks[i]);
}

/* Those in it go on in the root. */
static void remove_group(struct group *g)
{
	for (unsigned int i = 0; i < job.nr_disks * job.slots; i++) {
		struct disk *d = &shared->disks[i / job.slots];
		struct slot *s = &d->slots[i % job.slots];

		if (s->pid && s->group == g - groups)
			move_worker(d, s, -1);
	}
	log_event(&shared->disks[0], "group %" PRIu64 " removed", g->id);
	if (rmdir(g->path))
		fail("rmdir %s: %s", g->path, strerror(errno));
	g->id = 0;
}

static void change_group(uint64_t *state, struct disk *d, struct slot *s)
{
	struct group *g = &groups[draw_below(state, job.nr_groups)];
	unsigned int dice = draw_below(state, 100);

	if (!g->id)
		make_group(state, g);
	else if (dice < 10)
		remove_group(g);
	else if (dice < 50 && s)
		move_worker(d, s, draw_group(state));
	else
		set_line(state, g, d);
}

static void start_worker(uint64_t *state, struct disk *d)
{
	int group = draw_group(state);
	struct slot *s = free_slot(d);
	pid_t pid;

	if (!s)
		return;
	draw_slot(state, d, s);
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (!pid)
		run_worker(d, s);
	s->pid = pid;
	log_event(d, "start pid %d %s ioprio 0x%x mixed %d requests %u size %" PRIu64
		  " depth %u offset %" PRIu64 " length %" PRIu64, pid, kind_name[s->kind],
		  s->ioprio, s->mixed, s->requests, s->size, s->depth, s->offset, s->length);
	/* it has not run yet */
	if (group >= 0)
		move_worker(d, s, group);
}

static struct slot *draw_running(uint64_t *state, struct disk *d)
{
	unsigned int first = draw_below(state, job.slots);

	for (unsigned int i = 0; i < job.slots; i++) {
		struct slot *s = &d->slots[(first + i) % job.slots];

		if (s->pid && !s->ending)
			return s;
	}
	return NULL;
}

static void end_worker(struct disk *d, struct slot *s, bool kill_it)
{
	s->ending = true;
	s->stop = true;
	if (kill_it) {
		s->killed = true;
		kill(s->pid, SIGKILL);
	}
	log_event(d, "%s pid %d", kill_it ? "kill" : "stop", s->pid);
}

static void change_priority(uint64_t *state, struct disk *d, struct slot *s)
{
	int ioprio = draw_ioprio(state);
	enum category c;

	if (s->kind == WRITER)
		ioprio = writer_ioprio(ioprio);
	c = category_of(ioprio);
	s->category = c;
	if (c > s->lowest)
		s->lowest = c;
	log_event(d, "ioprio pid %d 0x%x", s->pid, ioprio);
	/* it may have ended by itself */
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, s->pid, ioprio) && errno != ESRCH)
		fail("ioprio_set 0x%x: %s", ioprio, strerror(errno));
}

static void apply_setting(struct disk *d, unsigned int i, const char *value)
{
	const struct setting *s = &job.settings[i];
	char path[PATH_MAX];
	int ret;

	if (s->tunable && d->scheduler != job.schedulers.choices[0])
		return;
	snprintf(path, sizeof(path), "/sys/block/%s/queue/%s%s", d->name,
		 s->tunable ? "iosched/" : "", s->name);
	log_event(d, "set %s %s", s->name, value);
	ret = try_write_file(path, value);
	/* without a scheduler there are as many requests as the drive takes */
	if (ret && !(ret == EINVAL && d->scheduler != job.schedulers.choices[0]))
		fail("write '%s' to %s: %s", value, path, strerror(ret));
}

static void apply_usual(struct disk *d)
{
	for (unsigned int i = 0; i < job.nr_settings; i++)
		apply_setting(d, i, job.settings[i].choices[0]);
}

static void change_setting(uint64_t *state, struct disk *d)
{
	unsigned int i = draw_below(state, job.nr_settings);

	apply_setting(d, i, job.settings[i].choices[draw_below(state, job.settings[i].nr)]);
}

static void set_scheduler(struct disk *d, const char *scheduler)
{
	char path[PATH_MAX];

	log_event(d, "switch %s", scheduler);
	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", d->name);
	write_file(path, scheduler);
	d->scheduler = scheduler;
	log_event(d, "scheduler %s completed %" PRIu64 " flushes %" PRIu64 " %" PRIu64, scheduler,
		  completed(d), d->flushes_begun, d->flushes_ended);
	for (unsigned int i = 0; i < job.nr_others; i++) {
		if (strcmp(job.others[i][0], scheduler))
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s/queue/iosched/%s", d->name,
			 job.others[i][1]);
		write_file(path, job.others[i][2]);
	}
	/* a new scheduler begins with its defaults, and the queue with its length */
	if (scheduler == job.schedulers.choices[0])
		apply_usual(d);
}

/* Another scheduler, or back to the usual one. */
static void change_scheduler(uint64_t *state, struct disk *d)
{
	const struct setting *s = &job.schedulers;

	/* setting the one that is set does nothing, and counts go on */
	if (s->nr == 1)
		return;
	if (d->scheduler == s->choices[0])
		set_scheduler(d, s->choices[1 + draw_below(state, s->nr - 1)]);
	else
		set_scheduler(d, s->choices[0]);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned int i = 0; i < job.nr_disks * job.slots; i++) {
			struct disk *d = &shared->disks[i / job.slots];
			struct slot *s = &d->slots[i % job.slots];

			if (s->pid != pid)
				continue;
			if (status && !(s->killed && WIFSIGNALED(status)))
				fail("worker %d (%s on %s) ended with status 0x%x; its message is on the console",
				     pid, kind_name[s->kind], d->name, status);
			s->pid = 0;
			s->issue_ns = 0;
			log_event(d, "end pid %d operations %" PRIu64, pid, s->operations);
		}
	}
}

static unsigned int nr_running(const struct disk *d)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < job.slots; i++)
		nr += d->slots[i].pid != 0;
	return nr;
}

static void start_workers(uint64_t *state, struct disk *d)
{
	for (unsigned int nr = nr_running(d); nr < d->wanted; nr++)
		start_worker(state, d);
}

static void change_something(uint64_t *state)
{
	struct disk *d = &shared->disks[draw_below(state, job.nr_disks)];
	unsigned int dice = draw_below(state, 1000);
	struct slot *s = draw_running(state, d);

	if (dice < 20)
		d->wanted = 1 + draw_below(state, job.slots);
	/* other schedulers are there for the switch only */
	if (d->scheduler != job.schedulers.choices[0] && dice < 200)
		change_scheduler(state, d);
	else if (dice < 400 || nr_running(d) < d->wanted)
		start_workers(state, d);
	else if (dice < 500 && s)
		end_worker(d, s, chance(state, 30));
	else if (dice < 700 && s)
		change_priority(state, d, s);
	else if (dice < 800 && job.nr_groups)
		change_group(state, d, s);
	else if (dice < 940)
		change_setting(state, d);
	else if (dice < 990)
		apply_usual(d);
	else
		change_scheduler(state, d);
}

static uint64_t all_completed(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < job.nr_disks; i++)
		sum += completed(&shared->disks[i]);
	return sum;
}

static unsigned int all_running(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < job.nr_disks; i++)
		nr += nr_running(&shared->disks[i]);
	return nr;
}

static void write_back(struct disk *d)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", d->name);
	fd = open(path, O_RDWR);
	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	flush(d, fd);
	close(fd);
}

/* Ends all workers, and looks at what they leave behind. */
static void rest(const char *phase)
{
	uint64_t begin = now_ns(), next = begin;

	for (unsigned int i = 0; i < job.nr_disks * job.slots; i++) {
		struct disk *d = &shared->disks[i / job.slots];
		struct slot *s = &d->slots[i % job.slots];

		if (s->pid && !s->ending)
			end_worker(d, s, false);
	}
	while (all_running()) {
		if (next > begin + DRAIN_LIMIT_NS)
			fail("%u workers have not ended after %llu s", all_running(),
			     DRAIN_LIMIT_NS / NSEC_PER_SEC);
		next += 10 * NSEC_PER_MSEC;
		sleep_until(next);
		reap();
	}
	for (unsigned int i = 0; i < job.nr_disks; i++)
		write_back(&shared->disks[i]);
	sleep_until(now_ns() + QUIET_NS);
	for (unsigned int i = 0; i < job.nr_disks; i++)
		sample(&shared->disks[i], phase);
}

static void run_phase(uint64_t *state)
{
	uint64_t next = now_ns(), end = next + job.phase_ns;
	/* restless phases find races, calm ones processes that are never served */
	uint64_t event_ns = job.event_ns << draw_below(state, MAX_CALM);

	for (unsigned int i = 0; i < job.nr_groups; i++)
		if (!groups[i].id && chance(state, 80))
			make_group(state, &groups[i]);
	for (unsigned int i = 0; i < job.nr_disks; i++) {
		struct disk *d = &shared->disks[i];

		d->wanted = 1 + draw_below(state, job.slots);
		d->hot = draw_below(state, d->bytes / 2 / MIB) * MIB;
		for (int n = 0; n < SETTINGS_PER_PHASE; n++)
			change_setting(state, d);
		start_workers(state, d);
	}
	while (next < end && next < job.until_ns) {
		next += 1 + draw_below(state, 2 * event_ns);
		sleep_until(next);
		/* a scheduler may have taken its time to go */
		next = next < now_ns() ? now_ns() : next;
		reap();
		change_something(state);
		if (all_completed() >= job.requests)
			return;
	}
}

/* A kernel that cannot be soaked at all: not a failure of it. */
static void __attribute__((noreturn)) refuse(const char *why)
{
	write_result("refused", why);
	power_off();
}

/* Leaves out the schedulers that the kernel lacks; the first one it must have. */
static void check_kernel(void)
{
	struct setting *s = &job.schedulers;
	char path[PATH_MAX], text[256];
	unsigned int nr = 0;

	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BW(1, 0)))
		refuse("has no class BW");
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO(IOPRIO_CLASS_BE, 4));
	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", shared->disks[0].name);
	read_file(path, text, sizeof(text));
	for (unsigned int i = 0; i < s->nr; i++) {
		if (strstr(text, s->choices[i]))
			s->choices[nr++] = s->choices[i];
		else if (!i)
			refuse("has not the scheduler that is to be soaked");
	}
	s->nr = nr;
}

/* With slab_nomerge each cache is seen alone; shrinking it returns what is free. */
static void log_slab(const char *cache)
{
	char path[PATH_MAX], text[256];

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache);
	if (try_write_file(path, "1"))
		return;
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/objects", cache);
	read_file(path, text, sizeof(text));
	log_event(&shared->disks[0], "slab %s %d", cache, atoi(text));
}

/* What is left of control groups that are gone, when nothing of theirs is cached or written. */
static void log_dying_groups(void)
{
	char text[512];
	const char *found;

	for (unsigned int i = 0; i < job.nr_groups; i++)
		if (groups[i].id)
			remove_group(&groups[i]);
	write_file("/proc/sys/vm/drop_caches", "3");
	sleep_until(now_ns() + QUIET_NS);
	read_file(CGROUPS "/cgroup.stat", text, sizeof(text));
	found = strstr(text, "nr_dying_descendants ");
	if (!found)
		fail("no nr_dying_descendants: '%s'", text);
	log_event(&shared->disks[0], "slab groups %d", atoi(strchr(found, ' ')));
}

static void set_up_groups(void)
{
	if (!job.nr_groups)
		return;
	must_mount("cgroup2", CGROUPS, NULL);
	write_file(CGROUPS "/cgroup.subtree_control", "+io +memory");
	/* a tenth of the usual, so that there is writeback while its group is there */
	write_file("/proc/sys/vm/dirty_expire_centisecs", "300");
	for (unsigned int i = 0; i < job.nr_groups; i++)
		snprintf(groups[i].path, sizeof(groups[i].path), CGROUPS "/group%u", i);
}

static bool has_write_back(const struct disk *d)
{
	char path[PATH_MAX], text[64];

	snprintf(path, sizeof(path), "/sys/block/%s/queue/write_cache", d->name);
	read_file(path, text, sizeof(text));
	return !strncmp(text, "write back", strlen("write back"));
}

static void read_dev(struct disk *d)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/block/%s/dev", d->name);
	read_file(path, d->dev, sizeof(d->dev));
	d->dev[strcspn(d->dev, "\n")] = '\0';
}

static void run(void)
{
	uint64_t state = job.seed;
	pid_t sampler;

	for (unsigned int i = 0; i < job.nr_disks; i++) {
		shared->disks[i].write_back = has_write_back(&shared->disks[i]);
		read_dev(&shared->disks[i]);
	}
	set_up_groups();
	for (unsigned int i = 0; i < job.nr_disks; i++)
		set_scheduler(&shared->disks[i], job.schedulers.choices[0]);
	sampler = fork();
	if (sampler < 0)
		fail("fork: %s", strerror(errno));
	if (!sampler)
		run_sampler();
	be_first(2);

	while (all_completed() < job.requests && now_ns() < job.until_ns) {
		run_phase(&state);
		rest("rest");
	}
	shared->sampler_stop = true;
	if (waitpid(sampler, NULL, 0) != sampler)
		fail("the sampler is gone");
	rest("end");
	for (unsigned int i = 0; i < job.nr_disks; i++)
		set_scheduler(&shared->disks[i], "none");
	sleep_until(now_ns() + QUIET_NS);
	log_slab("cfq_queue");
	log_slab("cfq_io_cq");
	if (job.nr_groups)
		log_dying_groups();
}

/* ---- process 1 ------------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
	if (argc < 2 || getpid() != 1)
		errx(2, "usage: process 1 of a guest, with a folder of the host as argument; see tools/testbed/soak/soak");
	set_up_guest(argv[1]);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	samples_fd = open(RESULTS "/samples", O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (samples_fd < 0)
		err(1, "samples");
	read_job();
	check_kernel();
	run();
	close(samples_fd);
	write_result("done", "1\n");
	power_off();
}
