// SPDX-License-Identifier: GPL-2.0
/*
 * loadgen - the load generator of lab
 *
 * Reads a plain-text job (obey() has its words), starts one process
 * for each stream in it, and writes one record for each operation that a
 * stream made.  As process 1 of a User-Mode Linux guest it also mounts what it
 * needs, makes the disk, and powers the guest off at the end; on any other
 * machine it runs the streams on the block device that the job names.
 *
 * Streams sleep, they never spin: in a guest whose clock stands still while it
 * computes (time-travel=inf-cpu) a busy wait would not end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "chance.h"
#include "init.h"

#define IOPRIO_WHO_PROCESS	1
#define IOPRIO_CLASS_BW		4
/* The smallest valid reservation: 128 KiB/s, delay level 0. */
#define IOPRIO_BW_PROBE		(IOPRIO_CLASS_BW << 13 | 1 << 3)

#define MAX_STREAMS		4096
#define MAX_REGIONS		8
#define RECORDS_PER_CHUNK	(64 * 1024)

/* What one read or write did; written to the result file as it stands. */
struct record {
	uint64_t due_ns;	/* when it should have been issued */
	uint64_t issue_ns;	/* when it was */
	uint64_t end_ns;	/* when it returned */
	uint64_t bytes;
};

struct chunk {
	struct chunk *next;
	size_t used;
	struct record records[RECORDS_PER_CHUNK];
};

struct region {
	uint64_t offset;
	uint64_t length;
};

struct stream {
	char name[16];		/* of the process, as the kernel keeps it */
	unsigned int id;
	bool write;
	bool random;
	bool direct;
	bool catch_up;
	int ioprio;		/* as ioprio_set takes it; 0 = leave alone */
	uint64_t size;		/* bytes of one operation */
	uint64_t chunk;		/* bytes of one system call, 0 = size */
	uint64_t period_ns;	/* 0 = greedy */
	uint64_t start_ns;	/* after the common start */
	uint64_t think_ns;	/* pause after each operation */
	uint64_t burst;		/* operations between two pauses, 0 = no pauses */
	uint64_t pause_ns;	/* longest of them; how long is drawn */
	uint64_t swing;		/* bytes by which an operation is smaller or larger at most */
	uint64_t fsync_every;	/* operations between two fsync, 0 = none */
	uint64_t count;		/* operations to make, 0 = until the end */
	uint64_t seed;
	unsigned int nr_regions;
	struct region regions[MAX_REGIONS];
	char *list;		/* file with "offset length" lines */
	char *file;		/* of a file system, in place of the device */
	char *to;		/* file that gets what is read */
	char *cgroup;		/* folder of the control group, NULL = that of loadgen */
	bool create;		/* @file is new */
	bool rewrite;		/* what is written has been read before, there */
	uint64_t buffer_ns;	/* what is found to be later is lost, 0 = never */
	uint64_t memory;	/* bytes of which each operation uses a part, in turn */
};

/* A file whose text is a result, after the streams. */
struct report {
	char name[64];
	char path[PATH_MAX];
};

#define MAX_REPORTS	4

static struct {
	char *device;
	unsigned int nr_reports;
	struct report reports[MAX_REPORTS];
	uint64_t start_ns;	/* CLOCK_MONOTONIC; 0 = one second from now */
	uint64_t duration_ns;
	unsigned int nr_streams;
	struct stream streams[MAX_STREAMS];
} job;

/* ---- the job file --------------------------------------------------------- */

static uint64_t number(const char *text, unsigned int line, const char *key)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		fail("job line %u: %s: '%s' is not a number", line, key, text);
	return v;
}

static void write_file(const char *path, const char *value, unsigned int line)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t len = strlen(value);

	if (fd < 0)
		fail("job line %u: open %s: %s", line, path, strerror(errno));
	if (write(fd, value, len) != len)
		fail("job line %u: write '%s' to %s: %s", line, value, path,
		     strerror(errno));
	if (close(fd))
		fail("job line %u: write '%s' to %s: %s", line, value, path,
		     strerror(errno));
}

/* By its mode: root may open all, and a kernel may let nobody write. */
static bool is_writable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (st.st_mode & S_IWUSR);
}

/* A setting of a control group for the device. */
static void write_for_device(const char *path, const char *value, unsigned int line)
{
	char text[256];
	struct stat st;

	if (!job.device || stat(job.device, &st))
		fail("job line %u: %s: no device before it", line, path);
	snprintf(text, sizeof(text), "%u:%u %s", major(st.st_rdev), minor(st.st_rdev), value);
	write_file(path, text, line);
}

static void parse_regions(struct stream *s, char *text, unsigned int line)
{
	char *save = NULL;

	for (char *tok = strtok_r(text, ",", &save); tok;
	     tok = strtok_r(NULL, ",", &save)) {
		struct region *r;
		char *colon = strchr(tok, ':');

		if (!colon || s->nr_regions == MAX_REGIONS)
			fail("job line %u: regions: at most %d of offset:length",
			     line, MAX_REGIONS);
		*colon = '\0';
		r = &s->regions[s->nr_regions++];
		r->offset = number(tok, line, "regions");
		r->length = number(colon + 1, line, "regions");
	}
}

static void parse_stream(char *text, unsigned int line)
{
	struct stream *s = &job.streams[job.nr_streams];
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {
		{ "size", &s->size },
		{ "chunk", &s->chunk },
		{ "period_ns", &s->period_ns },
		{ "start_ns", &s->start_ns },
		{ "think_ns", &s->think_ns },
		{ "burst", &s->burst },
		{ "pause_ns", &s->pause_ns },
		{ "swing", &s->swing },
		{ "fsync_every", &s->fsync_every },
		{ "count", &s->count },
		{ "seed", &s->seed },
		{ "buffer_ns", &s->buffer_ns },
		{ "memory", &s->memory },
	};
	const struct {
		const char *key;
		bool *value;
	} flags[] = {
		{ "write", &s->write },
		{ "random", &s->random },
		{ "direct", &s->direct },
		{ "catch_up", &s->catch_up },
		{ "create", &s->create },
		{ "rewrite", &s->rewrite },
	};
	const struct {
		const char *key;
		char **value;
	} texts[] = {
		{ "list", &s->list },
		{ "file", &s->file },
		{ "to", &s->to },
		{ "cgroup", &s->cgroup },
	};
	char *save = NULL;

	if (job.nr_streams == MAX_STREAMS)
		fail("job line %u: more than %d streams", line, MAX_STREAMS);
	s->id = job.nr_streams++;

	for (char *tok = strtok_r(text, " \t", &save); tok;
	     tok = strtok_r(NULL, " \t", &save)) {
		char *value = strchr(tok, '=');
		bool known = false;

		if (!value)
			fail("job line %u: '%s' is not key=value", line, tok);
		*value++ = '\0';
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			if (!strcmp(tok, numbers[i].key)) {
				*numbers[i].value = number(value, line, tok);
				known = true;
			}
		}
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			if (!strcmp(tok, flags[i].key)) {
				*flags[i].value = number(value, line, tok);
				known = true;
			}
		}
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			if (!strcmp(tok, texts[i].key)) {
				*texts[i].value = strdup(value);
				if (!*texts[i].value)
					err(1, "strdup");
				known = true;
			}
		}
		if (!strcmp(tok, "ioprio")) {
			s->ioprio = number(value, line, tok);
		} else if (!strcmp(tok, "name")) {
			snprintf(s->name, sizeof(s->name), "%s", value);
		} else if (!strcmp(tok, "regions")) {
			parse_regions(s, value, line);
		} else if (!known) {
			fail("job line %u: unknown key '%s'", line, tok);
		}
	}
	if (s->list)
		return;
	if (!s->size || !s->nr_regions)
		fail("job line %u: a stream needs size and regions", line);
	if (s->swing >= s->size)
		fail("job line %u: swing is not smaller than size", line);
	for (unsigned int i = 0; i < s->nr_regions; i++)
		if (s->regions[i].length < s->size + s->swing)
			fail("job line %u: region %u is smaller than size", line, i);
}

static void report_file(const char *name, const char *path)
{
	char text[4096] = "";
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		fail("%s: %s", path, strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	if (ferror(f))
		fail("%s: %s", path, strerror(errno));
	text[n] = '\0';
	fclose(f);
	write_result(name, text);
}

static void report_after(const char *name, const char *path, unsigned int line)
{
	struct report *r = &job.reports[job.nr_reports];

	if (job.nr_reports == MAX_REPORTS)
		fail("job line %u: more than %u files to report at the end", line,
		     MAX_REPORTS);
	job.nr_reports++;
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->path, sizeof(r->path), "%s", path);
}

static pid_t start_program(char *command, unsigned int line)
{
	char *argv[64];
	unsigned int argc = 0;
	char *save = NULL;
	pid_t pid;

	for (char *tok = strtok_r(command, " ", &save); tok && argc < 63;
	     tok = strtok_r(NULL, " ", &save))
		argv[argc++] = tok;
	argv[argc] = NULL;
	if (!argc)
		fail("job line %u: no program", line);
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	execv(argv[0], argv);
	err(1, "%s", argv[0]);
}

static void run_program(char *command, unsigned int line)
{
	int status;

	if (waitpid(start_program(command, line), &status, 0) < 0)
		err(1, "waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail("job line %u: the program ended with status 0x%x; its message is on the console",
		     line, status);
}

/*
 * "TYPE SOURCE TARGET". Not by mount(8): what that leaves in memory depends on
 * what of it the host has, as /run/mount, and a page more or less is another run.
 */
static void mount_it(char *words, unsigned int line)
{
	char *save = NULL;
	const char *type = strtok_r(words, " ", &save);
	const char *source = strtok_r(NULL, " ", &save);
	const char *target = strtok_r(NULL, " ", &save);

	if (!target)
		fail("job line %u: mount needs three arguments", line);
	if (mount(source, target, type, 0, NULL))
		fail("job line %u: mount %s on %s: %s", line, source, target,
		     strerror(errno));
}

/* A file of zeros: a disk in memory keeps none of them. */
static void prepare_file(const char *path, uint64_t size)
{
	static char zeros[1 << 20];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	while (size) {
		ssize_t done = write(fd, zeros, size < sizeof(zeros) ? size : sizeof(zeros));

		if (done <= 0)
			fail("%s: %s", path, strerror(errno));
		size -= done;
	}
	if (fsync(fd) || close(fd))
		fail("%s: %s", path, strerror(errno));
}

/* A file of zeros that the kernel swaps to: what mkswap writes, and swapon. */
static void add_swap(const char *path, uint64_t size)
{
	long page = sysconf(_SC_PAGESIZE);
	const uint32_t header[] = { 1, (uint32_t)(size / page) - 1, 0 };
	const char magic[] = { 'S', 'W', 'A', 'P', 'S', 'P', 'A', 'C', 'E', '2' };
	int fd;

	prepare_file(path, size);
	fd = open(path, O_WRONLY);
	if (fd < 0 || chmod(path, 0600) ||
	    pwrite(fd, header, sizeof(header), 1024) != sizeof(header) ||
	    pwrite(fd, magic, sizeof(magic), page - sizeof(magic)) != sizeof(magic) ||
	    fsync(fd) || close(fd) || swapon(path, 0))
		fail("%s: swap: %s", path, strerror(errno));
}

/*
 * Take a share of free memory and give back every second page of it: free pages are
 * then mostly without a free neighbour, as on a machine that has run for days.
 */
static void fragment_memory(uint64_t percent)
{
	static char page[4096];
	uint64_t pairs;
	int kept, given_back;

	if (percent > 100)
		fail("fragment takes a share in percent");
	pairs = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * percent / 200;
	kept = memfd_create("kept", 0);
	given_back = memfd_create("given back", 0);
	if (kept < 0 || given_back < 0)
		err(1, "memfd_create");
	while (pairs--) {
		if (write(kept, page, sizeof(page)) != sizeof(page) ||
		    write(given_back, page, sizeof(page)) != sizeof(page))
			err(1, "memfd");
	}
	close(given_back);
}

static pid_t tracer;

static void obey(char *verb, char *rest, unsigned int line)
{
	char *second = rest;

	/* verbs with two arguments have the second behind the first blank */
	if (!strcmp(verb, "write") || !strcmp(verb, "write_if_there") ||
	    !strcmp(verb, "write_for_device") ||
	    !strcmp(verb, "report") || !strcmp(verb, "report_after") ||
	    !strcmp(verb, "prepare") || !strcmp(verb, "swap")) {
		second = strchr(rest, ' ');
		if (!second)
			fail("job line %u: %s needs two arguments", line, verb);
		*second++ = '\0';
	}

	if (!strcmp(verb, "mkdir")) {
		if (mkdir(rest, 0755))
			fail("job line %u: mkdir %s: %s", line, rest,
			     strerror(errno));
	} else if (!strcmp(verb, "write")) {
		write_file(rest, second, line);
	} else if (!strcmp(verb, "write_if_there")) {
		if (is_writable(rest))
			write_file(rest, second, line);
	} else if (!strcmp(verb, "write_for_device")) {
		write_for_device(rest, second, line);
	} else if (!strcmp(verb, "report")) {
		report_file(rest, second);
	} else if (!strcmp(verb, "report_after")) {
		report_after(rest, second, line);
	} else if (!strcmp(verb, "run")) {
		run_program(rest, line);
	} else if (!strcmp(verb, "mount")) {
		mount_it(rest, line);
	} else if (!strcmp(verb, "fragment")) {
		fragment_memory(number(rest, line, verb));
	} else if (!strcmp(verb, "sync")) {
		sync();
	} else if (!strcmp(verb, "prepare")) {
		prepare_file(rest, number(second, line, verb));
	} else if (!strcmp(verb, "swap")) {
		add_swap(rest, number(second, line, verb));
	} else if (!strcmp(verb, "device")) {
		job.device = strdup(rest);
		if (!job.device)
			err(1, "strdup");
	} else if (!strcmp(verb, "trace")) {
		tracer = start_program(rest, line);
	} else if (!strcmp(verb, "start_ns")) {
		job.start_ns = number(rest, line, verb);
	} else if (!strcmp(verb, "duration_ns")) {
		job.duration_ns = number(rest, line, verb);
	} else if (!strcmp(verb, "stream")) {
		parse_stream(rest, line);
	} else {
		fail("job line %u: unknown verb '%s'", line, verb);
	}
}

static void run_job_file(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	unsigned int line = 0;
	FILE *f = fopen(path, "r");

	if (!f)
		fail("%s: %s", path, strerror(errno));
	while (getline(&text, &size, f) > 0) {
		char *rest;

		line++;
		text[strcspn(text, "\n")] = '\0';
		if (!text[0] || text[0] == '#')
			continue;
		rest = strchr(text, ' ');
		if (rest)
			*rest++ = '\0';
		else
			rest = text + strlen(text);
		obey(text, rest, line);
	}
	free(text);
	fclose(f);
}

/* ---- a stream ------------------------------------------------------------- */

static struct chunk *first_chunk, *last_chunk;

static void keep(uint64_t due, uint64_t issue, uint64_t end, uint64_t bytes)
{
	if (!last_chunk || last_chunk->used == RECORDS_PER_CHUNK) {
		struct chunk *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (c == MAP_FAILED)
			err(1, "mmap");
		if (last_chunk)
			last_chunk->next = c;
		else
			first_chunk = c;
		last_chunk = c;
	}
	last_chunk->records[last_chunk->used++] = (struct record) {
		.due_ns = due, .issue_ns = issue, .end_ns = end, .bytes = bytes,
	};
}

static void write_records(unsigned int id)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u.bin", result_dir, id);
	f = fopen(path, "w");
	if (!f)
		err(1, "%s", path);
	for (struct chunk *c = first_chunk; c; c = c->next)
		if (fwrite(c->records, sizeof(struct record), c->used, f) != c->used)
			err(1, "%s", path);
	if (fclose(f))
		err(1, "%s", path);
}

/* What a stream reads and writes. */
static const char *name_of(const struct stream *s)
{
	return s->file ? s->file : job.device;
}

static void transfer(int fd, const struct stream *s, bool write, char *buf,
		     uint64_t offset, uint64_t size)
{
	uint64_t step = s->chunk ? s->chunk : size;

	for (uint64_t done = 0; done < size;) {
		uint64_t n = size - done < step ? size - done : step;
		ssize_t ret;

		if (write)
			ret = pwrite(fd, buf, n, offset + done);
		else
			ret = pread(fd, buf, n, offset + done);
		if (ret < 0)
			err(1, "%s: %s %" PRIu64 " bytes at %" PRIu64,
			    name_of(s), write ? "write" : "read", n,
			    offset + done);
		if (!ret)
			errx(1, "%s: ends at %" PRIu64, name_of(s),
			     offset + done);
		done += ret;
	}
}

struct cursor {
	uint64_t random;
	uint64_t nr;			/* operations so far */
	uint64_t pos[MAX_REGIONS];	/* bytes into the region */
	FILE *list;
};

/* Where the next operation goes; false when a list is at its end. */
static bool next_place(const struct stream *s, struct cursor *c, uint64_t *offset,
		       uint64_t *size)
{
	unsigned int i = c->nr % (s->nr_regions ? s->nr_regions : 1);
	const struct region *r = &s->regions[i];

	if (c->list)
		return fscanf(c->list, "%" SCNu64 " %" SCNu64, offset, size) == 2;

	*size = s->size;
	if (s->random) {
		*offset = r->offset + draw(&c->random) % (r->length / s->size) * s->size;
		return true;
	}
	/* in steps of 1 KiB */
	if (s->swing)
		*size += draw(&c->random) % (2 * s->swing / 1024 + 1) * 1024 - s->swing;
	if (c->pos[i] + *size > r->length)
		c->pos[i] = 0;
	*offset = r->offset + c->pos[i];
	c->pos[i] += *size;
	return true;
}

static char *make_buffer(const struct stream *s, uint64_t largest)
{
	char *buf = mmap(NULL, largest, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (buf == MAP_FAILED)
		err(1, "mmap of %" PRIu64 " bytes", largest);
	if (s->write && !s->file)
		memset(buf, 0x5a, largest);
	return buf;
}

#define USED_BYTES	(64 << 10)

/* Use the next part of the memory of a stream, as a program does that keeps what it works with. */
static void use_memory(const struct stream *s, char *memory, uint64_t nr)
{
	uint64_t used = nr * USED_BYTES % s->memory;

	memset(memory + used, (int)nr, s->memory - used < USED_BYTES ? s->memory - used : USED_BYTES);
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void run_stream(const struct stream *s, uint64_t start_ns)
{
	struct cursor c = { .random = s->seed };
	uint64_t end_ns = start_ns + job.duration_ns;
	uint64_t largest = s->size + s->swing;
	uint64_t due = start_ns + s->start_ns;
	uint64_t issue;
	int flags = (s->write ? O_RDWR : O_RDONLY) | (s->direct ? O_DIRECT : 0) |
		    (s->create ? O_CREAT | O_TRUNC : 0);
	uint64_t copied = 0;
	char *buf, *memory = NULL;
	int fd, to = -1;

	if (s->cgroup) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/cgroup.procs", s->cgroup);
		write_file(path, "0", 0);
	}
	/* what a trace shows */
	if (s->name[0])
		prctl(PR_SET_NAME, s->name);
	if (s->list) {
		char path[PATH_MAX];
		uint64_t offset, size;

		snprintf(path, sizeof(path), "%s/%s", result_dir, s->list);
		c.list = fopen(path, "r");
		if (!c.list)
			err(1, "%s", path);
		while (fscanf(c.list, "%" SCNu64 " %" SCNu64, &offset, &size) == 2)
			if (size > largest)
				largest = size;
		rewind(c.list);
	}
	buf = make_buffer(s, largest);
	if (s->memory)
		memory = make_buffer(s, s->memory);
	fd = open_file(name_of(s), flags);
	if (s->to)
		to = open_file(s->to, O_WRONLY | O_CREAT | O_TRUNC);
	if (s->ioprio && syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, s->ioprio))
		err(1, "stream %u: ioprio_set class %d data %d", s->id,
		    s->ioprio >> 13, s->ioprio & 0x1fff);

	sleep_until(due);
	issue = now_ns();
	for (c.nr = 0; !s->count || c.nr < s->count; c.nr++) {
		uint64_t offset, size, done;

		if (issue >= end_ns)
			break;
		if (!s->period_ns)
			due = issue;
		if (s->buffer_ns && issue > due + s->buffer_ns) {
			keep(due - start_ns, issue - start_ns, issue - start_ns, 0);
			due += s->period_ns;
			continue;
		}
		if (!next_place(s, &c, &offset, &size))
			break;
		if (memory)
			use_memory(s, memory, c.nr);
		if (s->rewrite)
			transfer(fd, s, false, buf, offset, size);
		transfer(fd, s, s->write, buf, offset, size);
		if (to >= 0)
			transfer(to, s, true, buf, copied, size);
		copied += size;
		if (s->fsync_every && (c.nr + 1) % s->fsync_every == 0 && fsync(fd))
			err(1, "%s: fsync", name_of(s));
		done = now_ns();
		keep(due - start_ns, issue - start_ns, done - start_ns, size);

		/* a greedy stream goes on at once: one look at the clock serves both */
		issue = done;
		if (s->think_ns) {
			sleep_until(done + s->think_ns);
			issue = now_ns();
		}
		if (s->burst && (c.nr + 1) % s->burst == 0) {
			sleep_until(issue + draw(&c.random) % (s->pause_ns + 1));
			issue = now_ns();
		}
		if (s->period_ns) {
			due += s->period_ns;
			if (due < done && !s->catch_up)
				due = done;
			if (due >= end_ns)
				break;
			sleep_until(due);
			issue = now_ns();
		}
	}
	write_records(s->id);
}

/* ---- everything together --------------------------------------------------- */

static void run_streams(void)
{
	uint64_t start_ns = job.start_ns;
	char text[64];

	if (!start_ns)
		start_ns = now_ns() + NSEC_PER_SEC;
	else if (now_ns() >= start_ns)
		fail("setting up took longer than start_ns");

	for (unsigned int i = 0; i < job.nr_streams; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			run_stream(&job.streams[i], start_ns);
			_exit(0);
		}
	}
	for (unsigned int i = 0; i < job.nr_streams;) {
		int status;
		pid_t pid = wait(&status);

		if (pid < 0)
			err(1, "wait");
		if (pid == tracer)
			continue;
		i++;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail("a stream ended with status 0x%x; its message is on the console",
			     status);
	}
	if (tracer) {
		kill(tracer, SIGINT);
		waitpid(tracer, NULL, 0);
	}
	snprintf(text, sizeof(text), "%" PRIu64 "\n", now_ns() - start_ns);
	write_result("elapsed_ns", text);
	for (unsigned int i = 0; i < job.nr_reports; i++)
		report_file(job.reports[i].name, job.reports[i].path);
}

static void probe(void)
{
	struct utsname u;
	int old = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

	if (uname(&u))
		err(1, "uname");
	write_result("release", u.release);
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BW_PROBE)) {
		write_result("bw", "0\n");
	} else {
		write_result("bw", "1\n");
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, old);
	}
}

static void __attribute__((noreturn)) usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: loadgen DIR\n"
		"Run the job in DIR/job and leave the results in DIR.\n"
		"As process 1 of a guest, DIR is a folder of the host.\n");
	exit(status);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];

	if (argc < 2)
		usage(2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		usage(0);

	result_dir = argv[1];
	if (getpid() == 1)
		set_up_guest(argv[1]);
	probe();
	snprintf(path, sizeof(path), "%s/job", result_dir);
	run_job_file(path);
	if (job.nr_streams) {
		if (!job.device || !job.duration_ns)
			fail("the job needs device and duration_ns");
		run_streams();
	}
	write_result("done", "1\n");
	if (in_guest)
		power_off();
	return 0;
}
