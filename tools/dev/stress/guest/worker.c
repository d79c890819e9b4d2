// SPDX-License-Identifier: GPL-2.0
/*
 * I/O that knows what it has written:
 *
 *	worker direct|buffered|aio DEVICE OFFSET SIZE SEED STATE [errors] [failing]
 *	worker verify DEVICE STATE
 *
 * The first form writes, reads, discards and syncs at random in a region of the
 * device that holds zeros, compares what it reads with what it has written, and
 * goes on until it is told to end (SIGTERM). Then it leaves in STATE what each
 * block has to hold, for the second form, and prints a line for each kind of
 * result: "action<TAB>result<TAB>count". With "errors" I/O may fail: the block
 * then holds what it did before or what was to be written. With "failing" the
 * kernel's allocations for this process may fail (/proc/self/make-it-fail).
 *
 * Exit codes: 0 good; 1 data is wrong, or an error where none may be; 2 bad use.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chance.h"

#define BLOCK		4096
#define SECTOR		512
#define WORDS		(BLOCK / 8)
#define MAX_BLOCKS	16	/* of one operation */
#define MAX_DEPTH	16
#define CANDIDATES	3
#define PAUSE_US	5000

/*
 * What a block may hold: generations of its content, 0 is zeros. None at all:
 * too many writes have failed to say.
 */
struct block {
	uint32_t generation[CANDIDATES];
	uint32_t nr;
};

struct header {
	char magic[8];
	uint64_t offset, nr_blocks, seed;
};

enum action { READ, WRITE, DISCARD, SYNC, NR_ACTIONS };
static const char *const action_name[NR_ACTIONS] = { "read", "write", "discard", "sync" };

struct slot {
	enum action action;
	size_t block, nr;
	uint32_t generation;
	char *data;
	bool busy;
	struct iocb cb;
};

static int fd;
static struct header header = { .magic = "stress1" };
static struct block *blocks;
static bool *in_use;
static struct slot slots[MAX_DEPTH];
static bool errors, aio;
static uint64_t state;
static uint32_t last_generation;
static unsigned long done[NR_ACTIONS], failed[NR_ACTIONS][256];
static volatile sig_atomic_t stop;

static uint64_t below(uint64_t n)
{
	return draw_below(&state, n);
}

static void end(int sig)
{
	(void)sig;
	stop = 1;
}

/*
 * Content
 */

static uint64_t first_word(size_t block, uint32_t generation)
{
	return mix(header.seed ^ (uint64_t)block << 32 ^ generation);
}

static void fill(char *data, size_t block, uint32_t generation)
{
	uint64_t *word = (uint64_t *)data, x = first_word(block, generation);
	int i;

	for (i = 0; i < WORDS; i++)
		word[i] = x + i * 0x9e3779b97f4a7c15;
}

/* Whether words of a block are those of a generation */
static bool has(const char *data, size_t block, uint32_t generation, int first, int nr)
{
	const uint64_t *word = (const uint64_t *)data;
	uint64_t x = generation ? first_word(block, generation) : 0;
	uint64_t step = generation ? 0x9e3779b97f4a7c15 : 0;
	int i;

	for (i = first; i < first + nr; i++)
		if (word[i] != x + i * step)
			return false;
	return true;
}

static bool holds(const char *data, size_t block, uint32_t generation)
{
	return has(data, block, generation, 0, WORDS);
}

/*
 * A write that is larger than a request (max_sectors_kb) is cut anywhere between two
 * sectors; when one part fails and the other does not, a block has some of both.
 */
static bool holds_parts(const char *data, size_t block)
{
	const struct block *b = &blocks[block];
	int sector;
	uint32_t i;

	for (sector = 0; sector < BLOCK / SECTOR; sector++) {
		for (i = 0; i < b->nr; i++)
			if (has(data, block, b->generation[i], sector * SECTOR / 8, SECTOR / 8))
				break;
		if (i == b->nr)
			return false;
	}
	return true;
}

static void check(const char *data, size_t block)
{
	struct block *b = &blocks[block];
	const uint64_t *word = (const uint64_t *)data;
	uint32_t i, old;

	for (i = 0; i < b->nr; i++) {
		if (holds(data, block, b->generation[i])) {
			/* of what it might hold, this is what it does hold */
			b->generation[0] = b->generation[i];
			b->nr = 1;
			return;
		}
	}
	if (!b->nr || (b->nr > 1 && holds_parts(data, block)))
		return;
	for (old = last_generation; old && !holds(data, block, old); old--)
		;
	printf("WRONG: byte %llu is not generation %u%s (first words %#llx %#llx)",
	       (unsigned long long)(header.offset + block * BLOCK), b->generation[0],
	       b->nr > 1 ? " or another" : "", (unsigned long long)word[0],
	       (unsigned long long)word[1]);
	if (old)
		printf(", but generation %u\n", old);
	else
		printf(", but %s\n", holds(data, block, 0) ? "zeros" : "none of this program's");
	fflush(stdout);
	exit(1);
}

static void now_holds(size_t block, uint32_t generation)
{
	blocks[block].generation[0] = generation;
	blocks[block].nr = 1;
}

static void may_hold(size_t block, uint32_t generation)
{
	struct block *b = &blocks[block];

	if (!b->nr)
		return;
	if (b->nr == CANDIDATES)
		b->nr = 0;
	else
		b->generation[b->nr++] = generation;
}

/*
 * Operations
 */

static bool may_fail_with(int error)
{
	switch (error) {
	case EIO: case ETIMEDOUT: case ENOMEM: case ENODATA: case ENOSPC: case EAGAIN:
	case ENXIO: case ENODEV: case EBUSY: case EOPNOTSUPP: case ENOTTY:
	case EINVAL:	/* a discard beyond the end of a disk that has gone */
		return errors;
	}
	return false;
}

/* @result: bytes, or a negative errno; the action has ended. */
static void ended(struct slot *slot, long result)
{
	long wanted = slot->action <= WRITE ? (long)slot->nr * BLOCK : 0;
	bool good = result == wanted;
	size_t i;

	if (good) {
		done[slot->action]++;
	} else {
		int error = result < 0 ? -result : EIO;

		failed[slot->action][error & 255]++;
		if (!may_fail_with(error)) {
			printf("ERROR: %s of %zu blocks at byte %llu: %s\n",
			       action_name[slot->action], slot->nr,
			       (unsigned long long)(header.offset + slot->block * BLOCK),
			       result < 0 ? strerror(error) : "cut off");
			fflush(stdout);
			exit(1);
		}
	}
	for (i = slot->block; i < slot->block + slot->nr; i++) {
		in_use[i] = false;
		if (slot->action == WRITE || slot->action == DISCARD) {
			if (good)
				now_holds(i, slot->generation);
			else
				may_hold(i, slot->generation);
		} else if (slot->action == READ && good) {
			check(slot->data + (i - slot->block) * BLOCK, i);
		}
	}
	slot->busy = false;
}

static bool place(struct slot *slot)
{
	size_t i;

	slot->nr = 1 + below(below(4) ? 4 : MAX_BLOCKS);
	slot->block = below(header.nr_blocks - slot->nr + 1);
	for (i = slot->block; i < slot->block + slot->nr; i++)
		if (in_use[i])
			return false;
	for (i = slot->block; i < slot->block + slot->nr; i++)
		in_use[i] = true;
	return true;
}

static void discard(struct slot *slot)
{
	uint64_t range[2] = { header.offset + slot->block * BLOCK, slot->nr * BLOCK };

	slot->generation = 0;
	ended(slot, ioctl(fd, BLKDISCARD, range) ? -errno : 0);
}

static void transfer(struct slot *slot, aio_context_t ctx)
{
	off_t at = header.offset + slot->block * BLOCK;
	struct iocb *cb = &slot->cb;
	long ret;
	size_t i;

	if (slot->action == WRITE) {
		slot->generation = ++last_generation;
		for (i = 0; i < slot->nr; i++)
			fill(slot->data + i * BLOCK, slot->block + i, slot->generation);
	}
	if (!aio) {
		ret = slot->action == READ ? pread(fd, slot->data, slot->nr * BLOCK, at) :
					     pwrite(fd, slot->data, slot->nr * BLOCK, at);
		ended(slot, ret < 0 ? -errno : ret);
		return;
	}
	*cb = (struct iocb) {
		.aio_data = slot - slots,
		.aio_lio_opcode = slot->action == READ ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE,
		.aio_fildes = fd,
		.aio_buf = (unsigned long)slot->data,
		.aio_nbytes = slot->nr * BLOCK,
		.aio_offset = at,
	};
	if (syscall(SYS_io_submit, ctx, 1, &cb) != 1)
		ended(slot, -errno);
}

static void start(struct slot *slot, aio_context_t ctx)
{
	unsigned int chance = below(100);

	if (chance < 4) {
		slot->action = SYNC;
		slot->nr = 0;
		slot->busy = true;
		ended(slot, (chance & 1 ? fsync(fd) : fdatasync(fd)) ? -errno : 0);
		return;
	}
	if (!place(slot))
		return;
	slot->busy = true;
	slot->action = chance < 10 ? DISCARD : chance < 55 ? WRITE : READ;
	if (slot->action == DISCARD)
		discard(slot);
	else
		transfer(slot, ctx);
}

static void reap(aio_context_t ctx, int at_least)
{
	struct io_event events[MAX_DEPTH];
	int i, n;

	n = syscall(SYS_io_getevents, ctx, at_least, MAX_DEPTH, events, NULL);
	for (i = 0; i < n; i++)
		ended(&slots[events[i].data], events[i].res);
}

static int busy_slots(void)
{
	int i, n = 0;

	for (i = 0; i < MAX_DEPTH; i++)
		n += slots[i].busy;
	return n;
}

static void work(aio_context_t ctx)
{
	int i;

	while (!stop) {
		for (i = 0; i < (aio ? MAX_DEPTH : 1) && !stop; i++)
			if (!slots[i].busy)
				start(&slots[i], ctx);
		if (aio && busy_slots())
			reap(ctx, 1);
		if (below(2))
			usleep(below(2 * PAUSE_US));
	}
	while (aio && busy_slots())
		reap(ctx, 1);
}

/* Data in the page cache reaches the device, or it is told that it did not. */
static void settle(void)
{
	struct slot last = { .action = SYNC };

	ended(&last, fsync(fd) ? -errno : 0);
}

/* While allocations fail, that which ends it may fail for the same reason. */
#define TRIES	1000

static int try_make_it_fail(bool on)
{
	int file = open("/proc/self/make-it-fail", O_WRONLY), error = 0;

	if (file < 0)
		return errno;
	if (write(file, on ? "1" : "0", 1) != 1)
		error = errno;
	close(file);
	return error;
}

static void make_it_fail(bool on)
{
	int i, error = ENOMEM;

	for (i = 0; i < TRIES && error == ENOMEM; i++)
		error = try_make_it_fail(on);
	if (error) {
		errno = error;
		err(2, "/proc/self/make-it-fail");
	}
}

static void save(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(&header, sizeof(header), 1, file) != 1 ||
	    fwrite(blocks, sizeof(*blocks), header.nr_blocks, file) != header.nr_blocks ||
	    fclose(file))
		err(1, "%s", path);
}

static void report(void)
{
	int action, error;

	for (action = 0; action < NR_ACTIONS; action++) {
		if (done[action])
			printf("%s\tdone\t%lu\n", action_name[action], done[action]);
		for (error = 0; error < 256; error++)
			if (failed[action][error])
				printf("%s\texpected %s\t%lu\n", action_name[action],
				       strerrorname_np(error), failed[action][error]);
	}
}

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		err(1, "memory");
	return p;
}

static int run(int argc, char **argv)
{
	bool failing = false, buffered = !strcmp(argv[1], "buffered");
	aio_context_t ctx = 0;
	size_t i;

	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = end }, NULL);
	aio = !strcmp(argv[1], "aio");
	header.offset = strtoull(argv[3], NULL, 0);
	header.nr_blocks = strtoull(argv[4], NULL, 0) / BLOCK;
	header.seed = strtoull(argv[5], NULL, 0);
	state = header.seed;
	for (i = 7; i < (size_t)argc; i++) {
		errors |= !strcmp(argv[i], "errors");
		failing |= !strcmp(argv[i], "failing");
	}
	if (header.nr_blocks < 2 * MAX_BLOCKS)
		errx(2, "the region is too small");
	fd = open(argv[2], O_RDWR | (buffered ? 0 : O_DIRECT));
	if (fd < 0)
		err(errors ? 0 : 1, "%s", argv[2]);
	blocks = memory(header.nr_blocks * sizeof(*blocks));
	in_use = memory(header.nr_blocks);
	for (i = 0; i < header.nr_blocks; i++)
		now_holds(i, 0);
	for (i = 0; i < MAX_DEPTH; i++)
		slots[i].data = memory(MAX_BLOCKS * BLOCK);
	/* before allocations fail: this one may not */
	if (aio && syscall(SYS_io_setup, MAX_DEPTH, &ctx))
		err(1, "io_setup");
	if (failing) {
		mlockall(MCL_CURRENT);
		make_it_fail(true);
	}
	work(ctx);
	if (failing)
		make_it_fail(false);
	settle();
	save(argv[6]);
	report();
	return 0;
}

static int verify(const char *device, const char *path)
{
	FILE *file = fopen(path, "r");
	char *data = memory(BLOCK);
	size_t i, checked = 0;

	if (!file || fread(&header, sizeof(header), 1, file) != 1 ||
	    strcmp(header.magic, "stress1"))
		errx(1, "%s: no state", path);
	blocks = memory(header.nr_blocks * sizeof(*blocks));
	if (fread(blocks, sizeof(*blocks), header.nr_blocks, file) != header.nr_blocks)
		errx(1, "%s: cut off", path);
	fclose(file);
	fd = open(device, O_RDONLY | O_DIRECT);
	if (fd < 0)
		err(1, "%s", device);
	for (i = 0; i < header.nr_blocks; i++) {
		if (pread(fd, data, BLOCK, header.offset + i * BLOCK) != BLOCK)
			err(1, "%s: block %zu", device, i);
		checked += blocks[i].nr > 0;
		check(data, i);
	}
	printf("verify\tblocks\t%zu\n", checked);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "verify"))
		return verify(argv[2], argv[3]);
	if (argc >= 7 && (!strcmp(argv[1], "direct") || !strcmp(argv[1], "buffered") ||
			  !strcmp(argv[1], "aio")))
		return run(argc, argv);
	fprintf(stderr, "usage: %s direct|buffered|aio DEVICE OFFSET SIZE SEED STATE [errors] [failing]\n"
		"       %s verify DEVICE STATE\n", argv[0], argv[0]);
	return 2;
}
