/* SPDX-License-Identifier: GPL-2.0 */
/* What every part of bwctl needs: exit codes, messages, small files, roots. */
#ifndef BWCTL_UTIL_H
#define BWCTL_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	EXIT_DONE = 0,		/* done; for check: the class is honoured */
	EXIT_FAILED = 1,	/* the kernel, a process or a device said no */
	EXIT_BAD_USE = 2,	/* the command line is wrong; nothing was done */
	EXIT_NOT_RUN = 126,	/* as env(1) and nice(1): found, but not started */
	EXIT_NOT_FOUND = 127,	/* as env(1) and nice(1): no such command */
};

#define PATH_SIZE 4096
#define LINE_SIZE 1024

/* One line "bwctl: ..." on stderr, whatever bytes the arguments hold. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* snprintf() whose result may be cut: for texts that people read. */
void put_text(char *buffer, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A path, or an empty string when it does not fit: no file has that name. */
void put_path(char path[PATH_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Replace control characters, which could drive a terminal, by '?'. */
void make_printable(char *text);

/* Read a small file without its last newline: its length, or -errno. */
ssize_t read_text(const char *path, char *buffer, size_t size);

/* All of @text is a decimal number up to @max. */
bool parse_decimal(const char *text, uint64_t max, uint64_t *value);

/* malloc and realloc that end the program when there is no memory. */
void *grow(void *memory, size_t count, size_t size);

/* Where the kernel's files are: /sys, /sys/kernel/debug, /proc, /sys/fs/cgroup. */
const char *sysfs_root(void);
const char *debugfs_root(void);
const char *proc_root(void);
const char *cgroup_root(void);
const char *dev_root(void);

#endif
