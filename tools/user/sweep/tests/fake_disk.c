// SPDX-License-Identifier: GPL-2.0
/*
 * System calls that answer as the tests want, linked by --wrap:
 *   FAKE_DISK     a file of lines "NAME INO POSITION": what readdir and FIEMAP
 *                 tell of entries of that name
 *   FAKE_FIEMAP   "errno N", "none", or "PHYSICAL FLAGS": of all files
 *   FAKE_FIBMAP   "errno N", or a block
 *   FAKE_UNKNOWN  readdir returns no types
 *   FAKE_FS       the type that fstatfs returns, hexadecimal
 *   FAKE_COUNT    a file that gets the number of calls of fstatat in the end
 *   FAKE_PAUSE    when the status of that name is asked for, say so on stderr,
 *                 and wait for a byte on stdin
 *   FAKE_READ     names of files whose reading fails after so many bytes: "NAME BYTES ERRNO",
 *                 errno 0: they end there, -1: as FAKE_PAUSE; nothing is copied in the kernel
 *   FAKE_NAMES    1: there are no files without a name
 *   FAKE_BLOCKS   files take no blocks, as those of file systems that compress may
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define MOST_NAMES 4096

static struct {
	char name[64];
	uint64_t ino;
	uint64_t position;
} disk[MOST_NAMES];
static size_t nr_names;
static unsigned long fstatat_calls;

int __real_ioctl(int fd, unsigned long request, void *argument);
ssize_t __real_getdents64(int fd, void *buffer, size_t size);
int __real_fstatfs(int fd, struct statfs *fs);
int __real_fstatat(int fd, const char *path, struct stat *st, int flags);
ssize_t __real_pread(int fd, void *buffer, size_t count, off_t offset);
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_getdents64(int fd, void *buffer, size_t size);
int __wrap_fstatfs(int fd, struct statfs *fs);
int __wrap_fstatat(int fd, const char *path, struct stat *st, int flags);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __wrap_pread(int fd, void *buffer, size_t count, off_t offset);
ssize_t __real_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t count,
			       unsigned int flags);
ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t count,
			       unsigned int flags);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);

static void tell_count(void)
{
	FILE *out = fopen(getenv("FAKE_COUNT"), "w");

	if (!out)
		_exit(9);
	fprintf(out, "%lu\n", fstatat_calls);
	fclose(out);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAKE_DISK");
	FILE *in;

	if (getenv("FAKE_COUNT"))
		atexit(tell_count);
	if (!path)
		return;
	in = fopen(path, "r");
	if (!in)
		_exit(9);
	while (nr_names < MOST_NAMES &&
	       fscanf(in, "%63s %" SCNu64 " %" SCNu64, disk[nr_names].name,
		      &disk[nr_names].ino, &disk[nr_names].position) == 3)
		nr_names++;
	fclose(in);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static size_t find(const char *name)
{
	size_t i;

	for (i = 0; i < nr_names && strcmp(disk[i].name, name); i++)
		;
	return i;
}

static const char *name_of(int fd, char path[4096])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, 4095);
	if (length < 0)
		return "";
	path[length] = '\0';
	return strrchr(path, '/') + 1;
}

static int fiemap(struct fiemap *map, uint64_t physical, uint32_t flags)
{
	map->fm_mapped_extents = 1;
	map->fm_extents[0].fe_physical = physical;
	map->fm_extents[0].fe_flags = flags;
	return 0;
}

static int fake_fiemap(int fd, struct fiemap *map)
{
	const char *answer = getenv("FAKE_FIEMAP");
	unsigned long long physical;
	unsigned int flags;
	char path[4096];
	size_t i;
	int error;

	if (nr_names) {
		i = find(name_of(fd, path));
		if (i < nr_names)
			return fiemap(map, disk[i].position, 0);
	}
	if (!answer)
		return __real_ioctl(fd, FS_IOC_FIEMAP, map);
	if (sscanf(answer, "errno %d", &error) == 1)
		return fail(error);
	map->fm_mapped_extents = 0;
	if (sscanf(answer, "%llu %u", &physical, &flags) == 2)
		return fiemap(map, physical, flags);
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	const char *answer = getenv("FAKE_FIBMAP");
	void *argument;
	va_list args;
	int error;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (request == FS_IOC_FIEMAP)
		return fake_fiemap(fd, argument);
	if (request == FICLONE && getenv("FAKE_READ"))
		return fail(EOPNOTSUPP);
	if (request != FIBMAP || !answer)
		return __real_ioctl(fd, request, argument);
	if (sscanf(answer, "errno %d", &error) == 1)
		return fail(error);
	*(unsigned int *)argument = (unsigned int)strtoul(answer, NULL, 10);
	return 0;
}

ssize_t __wrap_getdents64(int fd, void *buffer, size_t size)
{
	ssize_t got = __real_getdents64(fd, buffer, size);
	struct dirent64 *entry;
	size_t i;

	for (ssize_t at = 0; at < got; at += entry->d_reclen) {
		entry = (void *)((char *)buffer + at);
		i = find(entry->d_name);
		if (i < nr_names)
			entry->d_ino = disk[i].ino;
		if (getenv("FAKE_UNKNOWN"))
			entry->d_type = DT_UNKNOWN;
	}
	return got;
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int result = __real_fstatfs(fd, fs);

	if (getenv("FAKE_FS"))
		fs->f_type = strtol(getenv("FAKE_FS"), NULL, 16);
	return result;
}

static void pause_now(void)
{
	char byte;

	if (write(STDERR_FILENO, "paused\n", 7) != 7 || read(STDIN_FILENO, &byte, 1) < 0)
		_exit(9);
}

/* Once. */
static void pause_at(const char *name)
{
	const char *wanted = getenv("FAKE_PAUSE");

	if (!wanted || strcmp(name, wanted))
		return;
	unsetenv("FAKE_PAUSE");
	pause_now();
}

int __wrap_fstatat(int fd, const char *path, struct stat *st, int flags)
{
	fstatat_calls++;
	pause_at(path);
	return __real_fstatat(fd, path, st, flags);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t count, off_t offset)
{
	const char *answer = getenv("FAKE_READ");
	char name[64], path[4096];
	long long bytes;
	int error;

	if (!answer || sscanf(answer, "%63s %lld %d", name, &bytes, &error) != 3 ||
	    strcmp(name, name_of(fd, path)))
		return __real_pread(fd, buffer, count, offset);
	if (offset >= bytes && error < 0)
		pause_now();
	else if (offset >= bytes && error)
		return fail(error);
	if (offset >= bytes)
		return 0;
	if (offset + (off_t)count > bytes)
		count = (size_t)(bytes - offset);
	return __real_pread(fd, buffer, count, offset);
}

ssize_t __wrap_copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t count,
			       unsigned int flags)
{
	if (getenv("FAKE_READ"))
		return fail(EXDEV);
	return __real_copy_file_range(in, in_at, out, out_at, count, flags);
}

int __wrap_openat(int fd, const char *path, int flags, ...)
{
	const char *names = getenv("FAKE_NAMES");
	mode_t mode;
	va_list args;

	if ((flags & O_TMPFILE) == O_TMPFILE && names && *names)
		return fail(EOPNOTSUPP);
	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return __real_openat(fd, path, flags, mode);
}

int __wrap_fstat(int fd, struct stat *st)
{
	int result = __real_fstat(fd, st);

	if (!result && S_ISREG(st->st_mode) && getenv("FAKE_BLOCKS"))
		st->st_blocks = 0;
	return result;
}
