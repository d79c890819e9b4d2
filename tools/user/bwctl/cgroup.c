// SPDX-License-Identifier: GPL-2.0
/* Find control groups by path, name or container ID; read and write their files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

#define MAX_OPEN 16

/* State of a search: nftw() passes no data on to its callback. */
static struct {
	const char *name;	/* NULL: search by @id */
	uint64_t id;
	char first[PATH_SIZE];
	char second[PATH_SIZE];	/* another match */
} search;

const char *group_path(const char *folder)
{
	size_t length = strlen(cgroup_root());

	return strncmp(folder, cgroup_root(), length) || !folder[length] ? "/" : folder + length;
}

/* Whether @name is a full container ID, which engines use in the name of the scope. */
static bool is_container_id(const char *name)
{
	return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

static bool is_called(const char *base, const char *name)
{
	static const char *const endings[] = { "", ".service", ".slice", ".scope" };
	const char *at = strstr(base, name);

	if (!at || (at != base && !(at[-1] == '-' && is_container_id(name))))
		return false;
	at += strlen(name);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (!strcmp(at, endings[i]))
			return true;
	return false;
}

static int look_at(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	if (type != FTW_D)
		return 0;
	if (search.name ? !is_called(path + where->base, search.name) : stat->st_ino != search.id)
		return 0;
	if (!search.first[0]) {
		put_path(search.first, "%s", path);
		return !search.name;
	}
	put_path(search.second, "%s", path);
	return 1;
}

static void walk(const char *name, uint64_t id)
{
	memset(&search, 0, sizeof(search));
	search.name = name;
	search.id = id;
	nftw(cgroup_root(), look_at, MAX_OPEN, FTW_PHYS);
}

static bool is_folder(const char *path)
{
	struct stat stat_of;

	return path[0] && !stat(path, &stat_of) && S_ISDIR(stat_of.st_mode);
}

int group_find(const char *text, char folder[PATH_SIZE], char why[LINE_SIZE])
{
	size_t root = strlen(cgroup_root());

	if (!strncmp(text, cgroup_root(), root) && (text[root] == '/' || !text[root]))
		put_path(folder, "%s", text);
	else
		put_path(folder, "%s/%s", cgroup_root(), text + (*text == '/'));
	if (*text && is_folder(folder))
		return 0;
	if (!*text || strchr(text, '/')) {
		put_text(why, LINE_SIZE, "no control group %s in %s", text, cgroup_root());
		return -1;
	}
	walk(text, 0);
	if (!search.first[0])
		put_text(why, LINE_SIZE, "no control group %s in %s: is the service or container running?",
			 text, cgroup_root());
	else if (search.second[0])
		put_text(why, LINE_SIZE, "%s is ambiguous (%s or %s): give a path", text,
			 group_path(search.first), group_path(search.second));
	else
		put_path(folder, "%s", search.first);
	return search.first[0] && !search.second[0] ? 0 : -1;
}

bool group_of_id(uint64_t id, char path[PATH_SIZE])
{
	/* consecutive threads are often of one group: use the last result */
	if (search.name || search.id != id)
		walk(NULL, id);
	put_path(path, "%s", search.first[0] ? group_path(search.first) : "");
	return search.first[0];
}

static int (*called)(const char *folder);

static int call(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)stat;
	(void)where;
	return type == FTW_D ? called(path) : 0;
}

int group_each(int (*call_for)(const char *folder))
{
	called = call_for;
	return nftw(cgroup_root(), call, MAX_OPEN, FTW_PHYS);
}

int group_write(const char *folder, const char *file, const char *text)
{
	size_t length = strlen(text);
	char path[PATH_SIZE];
	int fd, error = 0;

	put_path(path, "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length)
		error = -errno;
	close(fd);
	return error;
}

int group_read(const char *folder, const char *file, char text[GROUP_FILE_SIZE])
{
	char path[PATH_SIZE];
	ssize_t length;

	put_path(path, "%s/%s", folder, file);
	length = read_text(path, text, GROUP_FILE_SIZE);
	if (length < 0)
		text[0] = '\0';
	return length < 0 ? (int)length : 0;
}

bool line_number(const char *line, const char *key, int64_t *value)
{
	size_t length = strlen(key);
	long long number;

	for (const char *at = line; (at = strstr(at, key)); at += length) {
		if (at != line && at[-1] == ' ' && at[length] == '=' &&
		    sscanf(at + length + 1, "%lld", &number) == 1) {
			*value = number;
			return true;
		}
	}
	return false;
}

bool line_of_disk(const char *text, const char *number, char line[LINE_SIZE])
{
	size_t length = strlen(number);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, number, length) || text[length] != ' ')
			continue;
		put_text(line, LINE_SIZE, "%.*s", (int)strcspn(text, "\n"), text);
		return true;
	}
	return false;
}
