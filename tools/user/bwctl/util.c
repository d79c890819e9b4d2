// SPDX-License-Identifier: GPL-2.0
/* Messages, small files, and the paths of the kernel's files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

void say(const char *format, ...)
{
	char line[LINE_SIZE];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	make_printable(line);
	fflush(stdout);
	fprintf(stderr, "bwctl: %s%s\n", line,
		length >= (int)sizeof(line) ? "..." : "");
}

void put_text(char *buffer, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(buffer, size, format, args);
	va_end(args);
}

void put_path(char path[PATH_SIZE], const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(path, PATH_SIZE, format, args);
	va_end(args);
	if (length < 0 || length >= PATH_SIZE)
		path[0] = '\0';
}

ssize_t read_text(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = 0;
	int error;

	if (fd < 0)
		return -errno;
	while (length < size - 1 &&
	       (got = read(fd, buffer + length, size - 1 - length)) > 0)
		length += (size_t)got;
	error = errno;
	close(fd);
	if (got < 0)
		return -error;
	if (length && buffer[length - 1] == '\n')
		length--;
	buffer[length] = '\0';
	return (ssize_t)length;
}

bool parse_decimal(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t result = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(result, 10, &result) ||
		    __builtin_add_overflow(result, (uint64_t)(*text - '0'), &result))
			return false;
	}
	*value = result;
	return result <= max;
}

void *grow(void *memory, size_t count, size_t size)
{
	void *grown = reallocarray(memory, count ? count : 1, size);

	if (!grown) {
		say("out of memory");
		exit(EXIT_FAILED);
	}
	return grown;
}

/*
 * The tests override the roots with BWCTL_SYSFS, BWCTL_DEBUGFS, BWCTL_PROC,
 * BWCTL_CGROUP and BWCTL_DEV.  A bwctl with capabilities (setcap) ignores them.
 */
static const char *root(const char *variable, const char *usual)
{
	const char *moved = secure_getenv(variable);

	return moved && *moved ? moved : usual;
}

const char *sysfs_root(void)
{
	return root("BWCTL_SYSFS", "/sys");
}

const char *debugfs_root(void)
{
	return root("BWCTL_DEBUGFS", "/sys/kernel/debug");
}

const char *proc_root(void)
{
	return root("BWCTL_PROC", "/proc");
}

const char *cgroup_root(void)
{
	return root("BWCTL_CGROUP", "/sys/fs/cgroup");
}

const char *dev_root(void)
{
	return root("BWCTL_DEV", "/dev");
}
