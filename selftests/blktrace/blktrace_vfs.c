// SPDX-License-Identifier: GPL-2.0
/*
 * Run one VFS operation on a file, through a given system call.
 *
 *	blktrace_vfs OPERATION FILE [OFFSET LENGTH]
 *
 * Prints the process and the inode before the operation. Operations on a name print
 * no inode, because finding it would look up the name. The exit code is 0, the errno
 * of the operation, or 255 for invalid arguments.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <linux/blktrace_api.h>
#include <linux/fs.h>
#include <linux/io_uring.h>

#include "../kselftest.h"

#define UNKNOWN	255

static char *data;

static long by_read(int fd, off_t off, size_t len)
{
	if (lseek(fd, off, SEEK_SET) < 0)
		return -1;
	return read(fd, data, len);
}

static long by_pread(int fd, off_t off, size_t len)
{
	return pread(fd, data, len, off);
}

static long by_preadv(int fd, off_t off, size_t len)
{
	struct iovec halves[] = { { data, len / 2 },
				  { data + len / 2, len - len / 2 } };

	return preadv(fd, halves, 2, off);
}

static long by_sendfile(int fd, off_t off, size_t len)
{
	int to = memfd_create("blktrace_vfs", 0);

	return to < 0 ? -1 : sendfile(to, fd, &off, len);
}

static long by_pwrite(int fd, off_t off, size_t len)
{
	return pwrite(fd, data, len, off);
}

static long by_pwritev(int fd, off_t off, size_t len)
{
	struct iovec halves[] = { { data, len / 2 },
				  { data + len / 2, len - len / 2 } };

	return pwritev(fd, halves, 2, off);
}

static long by_splice(int fd, off_t off, size_t len)
{
	int ends[2];

	/* a pipe holds 64 KiB */
	if (len > 65536 || pipe(ends) || write(ends[1], data, len) != (ssize_t)len)
		return -1;
	return splice(ends[0], NULL, fd, &off, len, 0);
}

static long by_aio(int fd, off_t off, size_t len, int what)
{
	struct iocb cb = {
		.aio_lio_opcode = what,
		.aio_fildes = fd,
		.aio_buf = (unsigned long)data,
		.aio_nbytes = len,
		.aio_offset = off,
	};
	struct iocb *cbs[] = { &cb };
	aio_context_t ctx = 0;
	struct io_event done;

	if (syscall(SYS_io_setup, 1, &ctx) ||
	    syscall(SYS_io_submit, ctx, 1, cbs) != 1 ||
	    syscall(SYS_io_getevents, ctx, 1, 1, &done, NULL) != 1)
		return -1;
	if ((long)done.res < 0)
		errno = -(long)done.res;
	return done.res;
}

static long by_aio_read(int fd, off_t off, size_t len)
{
	return by_aio(fd, off, len, IOCB_CMD_PREAD);
}

static long by_aio_write(int fd, off_t off, size_t len)
{
	return by_aio(fd, off, len, IOCB_CMD_PWRITE);
}

static long by_uring(int fd, off_t off, size_t len, int what)
{
	struct io_uring_params set = { };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	char *sq, *cq;
	int ring;

	ring = syscall(SYS_io_uring_setup, 1, &set);
	if (ring < 0)
		return -1;
	sq = mmap(NULL, set.sq_off.array + 4096, PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, set.cq_off.cqes + 4096, PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED,
		   ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
		return -1;
	*sqe = (struct io_uring_sqe) {
		.opcode = what,
		.fd = fd,
		.addr = (unsigned long)data,
		.len = len,
		.off = off,
	};
	*(unsigned int *)(sq + set.sq_off.array) = 0;
	__atomic_store_n((unsigned int *)(sq + set.sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		return -1;
	cqe = (struct io_uring_cqe *)(cq + set.cq_off.cqes);
	if (cqe->res < 0)
		errno = -cqe->res;
	return cqe->res;
}

static long by_uring_read(int fd, off_t off, size_t len)
{
	return by_uring(fd, off, len, IORING_OP_READ);
}

static long by_uring_write(int fd, off_t off, size_t len)
{
	return by_uring(fd, off, len, IORING_OP_WRITE);
}

static long by_fsync(int fd, off_t off, size_t len)
{
	return fsync(fd);
}

static long by_truncate(int fd, off_t off, size_t len)
{
	return ftruncate(fd, len);
}

static long by_fault(int fd, off_t off, size_t len)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, off);

	if (page == MAP_FAILED)
		return -1;
	data[0] = page[0];
	return 0;
}

/* Start a trace with BLKTRACESETUP2 and the categories OFFSET, and leave it running */
static long by_trace2(int fd, off_t off, size_t len)
{
	struct blk_user_trace_setup2 setup = {
		.act_mask = off, .buf_size = 65536, .buf_nr = 4,
	};

	if (ioctl(fd, BLKTRACESETUP2, &setup))
		return -1;
	return ioctl(fd, BLKTRACESTART);
}

static long by_untrace(int fd, off_t off, size_t len)
{
	return ioctl(fd, BLKTRACETEARDOWN);
}

static long by_open(const char *path)
{
	return open(path, O_RDONLY);
}

static long by_create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
}

static long by_stat(const char *path)
{
	struct stat st;

	return stat(path, &st);
}

static long by_readdir(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir)
		return -1;
	while (readdir(dir))
		continue;
	return 0;
}

static long by_unlink(const char *path)
{
	return unlink(path);
}

static long by_rename(const char *path)
{
	char to[4096];

	snprintf(to, sizeof(to), "%s.new", path);
	return rename(path, to);
}

static const struct {
	const char *name;
	long (*run)(const char *path);
} names[] = {
	{ "open", by_open },
	{ "create", by_create },
	{ "stat", by_stat },
	{ "readdir", by_readdir },
	{ "unlink", by_unlink },
	{ "rename", by_rename },
};

static const struct {
	const char *name;
	long (*run)(int fd, off_t off, size_t len);
	int flags;
} ways[] = {
	{ "read", by_read, O_RDONLY },
	{ "pread", by_pread, O_RDONLY },
	{ "preadv", by_preadv, O_RDONLY },
	{ "sendfile", by_sendfile, O_RDONLY },
	{ "aio_read", by_aio_read, O_RDONLY },
	{ "uring_read", by_uring_read, O_RDONLY },
	{ "direct", by_pread, O_RDONLY | O_DIRECT },
	{ "pwrite", by_pwrite, O_WRONLY },
	{ "pwritev", by_pwritev, O_WRONLY },
	{ "splice", by_splice, O_WRONLY },
	{ "aio_write", by_aio_write, O_WRONLY },
	{ "uring_write", by_uring_write, O_WRONLY },
	{ "fsync", by_fsync, O_RDWR },
	{ "truncate", by_truncate, O_RDWR },
	{ "fault", by_fault, O_RDONLY },
	{ "trace2", by_trace2, O_RDONLY },
	{ "untrace", by_untrace, O_RDONLY },
};

int main(int argc, char **argv)
{
	off_t off = argc > 3 ? atoll(argv[3]) : 0;
	size_t len = argc > 4 ? atoll(argv[4]) : 0;
	struct stat st;
	unsigned int i;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: %s OPERATION FILE [OFFSET LENGTH]\n",
			argv[0]);
		return UNKNOWN;
	}
	if (posix_memalign((void **)&data, 4096, len + 4096)) {
		fprintf(stderr, "%s: no memory\n", argv[0]);
		return UNKNOWN;
	}
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(argv[1], names[i].name))
			continue;
		printf("%d\n", getpid());
		fflush(stdout);
		return names[i].run(argv[2]) < 0 ? errno : 0;
	}
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		fd = open(argv[2], ways[i].flags);
		if (fd < 0 || fstat(fd, &st))
			return errno;
		printf("%d %llu\n", getpid(), (unsigned long long)st.st_ino);
		fflush(stdout);
		if (ways[i].run(fd, off, len) >= 0)
			return 0;
		perror(argv[1]);
		return errno;
	}
	fprintf(stderr, "no operation %s\n", argv[1]);
	return UNKNOWN;
}
