/* SPDX-License-Identifier: GPL-2.0 */
/* Exit codes, messages, small files, and the paths of the kernel's files. */
#ifndef BWCTL_UTIL_H
#define BWCTL_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	EXIT_DONE = 0,		/* success; for check: the class is honoured */
	EXIT_FAILED = 1,	/* the kernel refused, or a process or device failed */
	EXIT_BAD_USE = 2,	/* the command line is wrong; nothing was done */
	EXIT_NOT_RUN = 126,	/* as env(1) and nice(1): cannot be started */
	EXIT_NOT_FOUND = 127,	/* as env(1) and nice(1): not found */
};

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define PATH_SIZE 4096
#define LINE_SIZE 1024

/* Print one line "bwctl: ..." to stderr, without control characters. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* snprintf() that may truncate, for texts that people read. */
void put_text(char *buffer, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Print a path, or an empty string if it does not fit: no file has that name. */
void put_path(char path[PATH_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Replace control characters, which could control a terminal, by '?'. */
void make_printable(char *text);

/* Read a small file without its last newline.  Returns its length or -errno. */
ssize_t read_text(const char *path, char *buffer, size_t size);

/* Parse @text, a decimal number up to @max.  Returns false if it is anything else. */
bool parse_decimal(const char *text, uint64_t max, uint64_t *value);

/* Allocate or grow an array; exit if there is no memory. */
void *grow(void *memory, size_t count, size_t size);

/* The roots of the kernel's files: /sys, /sys/kernel/debug, /proc, /sys/fs/cgroup, /dev. */
const char *sysfs_root(void);
const char *debugfs_root(void);
const char *proc_root(void);
const char *cgroup_root(void);
const char *dev_root(void);

#endif
