// SPDX-License-Identifier: GPL-2.0
/*
 * sched_files SCHEDULER-FILE SCHEDULER ROUNDS FOLDER...: reads all files of these
 * folders of debugfs without a pause, while the scheduler is chosen and left again so
 * many times. The folders and their files come and go with the scheduler. Prints how
 * many reads there were.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES	64
#define PASSES	20	/* over the files that are open, before they are looked for again */

static atomic_bool done;
static atomic_ulong reads;

static int open_all(const char *folder, int *fds)
{
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	dir = opendir(folder);
	if (!dir)
		return 0;
	while (n < FILES && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			fds[n] = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
			if (fds[n] >= 0)
				n++;
		}
	closedir(dir);
	return n;
}

static void *reader(void *folder)
{
	char text[4096];
	int fds[FILES];

	while (!done) {
		int n = open_all(folder, fds);
		int pass, i;

		for (pass = 0; pass < PASSES && !done; pass++)
			for (i = 0; i < n; i++)
				if (pread(fds[i], text, sizeof(text), 0) >= 0)
					reads++;
		for (i = 0; i < n; i++)
			close(fds[i]);
	}
	return NULL;
}

static void choose(const char *file, const char *scheduler)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, scheduler, strlen(scheduler)) < 0)
		err(1, "%s: %s", file, scheduler);
	close(fd);
}

int main(int argc, char **argv)
{
	int folders = argc - 4, round, i;
	pthread_t *threads;

	if (folders < 1)
		errx(2, "usage: sched_files SCHEDULER-FILE SCHEDULER ROUNDS FOLDER...");
	threads = calloc(folders, sizeof(*threads));
	if (!threads)
		errx(1, "no memory");
	for (i = 0; i < folders; i++)
		if (pthread_create(&threads[i], NULL, reader, argv[4 + i]))
			errx(1, "no thread");
	for (round = 0; round < atoi(argv[3]); round++) {
		choose(argv[1], argv[2]);
		usleep(20000);
		choose(argv[1], "none");
	}
	done = true;
	for (i = 0; i < folders; i++)
		pthread_join(threads[i], NULL);
	printf("%lu reads in %d rounds\n", reads, round);
	return !reads;
}
