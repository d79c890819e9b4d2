// SPDX-License-Identifier: GPL-2.0
/*
 * The walk.  Entries of directories wait in one queue for their inodes to be
 * read (pass 1), selected files in another for their data to be read (pass 2).
 * Directories that have to wait are on a stack: in the orders of one directory
 * at a time, all of them; in the others, those found while the memory is full.
 * So with little memory the walk goes depth first, and reads the entries that it
 * has before it collects more.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "directory.h"
#include "entry.h"
#include "extent.h"
#include "order.h"
#include "platter.h"

/* Bytes read from a directory at a time; few if memory is nearly full. */
#define READ_BYTES 32768
#define LEAST_READ_BYTES 1024
/* Entries take several times more memory than in the directory. */
#define READ_PART 4

/* Overhead and alignment of malloc. */
#define MALLOC_ROUND 16

struct device {
	dev_t dev;
	enum platter_order order;
};

struct walk {
	const struct platter_options *options;
	struct open_directories open;
	struct path_buffer path;
	struct device *devices;
	size_t nr_devices;
	struct queue inodes;
	struct queue data;
	struct directory *to_read;
	struct directory *found;	/* to be read before @to_read */
	struct directory **found_end;
	uint64_t sequence;
	size_t bytes;			/* of items and directories */
	size_t limit;
	int result;			/* nonzero: the walk ends */
	bool serving;			/* @entries are in use */
	char entries[READ_BYTES] __attribute__((aligned(8)));
};

/* --- memory ---------------------------------------------------------------- */

static size_t allocated(size_t header, const char *name)
{
	size_t bytes = header + strlen(name) + 1 + sizeof(size_t);

	return (bytes + MALLOC_ROUND - 1) / MALLOC_ROUND * MALLOC_ROUND;
}

static size_t bytes_left(const struct walk *walk)
{
	size_t bytes = walk->bytes + queue_bytes(&walk->inodes) + queue_bytes(&walk->data);

	return bytes < walk->limit ? walk->limit - bytes : 0;
}

static bool is_full(const struct walk *walk)
{
	return !bytes_left(walk);
}

/* Evaluate the return value of a callback; a negative one ends the walk. */
static bool answer(struct walk *walk, int said)
{
	if (said < 0 && !walk->result)
		walk->result = said;
	return said > 0;
}

static void out_of_memory(struct walk *walk)
{
	if (!walk->result)
		walk->result = -ENOMEM;
}

/* --- devices --------------------------------------------------------------- */

/* The index of a device in this walk; @fd is a file on it. */
static uint32_t device_number(struct walk *walk, int fd, dev_t dev)
{
	enum platter_order order = walk->options->order;
	struct device *devices;
	size_t i;

	for (i = walk->nr_devices; i-- > 0;)
		if (walk->devices[i].dev == dev)
			return (uint32_t)i;
	i = walk->nr_devices;
	devices = reallocarray(walk->devices, i + 1, sizeof(*devices));
	if (!devices) {
		out_of_memory(walk);
		return 0;
	}
	if (order == PLATTER_AUTO)
		order = device_gains(fd, dev) ? PLATTER_FULL_INODE_BLOCK : PLATTER_NONE;
	walk->devices = devices;
	devices[i] = (struct device){ .dev = dev, .order = order };
	walk->nr_devices++;
	return (uint32_t)i;
}

static enum platter_order order_of(const struct walk *walk, uint32_t device)
{
	return device < walk->nr_devices ? walk->devices[device].order : PLATTER_NONE;
}

static bool is_whole_tree(enum platter_order order)
{
	return order == PLATTER_FULL_INODE || order == PLATTER_FULL_INODE_BLOCK;
}

static bool is_by_block(enum platter_order order)
{
	return order == PLATTER_INODE_BLOCK || order == PLATTER_FULL_INODE_BLOCK;
}

/* --- entries --------------------------------------------------------------- */

static void make_entry(struct walk *walk, struct directory *parent, const char *name,
		       unsigned char type, struct platter_entry *entry)
{
	*entry = (struct platter_entry){
		.open = &walk->open, .buffer = &walk->path, .parent = parent,
		.name = name, .type = type,
		.follow = walk->options->flags & PLATTER_FOLLOW,
	};
}

static void report(struct walk *walk, struct platter_entry *entry, int error)
{
	const struct platter_options *options = walk->options;

	if (options->error)
		answer(walk, options->error(entry, error, options->user));
}

/* Drop a reference; the last one of a directory drops one of its parent. */
static void put_directory(struct walk *walk, struct directory *directory)
{
	const struct platter_options *options = walk->options;
	struct platter_entry entry;
	struct directory *parent;

	for (; directory && !--directory->references; directory = parent) {
		parent = directory->parent;
		directory_close(&walk->open, directory);
		make_entry(walk, parent, directory->name, DT_DIR, &entry);
		entry.attached = directory->attached;
		if (options->leave)
			answer(walk, options->leave(&entry, options->user));
		walk->bytes -= allocated(sizeof(*directory), directory->name);
		free(directory);
	}
}

static void free_item(struct walk *walk, struct item *item)
{
	walk->bytes -= allocated(sizeof(*item), item->name);
	put_directory(walk, item->parent);
	free(item);
}

static void push(struct walk *walk, struct queue *queue, struct item *item)
{
	if (queue_push(queue, item))
		return;
	out_of_memory(walk);
	free_item(walk, item);
}

/* The sort key of an inode. */
static uint64_t inode_key(enum platter_order order, uint64_t ino, uint64_t sequence)
{
	switch (order) {
	case PLATTER_NAME:
		return 0;
	case PLATTER_AUTO:
	case PLATTER_NONE:
		return sequence;
	default:
		return ino;
	}
}

/* Returns NULL, and ends the walk, if out of memory. */
static struct item *make_item(struct walk *walk, struct directory *parent, uint32_t device,
			      const char *name, uint64_t ino, unsigned char type)
{
	enum platter_order order = order_of(walk, device);
	struct item *item = malloc(sizeof(*item) + strlen(name) + 1);

	if (!item) {
		out_of_memory(walk);
		return NULL;
	}
	*item = (struct item){
		.parent = parent, .ino = ino, .sequence = walk->sequence++,
		.device = device, .type = type, .by_name = order == PLATTER_NAME,
	};
	item->key = inode_key(order, ino, item->sequence);
	strcpy(item->name, name);
	walk->bytes += allocated(sizeof(*item), name);
	if (parent)
		parent->references++;
	return item;
}

static void add(struct walk *walk, struct directory *parent, uint32_t device,
		const char *name, uint64_t ino, unsigned char type)
{
	struct item *item = make_item(walk, parent, device, name, ino, type);

	if (item)
		push(walk, &walk->inodes, item);
}

/* --- reading directories --------------------------------------------------- */

static bool is_dot(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static void add_entries(struct walk *walk, struct directory *directory, ssize_t bytes)
{
	const struct dirent64 *entry;

	for (ssize_t at = 0; at < bytes; at += entry->d_reclen) {
		entry = (const void *)(walk->entries + at);
		directory->offset = entry->d_off;
		if (!is_dot(entry->d_name))
			add(walk, directory, directory->device, entry->d_name,
			    entry->d_ino, entry->d_type);
	}
}

static void serve_unsorted(struct walk *walk, struct directory *directory,
			   const struct dirent64 *found);

static void serve_entries(struct walk *walk, struct directory *directory, ssize_t bytes)
{
	const struct dirent64 *entry;

	walk->serving = true;
	for (ssize_t at = 0; at < bytes && !walk->result; at += entry->d_reclen) {
		entry = (const void *)(walk->entries + at);
		if (!is_dot(entry->d_name))
			serve_unsorted(walk, directory, entry);
	}
	walk->serving = false;
}

static void report_directory(struct walk *walk, struct directory *directory, int error)
{
	struct platter_entry entry;

	make_entry(walk, directory->parent, directory->name, DT_DIR, &entry);
	report(walk, &entry, error);
}

static void wait_to_be_read(struct directory **first, struct directory *directory)
{
	directory->next = *first;
	*first = directory;
}

static size_t bytes_to_read(const struct walk *walk)
{
	size_t bytes = bytes_left(walk) / READ_PART;

	if (bytes < LEAST_READ_BYTES)
		return LEAST_READ_BYTES;
	return bytes < READ_BYTES ? bytes : READ_BYTES;
}

/* Read as many entries as fit; an error, or the rest, is left to the next call. */
static ssize_t read_entries(struct walk *walk, int fd, bool *is_end)
{
	size_t size = bytes_to_read(walk), bytes = 0;
	ssize_t got;

	do {
		got = getdents64(fd, walk->entries + bytes, size - bytes);
		if (got > 0)
			bytes += (size_t)got;
	} while (got > 0 && size - bytes >= sizeof(struct dirent64));
	*is_end = !got;
	return bytes ? (ssize_t)bytes : got;
}

/*
 * Read a directory to its end, or until memory is full, but at least a few
 * entries, so that the walk makes progress.  If nothing is sorted and the rest of
 * the directory was read at once, its entries are served immediately.  Otherwise
 * callbacks must wait: the walk would find files that they create in the
 * directory, possibly without end.
 */
static void read_directory(struct walk *walk, struct directory *directory)
{
	enum platter_order order = order_of(walk, directory->device);
	int fd = directory_fd(&walk->open, directory);
	bool is_end = false;
	ssize_t got = -1;

	if (fd >= 0)
		do {
			got = read_entries(walk, fd, &is_end);
			if (is_end && order == PLATTER_NONE && !walk->inodes.count)
				serve_entries(walk, directory, got);
			else
				add_entries(walk, directory, got);
		} while (got > 0 && !is_end && !walk->result &&
			 (order == PLATTER_NAME || !is_full(walk)));
	if (got > 0 && !is_end) {
		wait_to_be_read(&walk->to_read, directory);
		return;
	}
	if (got < 0)
		report_directory(walk, directory, errno);
	put_directory(walk, directory);
}

/* --- pass 1 ---------------------------------------------------------------- */

static bool is_above(const struct directory *above, const struct stat *status)
{
	for (; above; above = above->parent)
		if (above->ino == status->st_ino && above->dev == status->st_dev)
			return true;
	return false;
}

static bool may_enter(const struct walk *walk, const struct directory *parent,
		      const struct stat *status)
{
	return !parent || !(walk->options->flags & PLATTER_ONE_FS) ||
	       parent->dev == status->st_dev;
}

/* Enter at once in the orders of the whole tree, else after the directories before and above it. */
static void read_when_due(struct walk *walk, struct directory *directory)
{
	if (is_whole_tree(order_of(walk, directory->device)) && !is_full(walk) && !walk->serving) {
		read_directory(walk, directory);
		return;
	}
	directory->next = NULL;
	*walk->found_end = directory;
	walk->found_end = &directory->next;
}

static void enter(struct walk *walk, struct platter_entry *entry)
{
	struct directory *directory = directory_new(entry->parent, entry->name);
	int fd;

	if (!directory) {
		out_of_memory(walk);
		return;
	}
	walk->bytes += allocated(sizeof(*directory), directory->name);
	directory->dev = entry->status.st_dev;
	directory->ino = entry->status.st_ino;
	directory->follow = entry->follow;
	directory->attached = entry->attached;
	if (!may_enter(walk, entry->parent, &entry->status)) {
		put_directory(walk, directory);
		return;
	}
	fd = directory_fd(&walk->open, directory);
	if (fd < 0) {
		report(walk, entry, errno);
		put_directory(walk, directory);
		return;
	}
	directory->device = device_number(walk, fd, directory->dev);
	read_when_due(walk, directory);
}

static void serve_directory(struct walk *walk, struct platter_entry *entry)
{
	const struct platter_options *options = walk->options;
	const struct stat *status = platter_stat(entry);

	if (!status) {
		report(walk, entry, errno);
		return;
	}
	if (is_above(entry->parent, status)) {
		report(walk, entry, ELOOP);
		return;
	}
	if (!options->directory ||
	    answer(walk, options->directory(entry, options->user)))
		enter(walk, entry);
}

static uint64_t data_key(struct walk *walk, struct platter_entry *entry, const struct item *item)
{
	enum platter_order order = order_of(walk, item->device);
	uint64_t key = by_inode(item->ino);
	int fd;

	if (!is_by_block(order))
		return inode_key(order, item->ino, item->sequence);
	if (entry->type != DT_REG)
		return key;
	/* the caller gets the error when it opens the file */
	fd = platter_open(entry);
	if (fd < 0)
		return key;
	key = data_position(fd, item->ino);
	close(fd);
	return key;
}

/* Returns whether the data of the file is to be read. */
static bool serve_file(struct walk *walk, struct platter_entry *entry)
{
	const struct platter_options *options = walk->options;

	if (options->file && !answer(walk, options->file(entry, options->user)))
		return false;
	return options->data;
}

static bool serve_entry(struct walk *walk, struct platter_entry *entry)
{
	if (!entry_find_type(entry))
		report(walk, entry, errno);
	else if (entry->type == DT_DIR)
		serve_directory(walk, entry);
	else
		return serve_file(walk, entry);
	return false;
}

static void wait_for_data(struct walk *walk, struct platter_entry *entry, struct item *item)
{
	item->key = data_key(walk, entry, item);
	item->type = entry->type;
	push(walk, &walk->data, item);
}

static void serve_inode(struct walk *walk, struct item *item)
{
	struct platter_entry entry;

	make_entry(walk, item->parent, item->name, item->type, &entry);
	if (serve_entry(walk, &entry))
		wait_for_data(walk, &entry, item);
	else
		free_item(walk, item);
}

static void serve_unsorted(struct walk *walk, struct directory *directory,
			   const struct dirent64 *found)
{
	struct platter_entry entry;
	struct item *item;

	make_entry(walk, directory, found->d_name, found->d_type, &entry);
	if (!serve_entry(walk, &entry))
		return;
	item = make_item(walk, directory, directory->device, found->d_name,
			 found->d_ino, found->d_type);
	if (item)
		wait_for_data(walk, &entry, item);
}

/* --- pass 2 ---------------------------------------------------------------- */

static void read_data(struct walk *walk)
{
	const struct platter_options *options = walk->options;
	struct platter_entry entry;
	struct item *item;

	while (!walk->result && (item = queue_pop(&walk->data))) {
		make_entry(walk, item->parent, item->name, item->type, &entry);
		answer(walk, options->data(&entry, options->user));
		free_item(walk, item);
	}
}

/* --- the walk -------------------------------------------------------------- */

static struct directory *take_directory(struct walk *walk)
{
	struct directory *directory = walk->to_read;

	walk->to_read = directory->next;
	return directory;
}

/*
 * Returns whether to read the data of the files found before the next directory:
 * yes, unless that belongs to the same sweep.
 */
static bool read_directories(struct walk *walk)
{
	bool whole_tree;

	do {
		whole_tree = is_whole_tree(order_of(walk, walk->to_read->device));
		if (!whole_tree) {
			queue_rewind(&walk->inodes);
			queue_rewind(&walk->data);
		}
		read_directory(walk, take_directory(walk));
	} while (whole_tree && walk->to_read && !is_full(walk) && !walk->result &&
		 is_whole_tree(order_of(walk, walk->to_read->device)));
	return !whole_tree;
}

static void take_found(struct walk *walk)
{
	*walk->found_end = walk->to_read;
	walk->to_read = walk->found;
	walk->found = NULL;
	walk->found_end = &walk->found;
}

static bool next_is_other(const struct walk *walk)
{
	return !walk->to_read || !is_whole_tree(order_of(walk, walk->to_read->device));
}

static void run(struct walk *walk)
{
	bool due = false;
	struct item *item;

	do {
		if (walk->to_read)
			due = read_directories(walk);
		while (!walk->result && (item = queue_pop(&walk->inodes)))
			serve_inode(walk, item);
		if (walk->result)
			break;
		take_found(walk);
		if (due || is_full(walk) || next_is_other(walk)) {
			queue_free(&walk->inodes);
			read_data(walk);
			if (walk->result)
				break;
			queue_free(&walk->data);
		}
	} while (walk->to_read);
}

static void add_operand(struct walk *walk, const char *path)
{
	struct platter_entry entry;
	const struct stat *status;
	int fd, flags = O_PATH | O_CLOEXEC;

	make_entry(walk, NULL, path, DT_UNKNOWN, &entry);
	status = platter_stat(&entry);
	if (!status) {
		report(walk, &entry, errno);
		return;
	}
	if (!entry.follow || S_ISLNK(status->st_mode))
		flags |= O_NOFOLLOW;
	fd = open(path, flags);
	add(walk, NULL, device_number(walk, fd, status->st_dev), path,
	    status->st_ino, IFTODT(status->st_mode));
	if (fd >= 0)
		close(fd);
}

/* Free the rest after a callback has ended the walk. */
static void give_up(struct walk *walk)
{
	struct item *item;

	take_found(walk);
	while ((item = queue_pop(&walk->inodes)))
		free_item(walk, item);
	while ((item = queue_pop(&walk->data)))
		free_item(walk, item);
	while (walk->to_read)
		put_directory(walk, take_directory(walk));
}

static bool options_are_good(const struct platter_options *options)
{
	return options->order >= PLATTER_AUTO && options->order <= PLATTER_NAME &&
	       !(options->flags & ~(PLATTER_ONE_FS | PLATTER_FOLLOW));
}

int platter_walk(const char *const *paths, size_t count,
		 const struct platter_options *options)
{
	struct walk *walk;
	int result;

	if (!options_are_good(options))
		return -EINVAL;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	walk->options = options;
	walk->limit = options->memory ? options->memory : PLATTER_MEMORY;
	walk->found_end = &walk->found;
	directories_init(&walk->open);
	for (size_t i = 0; i < count && !walk->result; i++)
		add_operand(walk, paths[i]);
	if (!walk->result)
		run(walk);
	give_up(walk);
	result = walk->result;
	queue_free(&walk->inodes);
	queue_free(&walk->data);
	free(walk->devices);
	free(walk->path.text);
	free(walk);
	return result;
}

int platter_order_of_name(const char *name)
{
	static const char *const names[] = {
		[PLATTER_AUTO] = "auto",
		[PLATTER_NONE] = "none",
		[PLATTER_INODE] = "inode",
		[PLATTER_FULL_INODE] = "full-inode",
		[PLATTER_INODE_BLOCK] = "inode+block",
		[PLATTER_FULL_INODE_BLOCK] = "full-inode+block",
		[PLATTER_NAME] = "name",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}
