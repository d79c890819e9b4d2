// SPDX-License-Identifier: GPL-2.0
/*
 * Run processes that read 4 KiB at random offsets of a disk concurrently, each with an
 * I/O priority and a queue depth of NUMBER. All stop when the first of them has
 * completed READS reads. Prints the number of reads of each process.
 *
 *	null_blk_reads DEVICE NUMBER READS PRIORITY...
 *
 * PRIORITY is "rt", "be", or one of them with the number of a duration limit: "be,1".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/ioprio.h>

#define BLOCK		4096
#define MAX_READS	64
#define MAX_PROCESSES	8
#define KSFT_SKIP	4

/* What the processes share */
struct shared {
	long had[MAX_PROCESSES];
	int stop;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void set_priority(const char *word)
{
	int class = IOPRIO_CLASS_BE, hint = IOPRIO_HINT_NONE;

	if (!strncmp(word, "rt", 2))
		class = IOPRIO_CLASS_RT;
	if (strchr(word, ','))
		hint = IOPRIO_HINT_DEV_DURATION_LIMIT_1 + atoi(strchr(word, ',') + 1) - 1;
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		    IOPRIO_PRIO_VALUE_HINT(class, 4, hint)))
		fail(word);
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

/* One of the processes; begins when @gate is closed at its other end. */
static int read_on(const char *device, long number, long reads, int gate,
		   struct shared *shared, int me)
{
	struct iocb cb[MAX_READS] = {}, *cbs[MAX_READS];
	struct io_event done[MAX_READS];
	aio_context_t ctx = 0;
	off_t blocks;
	void *data;
	long i, count;
	int fd;

	fd = open(device, O_RDONLY | O_DIRECT);
	if (fd < 0)
		fail(device);
	blocks = lseek(fd, 0, SEEK_END) / BLOCK;
	if (blocks < 1 || posix_memalign(&data, BLOCK, BLOCK))
		fail("no block, or no memory for one");
	if (syscall(SYS_io_setup, number, &ctx)) {
		/* not in this kernel, or not so many for all who ask */
		perror("io_setup");
		return KSFT_SKIP;
	}
	for (i = 0; i < number; i++) {
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_fildes = fd;
		cb[i].aio_buf = (unsigned long)data;
		cb[i].aio_nbytes = BLOCK;
		cbs[i] = &cb[i];
	}
	srandom(me + 1);
	if (read(gate, data, 1))
		fail("gate");

	submit(ctx, cbs, number, blocks);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		count = syscall(SYS_io_getevents, ctx, 1, number, done, NULL);
		if (count < 1)
			fail("io_getevents");
		for (i = 0; i < count; i++) {
			if (done[i].res != BLOCK) {
				fprintf(stderr, "a read of %d bytes: %lld\n", BLOCK,
					(long long)done[i].res);
				return 1;
			}
			cbs[i] = (struct iocb *)(unsigned long)done[i].obj;
		}
		if (__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
			break;
		shared->had[me] += count;
		if (shared->had[me] >= reads)
			__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
		submit(ctx, cbs, count, blocks);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int processes = argc - 4, gate[2], i, status, code = 0;
	struct shared *shared;
	long number, reads;
	pid_t pid;

	number = argc > 2 ? atol(argv[2]) : 0;
	reads = argc > 3 ? atol(argv[3]) : 0;
	if (number < 1 || number > MAX_READS || reads < 1 || processes < 1 ||
	    processes > MAX_PROCESSES) {
		fprintf(stderr, "usage: null_blk_reads DEVICE NUMBER READS PRIORITY...\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(gate))
		fail("memory or pipe");
	for (i = 0; i < processes; i++) {
		pid = fork();
		if (pid < 0)
			fail("fork");
		if (pid)
			continue;
		close(gate[1]);
		set_priority(argv[4 + i]);
		code = read_on(argv[1], number, reads, gate[0], shared, i);
		/* Who fails stops the others. */
		__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
		return code;
	}
	close(gate[1]);
	for (i = 0; i < processes; i++) {
		if (wait(&status) < 0)
			fail("wait");
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	for (i = 0; i < processes; i++)
		printf("%ld%c", shared->had[i], i < processes - 1 ? ' ' : '\n');
	return code;
}
