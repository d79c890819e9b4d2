/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platter - walk a tree in the order of the disk
 *
 * A program that reads one file after the other never has two requests
 * waiting: no I/O scheduler can put them in order.  It can ask in that order.
 * The caller says which directories to enter and which files to read; it is
 * called for each of these files when its turn on the disk has come.
 */
#ifndef PLATTER_H
#define PLATTER_H

#include <stddef.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLATTER_API __attribute__((visibility("default")))

/* What a walk may know before it begins to read, unless told otherwise. */
#define PLATTER_MEMORY ((size_t)64 << 20)

/**
 * enum platter_order - in which order inodes and data are read
 * @PLATTER_AUTO: as PLATTER_FULL_INODE_BLOCK on file systems whose inode
 *	numbers follow the disk, on disks that rotate; as PLATTER_NONE elsewhere
 * @PLATTER_NONE: one directory at a time: its inodes and then its data, in the
 *	order of readdir
 * @PLATTER_INODE: likewise, inodes and data by inode number
 * @PLATTER_FULL_INODE: the inodes of the whole tree by number, upwards and
 *	from the lowest again (C-SCAN), then all data by inode number
 * @PLATTER_INODE_BLOCK: one directory at a time: its inodes by number, then
 *	its data by the first block
 * @PLATTER_FULL_INODE_BLOCK: the inodes of the whole tree by number, then all
 *	data by the first block
 * @PLATTER_NAME: one directory at a time, inodes and data by name, whatever
 *	the memory limit: for results that can be reproduced
 */
enum platter_order {
	PLATTER_AUTO,
	PLATTER_NONE,
	PLATTER_INODE,
	PLATTER_FULL_INODE,
	PLATTER_INODE_BLOCK,
	PLATTER_FULL_INODE_BLOCK,
	PLATTER_NAME,
};

/* Answers of callbacks; a negative one ends the walk, which returns it. */
enum {
	PLATTER_NO = 0,
	PLATTER_YES = 1,
};

/* Flags of a walk. */
enum {
	PLATTER_ONE_FS = 1 << 0,	/* do not enter other file systems */
	PLATTER_FOLLOW = 1 << 1,	/* follow symbolic links */
};

struct platter_entry;

/**
 * struct platter_options - what to do in a walk
 * @order: in which order to read
 * @flags: PLATTER_ONE_FS, PLATTER_FOLLOW
 * @memory: bytes; when what is known takes more, it is read (0: PLATTER_MEMORY)
 * @user: handed to the callbacks
 * @directory: enter this directory?  (NULL: yes)
 * @file: is the data of this file, which may be of any type but a directory,
 *	wanted?  (NULL: yes)
 * @data: read this file now: for each that @file wanted, once.
 *	(NULL: no data is wanted)
 * @leave: all below this directory is done: for each that was to be entered,
 *	once, after all directories below it, even if the walk ends before.
 *	(NULL: not told)
 * @error: this entry cannot be looked at or entered; the walk goes on.
 *	The second argument is an errno value.  (NULL: not told)
 *
 * An entry is valid until the callback returns.  @data opens its file by
 * platter_open(), which may find that it has vanished.
 */
struct platter_options {
	enum platter_order order;
	unsigned int flags;
	size_t memory;
	void *user;
	int (*directory)(struct platter_entry *entry, void *user);
	int (*file)(struct platter_entry *entry, void *user);
	int (*data)(struct platter_entry *entry, void *user);
	int (*leave)(struct platter_entry *entry, void *user);
	int (*error)(struct platter_entry *entry, int error, void *user);
};

/**
 * platter_walk() - walk trees in the order of the disk
 * @paths: files and directories to begin with, relative to the working
 *	directory, which must not change during the walk
 * @count: how many
 * @options: what to do
 *
 * Return: 0, the negative answer of a callback, or -errno (-ENOMEM, -EINVAL).
 * What goes wrong with an entry is told to @options->error, and is no failure
 * of the walk.
 */
PLATTER_API int platter_walk(const char *const *paths, size_t count,
			     const struct platter_options *options);

/**
 * platter_order_of_name() - the order that a name means
 * @name: auto, none, inode, full-inode, inode+block, full-inode+block, name
 *
 * Return: an enum platter_order, or -1.
 */
PLATTER_API int platter_order_of_name(const char *name);

/**
 * platter_path() - the path of an entry, beginning with the operand
 *
 * Return: the path, which may be longer than PATH_MAX; NULL if there is no
 * memory.
 */
PLATTER_API const char *platter_path(struct platter_entry *entry);

/** platter_name() - the last part of the path; of an operand, all of it */
PLATTER_API const char *platter_name(const struct platter_entry *entry);

/** platter_depth() - 0: an operand; 1: an entry of a directory that is one */
PLATTER_API unsigned int platter_depth(const struct platter_entry *entry);

/** platter_type() - one of the DT_ constants of <dirent.h>, never DT_UNKNOWN */
PLATTER_API unsigned char platter_type(const struct platter_entry *entry);

/**
 * platter_stat() - the inode of an entry
 *
 * Asks the kernel the first time only.  It is that of a symbolic link's target
 * where links are followed and there is a target.
 *
 * Return: the status, or NULL with errno set.
 */
PLATTER_API const struct stat *platter_stat(struct platter_entry *entry);

/**
 * platter_dirfd() - the directory in which platter_name() is
 *
 * Return: a descriptor that belongs to the walk, AT_FDCWD for an operand, or -1
 * with errno set.  It is valid until the callback returns or asks the library
 * for anything else.
 */
PLATTER_API int platter_dirfd(struct platter_entry *entry);

/**
 * platter_open() - open an entry for reading
 *
 * Does not follow a symbolic link unless the walk does, does not wait for the
 * other end of a FIFO, and is closed by exec.
 *
 * Return: a descriptor that belongs to the caller, or -1 with errno set.
 */
PLATTER_API int platter_open(struct platter_entry *entry);

/**
 * platter_attach() - let a directory carry a pointer of the caller's
 *
 * To be called by @directory, whose answer is to be PLATTER_YES.  @leave is
 * the last that gets it.
 */
PLATTER_API void platter_attach(struct platter_entry *entry, void *pointer);

/** platter_attached() - what a directory carries, in @leave */
PLATTER_API void *platter_attached(const struct platter_entry *entry);

/** platter_parent_attached() - what the directory of an entry carries */
PLATTER_API void *platter_parent_attached(const struct platter_entry *entry);

#ifdef __cplusplus
}
#endif

#endif
