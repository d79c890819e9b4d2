// SPDX-License-Identifier: GPL-2.0
/*
 * The director: starts and ends workers and changes their priorities, the settings of the
 * disks and the control groups. All of it is drawn from the seed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "soak.h"

/* The mean time between two changes doubles with each step, up to this one. */
#define MAX_CALM		7
#define SETTINGS_PER_PHASE	4
#define DRAIN_LIMIT_NS		(1800 * NSEC_PER_SEC)

static struct slot *free_slot(struct disk *d)
{
	for (unsigned int i = 0; i < job.slots; i++)
		if (!d->slots[i].pid)
			return &d->slots[i];
	return NULL;
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
	/* the worker has not run yet */
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
	/* the worker may have ended by itself */
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, s->pid, ioprio) && errno != ESRCH)
		fail("ioprio_set 0x%x: %s", ioprio, strerror(errno));
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
	/* other schedulers only serve to test the switch: leave them soon */
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

/* Ends all workers, waits until the disks are idle, and samples what is left. */
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
	/* phases with many changes find races, those with few find starvation */
	uint64_t event_ns = job.event_ns << draw_below(state, MAX_CALM);

	make_missing_groups(state);
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
		/* switching the scheduler may have taken long */
		next = next < now_ns() ? now_ns() : next;
		reap();
		change_something(state);
		if (all_completed() >= job.requests)
			return;
	}
}

/* Logs the objects of a slab cache, which slab_nomerge keeps separate; shrinking it frees unused ones. */
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

void run_director(void)
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
