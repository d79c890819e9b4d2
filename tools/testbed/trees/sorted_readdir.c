// SPDX-License-Identifier: GPL-2.0
/*
 * A library to preload: readdir() returns the entries of a directory in the order of their
 * inode numbers. `trees run` compares with it; telldir() and seekdir() do not work.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct sorted {
	DIR *dir;
	struct dirent **entries;
	size_t count;
	size_t next;
	struct sorted *other;
};

static struct sorted *all;

static struct sorted **find(DIR *dir)
{
	struct sorted **at = &all;

	while (*at && (*at)->dir != dir)
		at = &(*at)->other;
	return at;
}

static int by_inode(const void *a, const void *b)
{
	const struct dirent *one = *(struct dirent *const *)a, *two = *(struct dirent *const *)b;

	return (one->d_ino > two->d_ino) - (one->d_ino < two->d_ino);
}

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static struct sorted *read_all(DIR *dir)
{
	struct dirent *(*next)(DIR *) = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");
	struct sorted *sorted = need(calloc(1, sizeof(*sorted)));
	struct dirent *entry;

	sorted->dir = dir;
	sorted->other = all;
	all = sorted;
	while ((entry = next(dir))) {
		sorted->entries = need(reallocarray(sorted->entries, sorted->count + 1,
						    sizeof(*sorted->entries)));
		sorted->entries[sorted->count] = need(malloc(entry->d_reclen));
		memcpy(sorted->entries[sorted->count++], entry, entry->d_reclen);
	}
	qsort(sorted->entries, sorted->count, sizeof(*sorted->entries), by_inode);
	return sorted;
}

struct dirent *readdir(DIR *dir)
{
	struct sorted *sorted = *find(dir);

	if (!sorted)
		sorted = read_all(dir);
	return sorted->next < sorted->count ? sorted->entries[sorted->next++] : NULL;
}

struct dirent64 *readdir64(DIR *dir)
{
	return (struct dirent64 *)readdir(dir);
}

int closedir(DIR *dir)
{
	int (*close_it)(DIR *) = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");
	struct sorted **at = find(dir), *sorted = *at;

	if (sorted) {
		*at = sorted->other;
		while (sorted->count)
			free(sorted->entries[--sorted->count]);
		free(sorted->entries);
		free(sorted);
	}
	return close_it(dir);
}
