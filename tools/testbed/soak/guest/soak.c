// SPDX-License-Identifier: GPL-2.0
/*
 * soak - process 1 of the soak's guest; soak.h describes all its parts
 *
 * The parts are compiled together with this file, as one unit: the functions of init.h, which
 * end the guest with a message, keep their state in static variables.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>

#include "soak.h"

#include "files.c"
#include "job.c"
#include "sampler.c"
#include "draw.c"
#include "worker.c"
#include "groups.c"
#include "settings.c"
#include "director.c"

struct shared *shared;

/* Ends the guest: this kernel cannot be tested, which is not a failure of the kernel. */
static void __attribute__((noreturn)) refuse(const char *why)
{
	write_result("refused", why);
	power_off();
}

/* Removes from the job the schedulers that the kernel lacks; the first one is required. */
static void check_kernel(void)
{
	struct setting *s = &job.schedulers;
	char path[PATH_MAX], text[256];
	unsigned int nr = 0;

	if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BW(1, 0)))
		refuse("has no class BW");
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO(IOPRIO_CLASS_BE, 4));
	snprintf(path, sizeof(path), "/sys/block/%s/queue/scheduler", shared->disks[0].name);
	read_file(path, text, sizeof(text));
	for (unsigned int i = 0; i < s->nr; i++) {
		if (strstr(text, s->choices[i]))
			s->choices[nr++] = s->choices[i];
		else if (!i)
			refuse("does not have the scheduler to test");
	}
	s->nr = nr;
}

int main(int argc, char **argv)
{
	if (argc < 2 || getpid() != 1)
		errx(2, "this program is process 1 of a guest and takes a folder of the host; run tools/testbed/soak/soak instead");
	set_up_guest(argv[1]);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "mmap");
	open_samples();
	read_job();
	check_kernel();
	run_director();
	close_samples();
	write_result("done", "1\n");
	power_off();
}
