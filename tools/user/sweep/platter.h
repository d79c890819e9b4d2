/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platter - walk a tree in the order of the disk
 *
 * A program that reads one file after the other never has two requests
 * waiting, so no I/O scheduler can sort them; the program itself can.  The
 * caller selects the directories to enter and the files to read, and gets a
 * callback for each of these files, in the order of the disk.
 */
#ifndef PLATTER_H
#define PLATTER_H

#include <stddef.h>
#include <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLATTER_API __attribute__((visibility("default")))

/* Default limit of the memory of a walk. */
#define PLATTER_MEMORY ((size_t)64 << 20)

/**
 * enum platter_order - in which order inodes and data are read
 * @PLATTER_AUTO: PLATTER_FULL_INODE_BLOCK on file systems whose inode numbers
 *	follow the disk, on rotating disks; PLATTER_NONE elsewhere
 * @PLATTER_NONE: one directory at a time: its inodes and then its data, in the
 *	order of readdir
 * @PLATTER_INODE: one directory at a time: inodes and data by inode number
 * @PLATTER_FULL_INODE: the inodes of the whole tree by number, in upward sweeps
 *	(C-SCAN), then all data by inode number
 * @PLATTER_INODE_BLOCK: one directory at a time: its inodes by number, then
 *	its data by the first block
 * @PLATTER_FULL_INODE_BLOCK: the inodes of the whole tree by number, then all
 *	data by the first block
 * @PLATTER_NAME: one directory at a time, inodes and data by name, regardless
 *	of the memory limit: for reproducible results
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

/* Return values of callbacks; a negative one ends the walk, which returns it. */
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
 * @order: the order of reading
 * @flags: PLATTER_ONE_FS, PLATTER_FOLLOW
 * @memory: limit in bytes, at which the entries collected so far are read (0:
 *	PLATTER_MEMORY)
 * @user: passed to the callbacks
 * @directory: whether to enter this directory  (NULL: yes)
 * @file: whether to read this file, of any type but a directory  (NULL: yes)
 * @data: read this file now: called once for each file selected by @file
 *	(NULL: no data is read)
 * @leave: everything below this directory is complete: called once for each
 *	directory selected by @directory, after all directories below it, even
 *	if the walk ends early  (NULL: not called)
 * @error: this entry cannot be read or entered; the walk continues.  The
 *	second argument is an errno value.  (NULL: not called)
 *
 * An entry is valid until the callback returns.  @data opens its file by
 * platter_open(), which fails if the file has vanished.
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
 * @count: number of paths
 * @options: order, limits and callbacks
 *
 * Return: 0, the negative return value of a callback, or -errno (-ENOMEM,
 * -EINVAL).  An error of an entry is passed to @options->error and is not a
 * failure of the walk.
 */
PLATTER_API int platter_walk(const char *const *paths, size_t count,
			     const struct platter_options *options);

/**
 * platter_order_of_name() - look up an order by its name
 * @name: auto, none, inode, full-inode, inode+block, full-inode+block, name
 *
 * Return: an enum platter_order, or -1.
 */
PLATTER_API int platter_order_of_name(const char *name);

/**
 * platter_path() - the path of an entry, beginning with the operand
 *
 * Return: the path, which may be longer than PATH_MAX; NULL if out of memory.
 */
PLATTER_API const char *platter_path(struct platter_entry *entry);

/** platter_name() - the last part of the path; for an operand, the whole path */
PLATTER_API const char *platter_name(const struct platter_entry *entry);

/** platter_depth() - 0 for an operand, 1 for an entry of an operand, and so on */
PLATTER_API unsigned int platter_depth(const struct platter_entry *entry);

/** platter_type() - one of the DT_ constants of <dirent.h>, never DT_UNKNOWN */
PLATTER_API unsigned char platter_type(const struct platter_entry *entry);

/**
 * platter_stat() - the inode of an entry
 *
 * The first call reads the inode, later ones return the same.  If links are
 * followed, it is that of a symbolic link's target, if that exists.
 *
 * Return: the status, or NULL with errno set.
 */
PLATTER_API const struct stat *platter_stat(struct platter_entry *entry);

/**
 * platter_dirfd() - the directory that contains platter_name()
 *
 * Return: a descriptor that belongs to the walk, AT_FDCWD for an operand, or -1
 * with errno set.  It is valid until the callback returns or calls another
 * function of the library.
 */
PLATTER_API int platter_dirfd(struct platter_entry *entry);

/**
 * platter_open() - open an entry for reading
 *
 * Follows symbolic links only if the walk does, does not wait for the other end
 * of a FIFO, and sets close-on-exec.
 *
 * Return: a descriptor that belongs to the caller, or -1 with errno set.
 */
PLATTER_API int platter_open(struct platter_entry *entry);

/**
 * platter_attach() - attach a pointer to a directory
 *
 * Call it in @directory, and return PLATTER_YES.  @leave is the last callback
 * that can use the pointer.
 */
PLATTER_API void platter_attach(struct platter_entry *entry, void *pointer);

/** platter_attached() - the pointer attached to a directory, in @leave */
PLATTER_API void *platter_attached(const struct platter_entry *entry);

/** platter_parent_attached() - the pointer attached to the directory of an entry */
PLATTER_API void *platter_parent_attached(const struct platter_entry *entry);

#ifdef __cplusplus
}
#endif

#endif
