// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command with a reservation of the bandwidth class, or with the raw
 * priority that is given. ionice(1) knows neither.
 *
 *	cfq_ioprio PRIORITY COMMAND [ARGUMENT...]
 *	cfq_ioprio RATE,DELAY COMMAND [ARGUMENT...]
 *	cfq_ioprio get
 *
 * RATE in units of 128 KiB/s, DELAY an index. Ends with the errno of ioprio_set()
 * if that fails. "get" prints the priority of the process in decimal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/ioprio.h>

#ifndef IOPRIO_BW_VALUE
#define IOPRIO_CLASS_BW			4
#define IOPRIO_BW_VALUE(rate, delay)	\
	(IOPRIO_CLASS_BW << 13 | (rate) << 3 | (delay))
#endif

int main(int argc, char **argv)
{
	unsigned int rate, delay;
	int ioprio;

	if (argc == 2 && !strcmp(argv[1], "get")) {
		ioprio = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
		if (ioprio < 0)
			return errno;
		printf("%d\n", ioprio);
		return 0;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: %s PRIORITY COMMAND...\n", argv[0]);
		return 255;
	}
	if (sscanf(argv[1], "%u,%u", &rate, &delay) == 2)
		ioprio = IOPRIO_BW_VALUE(rate, delay);
	else
		ioprio = atoi(argv[1]);
	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, ioprio))
		return errno;
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return errno;
}
