// SPDX-License-Identifier: GPL-2.0
/* The system calls ioprio_get and ioprio_set, for which libc has no functions. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ioprio.h"

#define IOPRIO_WHO_PROCESS	1

const char *ioprio_class_name(int ioprio)
{
	static const char *const names[] = {
		[IOPRIO_CLASS_NONE] = "none",
		[IOPRIO_CLASS_RT] = "rt",
		[IOPRIO_CLASS_BE] = "be",
		[IOPRIO_CLASS_IDLE] = "idle",
		[IOPRIO_CLASS_BW] = "bw",
	};
	unsigned int class = (unsigned int)IOPRIO_PRIO_CLASS(ioprio);

	return class < sizeof(names) / sizeof(names[0]) ? names[class] : "unknown";
}

/* The tests replace these by tests/fake_ioprio.c. */
#ifndef BWCTL_TEST

int thread_get_ioprio(pid_t tid)
{
	long ioprio = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid);

	return ioprio < 0 ? -errno : (int)ioprio;
}

int thread_set_ioprio(pid_t tid, int ioprio)
{
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, ioprio) < 0 ? -errno : 0;
}

#endif
