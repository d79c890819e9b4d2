// SPDX-License-Identifier: GPL-2.0
/*
 * measure - the only program of the guest of `bench cost`
 *
 * QEMU runs one guest instruction per guest nanosecond, so the clock counts instructions. There
 * are five measurements; all but "cached" and "groups" run for each scheduler of the arguments:
 *
 * one	one process reads 4 KiB blocks one after the other from a null_blk that
 *	completes immediately (irqmode=1, hw_queue_depth=64).
 * batch	the same by io_uring, 16 reads at a time.
 * groups	as one, under cfq with 100 control groups that have reservations on the device:
 *	in one of the groups, and outside of them.
 * cached	one process reads a page from the page cache, calls stat(), open() and close(), and
 *	has a page fault: without a trace, with a block trace, with VFS messages in it, and
 *	with messages in the trace of another disk.
 * many	many processes read at the same time from a null_blk that serves 8 requests at a
 *	time, in 400 us each, so that the others wait in the scheduler. The result is the
 *	time that was not idle, per completed request. The processes read in order on a
 *	disk without seeks; or at random, or in order with a reservation (cfq only), on
 *	one that rotates.
 *
 * Arguments: SCHEDULERS READS REPEATS PROCESSES RANDOM RESERVED WINDOW_MS. SCHEDULERS and the
 * numbers of processes are lists with commas; 0 processes skip a load. Results are lines on the
 * console that begin with "@".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <linux/blktrace_api.h>
#include <linux/fs.h>

#include "init.h"
#include "uring.h"

#define NULLB		"/sys/kernel/config/nullb/"
#define READ_BYTES	4096
#define DEVICE_MIB	1024
#define DEVICE_BLOCKS	((uint64_t)DEVICE_MIB * 1024 * 1024 / READ_BYTES)
#define MAX_PROCESSES	4096
#define NSEC_PER_MSEC	1000000L
#define BATCH		16
#define CGROUP		"/sys/fs/cgroup/"
#define NR_GROUPS	100

#define IOPRIO_WHO_PROCESS	1
/* class BW, 128 KiB/s, the seventh delay: one second */
#define RESERVATION		(4 << 13 | 1 << 3 | 6)

struct device {
	const char *name;
	const char *attrs[8];
	const char *nr_requests;
};

static const struct device one = {
	"one", { "size=1024", "irqmode=1", "hw_queue_depth=64" }, NULL,
};

static const struct device many = {
	"many",
	{ "size=1024", "irqmode=2", "completion_nsec=400000",
	  "hw_queue_depth=8" },
	/* the most that the block layer allows: enough for 1,000 processes */
	"2048",
};

static const struct device rotating = {
	"rotating",
	{ "size=1024", "irqmode=2", "completion_nsec=400000",
	  "hw_queue_depth=8", "rotational=1" },
	"2048",
};

/* The loads of "many". */
static const struct load {
	const char *name;
	const struct device *dev;
	const char *only;		/* the scheduler that supports it; NULL: all */
	int random, ioprio;
} loads[] = {
	{ "order", &many, NULL, 0, 0 },
	{ "random", &rotating, NULL, 1, 0 },
	{ "reserved", &rotating, "cfq", 0, RESERVATION },
};
#define NR_LOADS	(sizeof(loads) / sizeof(loads[0]))

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		err(1, "%s", path);
	if (write(fd, text, strlen(text)) < 0)
		err(1, "%s: %s", path, text);
	close(fd);
}

static void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		err(1, "%s", path);
	while (used < size - 1 &&
	       (got = read(fd, text + used, size - 1 - used)) != 0) {
		if (got < 0)
			err(1, "%s", path);
		used += got;
	}
	text[used] = '\0';
	close(fd);
}

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * NSEC_PER_MSEC };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/*
 * Counts idle time: the kernel only samples it with the tick. A process of class SCHED_IDLE runs
 * when no other process does, and counts rounds of equal numbers of instructions.
 */
static void __attribute__((noinline, noclone))
spin(volatile uint64_t *rounds, uint64_t limit)
{
	while (*rounds < limit)
		++*rounds;
}

/* Returns the time of a round of spin(): the minimum of some tries, as the kernel may still clean up. */
static double round_ns(void)
{
	static double least;

	for (int i = 0; i < 10; i++) {
		uint64_t rounds = 0, start = now_ns();
		double one_round;

		spin(&rounds, NSEC_PER_MSEC);
		one_round = (double)(now_ns() - start) / rounds;
		if (!least || one_round < least)
			least = one_round;
	}
	return least;
}

static pid_t fork_spinner(volatile uint64_t *rounds)
{
	struct sched_param param = { 0 };
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	if (sched_setscheduler(0, SCHED_IDLE, &param))
		err(1, "sched_setscheduler");
	spin(rounds, UINT64_MAX);
	exit(0);
}

static void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap");
	return memory;
}

static void make_device(const struct device *dev)
{
	char path[256];
	int i;

	snprintf(path, sizeof(path), NULLB "%s", dev->name);
	if (mkdir(path, 0755))
		err(1, "%s", path);
	for (i = 0; dev->attrs[i]; i++) {
		const char *value = strchr(dev->attrs[i], '=');

		snprintf(path, sizeof(path), NULLB "%s/%.*s", dev->name,
			 (int)(value - dev->attrs[i]), dev->attrs[i]);
		write_file(path, value + 1);
	}
	snprintf(path, sizeof(path), NULLB "%s/power", dev->name);
	write_file(path, "1");
}

static void set_queue(const struct device *dev, const char *file,
		      const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/block/%s/queue/%s", dev->name, file);
	write_file(path, value);
}

static void set_scheduler(const struct device *dev, const char *scheduler)
{
	set_queue(dev, "scheduler", scheduler);
	if (!strcmp(scheduler, "bfq"))
		set_queue(dev, "iosched/slice_idle", "0");
	/* without a scheduler nr_requests cannot exceed the tags of the device */
	if (dev->nr_requests && strcmp(scheduler, "none"))
		set_queue(dev, "nr_requests", dev->nr_requests);
}

static int open_device(const struct device *dev)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", dev->name);
	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void read_block(int fd, void *buffer, uint64_t block)
{
	ssize_t got = pread(fd, buffer, READ_BYTES,
			    block % DEVICE_BLOCKS * READ_BYTES);

	if (got != READ_BYTES)
		err(1, "read of block %" PRIu64, block);
}

static void *block_buffer(void)
{
	void *buffer;

	if (posix_memalign(&buffer, READ_BYTES, READ_BYTES))
		errx(1, "no memory");
	memset(buffer, 0, READ_BYTES);
	return buffer;
}

/*
 * Measures reads of one process. @what and @of begin the line of the result ("one cfq"). Each
 * repeat has a new process, and so a new queue. @procs: cgroup.procs of its control group, or NULL.
 */
static void measure_one(const char *what, const char *of, const char *procs, long reads,
			int repeat)
{
	uint64_t start, end;
	void *buffer;
	long i;
	int fd;

	if (fork()) {
		wait(NULL);
		return;
	}
	if (procs)
		write_file(procs, "0");
	fd = open_device(&one);
	buffer = block_buffer();
	for (i = 0; i < reads / 10; i++)
		read_block(fd, buffer, i);
	start = now_ns();
	for (i = 0; i < reads; i++)
		read_block(fd, buffer, i);
	end = now_ns();
	printf("@ %s %s %d %" PRIu64 " %ld\n", what, of, repeat, end - start, reads);
	exit(0);
}

/* Creates NR_GROUPS control groups with reservations, and measures outside of them and in one. */
static void measure_groups(long reads, int repeats)
{
	char path[64], dev[32], line[96];
	int i;

	if (access(CGROUP "cgroup.subtree_control", W_OK))
		must_mount("cgroup2", CGROUP, NULL);
	write_file(CGROUP "cgroup.subtree_control", "+io");
	read_file("/sys/block/one/dev", dev, sizeof(dev));
	dev[strcspn(dev, "\n")] = '\0';
	for (i = 0; i < NR_GROUPS; i++) {
		snprintf(path, sizeof(path), CGROUP "%d", i);
		if (mkdir(path, 0755))
			err(1, "%s", path);
		snprintf(path, sizeof(path), CGROUP "%d/io.bw", i);
		if (access(path, W_OK))
			errx(1, "%s: no CONFIG_CFQ_GROUP_IOSCHED", path);
		snprintf(line, sizeof(line), "%s bps=100000000 delay=100000", dev);
		write_file(path, line);
	}
	for (i = 0; i < repeats; i++)
		measure_one("groups", "none", NULL, reads, i);
	for (i = 0; i < repeats; i++)
		measure_one("groups", "one", CGROUP "0/cgroup.procs", reads, i);
}

static void read_batch(struct ring *r, int fd, char *buffers, uint64_t block)
{
	unsigned int i, head = *r->cq_head;

	for (i = 0; i < BATCH; i++)
		ring_queue(r, &(struct io_uring_sqe) {
			.opcode = IORING_OP_READ,
			.fd = fd,
			.addr = (uintptr_t)(buffers + i * READ_BYTES),
			.len = READ_BYTES,
			/* not adjacent, as the kernel would merge them */
			.off = (block + i) * 8 % DEVICE_BLOCKS * READ_BYTES,
		});
	ring_enter(r, BATCH, BATCH);
	for (i = 0; i < BATCH; i++, head++)
		if (r->cqes[head & *r->cq_mask].res != READ_BYTES)
			errx(1, "read of a batch: %d", r->cqes[head & *r->cq_mask].res);
	__atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
}

static void measure_batch(const char *scheduler, long reads, int repeat)
{
	long batches = reads / BATCH, i;
	struct ring ring;
	char *buffers;
	uint64_t start;
	int fd;

	if (fork()) {
		wait(NULL);
		return;
	}
	fd = open_device(&one);
	if (posix_memalign((void **)&buffers, READ_BYTES, BATCH * READ_BYTES))
		errx(1, "no memory");
	make_ring(&ring, BATCH);
	for (i = 0; i < batches / 10; i++)
		read_batch(&ring, fd, buffers, i * BATCH);
	start = now_ns();
	for (i = 0; i < batches; i++)
		read_batch(&ring, fd, buffers, i * BATCH);
	printf("@ batch %s %d %" PRIu64 " %ld\n", scheduler, repeat,
	       now_ns() - start, batches * BATCH);
	exit(0);
}

enum call { CALL_READ, CALL_STAT, CALL_OPEN, CALL_FAULT, NR_CALLS };

static const char *const call_names[NR_CALLS] = {
	[CALL_READ] = "read", [CALL_STAT] = "stat", [CALL_OPEN] = "open", [CALL_FAULT] = "fault",
};

/* The targets of the calls: /dev/one, and its first page, which is cached and mapped. */
struct asked {
	int fd;
	void *buffer;
	volatile char *page;
};

static void make_call(enum call call, const struct asked *of)
{
	struct stat unused;

	switch (call) {
	case CALL_READ:
		read_block(of->fd, of->buffer, 0);
		break;
	case CALL_STAT:
		if (stat("/dev/one", &unused))
			err(1, "stat of /dev/one");
		break;
	case CALL_OPEN:
		close(open("/dev/one", O_RDONLY));
		break;
	default:
		/* a write to a private page that is not there copies the file's page */
		if (madvise((void *)of->page, READ_BYTES, MADV_DONTNEED))
			err(1, "madvise");
		*of->page = 1;
	}
}

static void measure_calls(const struct asked *of, const char *state, long calls, int repeat)
{
	for (enum call call = 0; call < NR_CALLS; call++) {
		uint64_t start;

		/* the device node is not a file on the disk: these calls send no message */
		if (!strcmp(state, "vfs") && (call == CALL_STAT || call == CALL_OPEN))
			continue;
		for (long i = 0; i < calls / 10; i++)
			make_call(call, of);
		start = now_ns();
		for (long i = 0; i < calls; i++)
			make_call(call, of);
		printf("@ cached %s %s %d %" PRIu64 " %ld\n", call_names[call], state, repeat,
		       now_ns() - start, calls);
	}
}

/*
 * Measures the calls with a trace of @traced, then with VFS messages in it. No process reads the
 * trace: its buffers are large enough. The calls send messages if @traced is their disk.
 */
static void measure_traced(const struct asked *of, const struct device *traced, const char *trace,
			   const char *messages, long calls, int repeat)
{
	struct blk_user_trace_setup setup = {
		.buf_size = 4 << 20, .buf_nr = 8,
	};
	char vfs[64], disk[64];
	int fd;

	snprintf(disk, sizeof(disk), "/dev/%s", traced->name);
	snprintf(vfs, sizeof(vfs), "/sys/block/%s/trace/vfs", traced->name);
	fd = open(disk, O_RDONLY);
	if (fd < 0 || ioctl(fd, BLKTRACESETUP, &setup) || ioctl(fd, BLKTRACESTART))
		err(1, "trace of %s", disk);
	if (trace)
		measure_calls(of, trace, calls, repeat);
	if (!access(vfs, W_OK)) {
		write_file(vfs, "1");
		measure_calls(of, messages, calls, repeat);
		write_file(vfs, "0");
	}
	ioctl(fd, BLKTRACESTOP);
	ioctl(fd, BLKTRACETEARDOWN);
	close(fd);
}

static void measure_cached(long calls, int repeats)
{
	struct asked of = { .fd = open("/dev/one", O_RDONLY), .buffer = block_buffer() };

	if (of.fd < 0)
		err(1, "/dev/one");
	of.page = mmap(NULL, READ_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, of.fd, 0);
	if (of.page == MAP_FAILED)
		err(1, "mmap of /dev/one");
	for (int repeat = 0; repeat < repeats; repeat++) {
		measure_calls(&of, "off", calls, repeat);
		measure_traced(&of, &one, "trace", "vfs", calls, repeat);
		measure_traced(&of, &many, NULL, "other", calls, repeat);
	}
	/* the last close of the device also drops its pages from the page cache */
	munmap((void *)of.page, READ_BYTES);
	close(of.fd);
}

/* Reads until it is killed. */
static void reader(const struct load *load, uint64_t *count, int number, int processes)
{
	uint64_t block = DEVICE_BLOCKS / processes * number, random = number + 1;
	void *buffer = block_buffer();
	int fd = open_device(load->dev);

	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, load->ioprio))
		err(1, "priority %x", load->ioprio);
	for (;;) {
		read_block(fd, buffer, block);
		++*count;
		/* the upper bits, as the lower ones of this generator repeat soon */
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		block = load->random ? random >> 33 : block + 1;
	}
}

static uint64_t total(const uint64_t *counts, int processes)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < processes; i++)
		sum += counts[i];
	return sum;
}

/* Returns the requests in the device and its scheduler. */
static long in_flight(const struct device *dev)
{
	char path[64], text[512];
	long number = -1;

	snprintf(path, sizeof(path), "/sys/block/%s/stat", dev->name);
	read_file(path, text, sizeof(text));
	if (sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %*s %ld", &number) != 1)
		errx(1, "%s: %s", path, text);
	return number;
}

static void measure_many(const char *scheduler, const struct load *load, int repeat,
			 int processes, long window_ms)
{
	static pid_t pids[MAX_PROCESSES + 1];
	size_t size = (processes + 1) * sizeof(uint64_t);
	uint64_t *counts = shared(size), *rounds = &counts[processes];
	uint64_t start, end, before, after, spun;
	double idle, one_round = round_ns();
	long active;
	int i;

	for (i = 0; i < processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			err(1, "fork");
		if (!pids[i])
			reader(load, &counts[i], i, processes);
	}
	/* all processes have started when each has been served */
	for (i = 0; i < processes; i++)
		while (!__atomic_load_n(&counts[i], __ATOMIC_RELAXED))
			sleep_ms(10);
	pids[processes] = fork_spinner(rounds);
	sleep_ms(20);

	spun = *(volatile uint64_t *)rounds;
	before = total(counts, processes);
	start = now_ns();
	sleep_ms(window_ms);
	end = now_ns();
	after = total(counts, processes);
	idle = (*(volatile uint64_t *)rounds - spun) * one_round;
	active = in_flight(load->dev);

	for (i = 0; i <= processes; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i <= processes; i++)
		waitpid(pids[i], NULL, 0);
	munmap(counts, size);
	printf("@ %s %s %d %d %" PRIu64 " %.0f %" PRIu64 " %ld\n", load->name, scheduler,
	       repeat, processes, end - start, idle, after - before, active);
}

static void measure_processes(const char *scheduler, const struct load *load, int repeats,
			      const char *processes, long window_ms)
{
	const char *at;
	int repeat;

	for (at = processes; at; at = strchr(at, ',')) {
		long number = strtol(at += *at == ',', NULL, 10);

		if (!number)
			continue;
		if (number < 1 || number > MAX_PROCESSES)
			errx(1, "%s: 1 to %d processes", at, MAX_PROCESSES);
		for (repeat = 0; repeat < repeats; repeat++)
			measure_many(scheduler, load, repeat, number, window_ms);
	}
}

/*
 * Runs all measurements. "many" is last: it leaves the kernel's caches in a state that costs "one"
 * some hundred instructions.
 */
static void measure(const char *schedulers, long reads, int repeats,
		    char *const *processes, long window_ms)
{
	char *names[16], *rest, *copy = strdup(schedulers);
	int i, repeat, number = 0;
	unsigned int l;

	for (rest = copy; number < 16 && (names[number] = strsep(&rest, ","));)
		number++;
	for (i = 0; i < number; i++) {
		set_scheduler(&one, names[i]);
		for (repeat = 0; repeat < repeats; repeat++)
			measure_one("one", names[i], NULL, reads, repeat);
		for (repeat = 0; repeat < repeats; repeat++)
			measure_batch(names[i], reads, repeat);
	}
	set_scheduler(&one, "none");
	measure_cached(reads, repeats);
	for (i = 0; i < number; i++) {
		if (strcmp(names[i], "cfq"))
			continue;
		set_scheduler(&one, "cfq");
		measure_groups(reads, repeats);
		set_scheduler(&one, "none");
	}
	for (l = 0; l < NR_LOADS; l++) {
		for (i = 0; i < number && window_ms; i++) {
			if (loads[l].only && strcmp(names[i], loads[l].only))
				continue;
			set_scheduler(loads[l].dev, names[i]);
			measure_processes(names[i], &loads[l], repeats, processes[l], window_ms);
		}
	}
	free(copy);
}

int main(int argc, char **argv)
{
	pid_t worker;
	int status;

	if (getpid() != 1)
		errx(1, "this program is process 1 of a guest; run tools/dev/bench/bench cost instead");
	setvbuf(stdout, NULL, _IOLBF, 0);
	worker = fork();
	if (!worker) {
		if (argc != 8)
			errx(1, "%d arguments instead of 7", argc - 1);
		must_mount("proc", "/proc", NULL);
		must_mount("sysfs", "/sys", NULL);
		must_mount("devtmpfs", "/dev", NULL);
		must_mount("configfs", "/sys/kernel/config", NULL);
		must_mount("debugfs", "/sys/kernel/debug", NULL);
		/*
		 * The CPU scheduler checks every 0.7 ms for preemption. In phase with the
		 * batches it would interrupt every eighth of them, or none.
		 */
		write_file("/sys/kernel/debug/sched/features", "NO_HRTICK");
		make_device(&one);
		make_device(&many);
		make_device(&rotating);
		measure(argv[1], atol(argv[2]), atoi(argv[3]), &argv[4], atol(argv[7]));
		exit(0);
	}
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		;
	printf("@ end %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	sync();
	reboot(RB_AUTOBOOT);
	return 1;
}
