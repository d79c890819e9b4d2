/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The soak's guest: random load on modelled disks, and samples of the scheduler.
 *
 * Process 1 (soak.c) reads DIR/job (job.c), which creates the disks, and starts three kinds
 * of processes:
 *
 * director	process 1 itself (director.c): starts and ends workers, changes their
 *		priorities, the control groups (groups.c) and the settings of the disks
 *		(settings.c). All of it is drawn from the seed.
 * worker	reads or writes one disk in one way (draw.c, worker.c).
 * sampler	copies to DIR/samples what the scheduler reports about itself in debugfs,
 *		and how old the operation of each worker is (sampler.c).
 *
 * The guest checks nothing: the host checks the samples (invariants.py), so that the checks
 * can be tested.
 *
 * Every process sleeps and none polls: computing takes no time in this guest
 * (time-travel=inf-cpu), so a busy wait would never end.
 */
#ifndef SOAK_H
#define SOAK_H

#include <stddef.h>
#include <sys/types.h>

#include "chance.h"
#include "init.h"

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
#define MAX_SLOTS		16	/* workers per disk */
#define MAX_SETTINGS		32
#define MAX_CHOICES		16
#define MAX_DEPTH		32
#define MAX_GROUPS		8
#define CGROUPS			"/sys/fs/cgroup"

/* The limits of one operation: its latency bound is a bound per request. */
#define SMALLEST_REQUEST	(128 * KIB)
#define LARGEST_READ		(1024 * KIB)
#define LARGEST_READ_AHEAD	(512 * KIB)
#define LARGEST_WRITE		(256 * KIB)
#define MAX_FSYNC_EVERY		4

/* Until RCU and work queues have freed what ended processes had. */
#define QUIET_NS		(3 * NSEC_PER_SEC)

/* The classes in the order in which they are served; writes have a bound of their own. */
enum category { RT, BW, BE, IDLE, WRITE, NR_CATEGORIES };

enum kind { PACED, GREEDY, RANDOM, URING, BUFFERED, WRITER, DIRECT_WRITER, NR_KINDS };

/* A file of the disk's queue and the values to write to it; the first is the default. */
struct setting {
	char *name;
	bool tunable;			/* in queue/iosched */
	unsigned int nr;
	char *choices[MAX_CHOICES];
};

/* A worker: what the director draws, and what the worker reports to the sampler. */
struct slot {
	pid_t pid;			/* 0: free */
	enum kind kind;
	bool ending;			/* killed, or asked to stop */
	bool killed;
	bool mixed;			/* each request has a priority of its own */
	bool ahead;			/* starts a read before each fsync */
	int group;			/* index of its control group; -1: the root */
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
	/* The lowest category since the operation began. */
	volatile enum category lowest;
	/* Begin of the oldest operation that has not ended; 0: none. */
	volatile uint64_t issue_ns;
	volatile uint64_t operations;
	/* The longest latency per request since the last sample, and the process that had it. */
	volatile uint64_t worst_ns[NR_CATEGORIES];
	volatile pid_t worst_pid[NR_CATEGORIES];
};

struct disk {
	char name[32];
	char dev[16];			/* major:minor */
	uint64_t bytes;
	uint64_t hot;			/* begin of the region that random readers share */
	unsigned int wanted;		/* workers */
	const char *scheduler;
	bool write_back;		/* has a cache that fsync flushes */
	/* Flushes of all workers; each counts as a write. */
	uint64_t flushes_begun, flushes_ended;
	struct slot slots[MAX_SLOTS];
};

/* Memory that director, workers and sampler share. */
struct shared {
	struct disk disks[MAX_DISKS];
	volatile bool sampler_stop;
};

struct job {
	uint64_t seed;
	uint64_t requests;		/* to complete, on all disks */
	uint64_t until_ns;		/* or until this time */
	uint64_t phase_ns;		/* between two times at which all disks rest */
	uint64_t sample_ns;		/* between two samples of a disk */
	uint64_t event_ns;		/* shortest mean time between two changes */
	unsigned int slots;
	unsigned int nr_disks;
	unsigned int nr_settings;
	struct setting settings[MAX_SETTINGS];
	struct setting schedulers;
	unsigned int nr_groups;
	struct setting lines;		/* to write to io.bw of control groups */
	/* Written to queue/iosched/ of a scheduler other than the first. */
	unsigned int nr_others;
	char *others[MAX_CHOICES][3];
};

extern struct job job;
extern struct shared *shared;
extern const char * const kind_name[NR_KINDS];

/* files.c */
bool chance(uint64_t *state, unsigned int percent);
uint64_t draw_size(uint64_t *state, uint64_t least, uint64_t most);
int try_write_file(const char *path, const char *value);
void write_file(const char *path, const char *value);
size_t read_file(const char *path, char *text, size_t size);

/* job.c */
void read_job(void);

/* sampler.c */
void open_samples(void);
void close_samples(void);
void log_event(const struct disk *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void flush(struct disk *d, int fd);
uint64_t completed(const struct disk *d);
void sample(struct disk *d, const char *phase);
void be_first(int priority);
void run_sampler(void) __attribute__((noreturn));

/* draw.c */
int draw_ioprio(uint64_t *state);
enum category category_of(int ioprio);
int writer_ioprio(int ioprio);
void draw_slot(uint64_t *state, const struct disk *d, struct slot *s);

/* worker.c */
void run_worker(struct disk *d, struct slot *s) __attribute__((noreturn));

/* groups.c */
void set_up_groups(void);
void make_missing_groups(uint64_t *state);
int draw_group(uint64_t *state);
void move_worker(struct disk *d, struct slot *s, int group);
void change_group(uint64_t *state, struct disk *d, struct slot *s);
void log_dying_groups(void);

/* settings.c */
void apply_usual(struct disk *d);
void change_setting(uint64_t *state, struct disk *d);
void set_scheduler(struct disk *d, const char *scheduler);
void change_scheduler(uint64_t *state, struct disk *d);

/* director.c */
void run_director(void);

#endif
