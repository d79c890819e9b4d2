// SPDX-License-Identifier: GPL-2.0
/* Find a disk by name, device node or file, and read its files in sysfs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"

/* Limit of nested device-mapper tables, so that a loop in a damaged sysfs ends. */
#define MAX_STACK 16

const unsigned int default_delays_ms[IOPRIO_BW_NR_DELAYS] = {
	25, 50, 100, 200, 500, 800, 1000, 2000
};

/* --- names ----------------------------------------------------------------- */

static void copy_name(char name[DISK_NAME], const char *text)
{
	put_text(name, DISK_NAME, "%s", text);
}

/*
 * Get the name of the disk of a sysfs folder.  The folder of a partition is
 * inside that of its disk.
 */
static bool disk_of_folder(const char *folder, char name[DISK_NAME])
{
	char path[PATH_SIZE], *real, *slash;

	real = realpath(folder, NULL);
	if (!real)
		return false;
	put_path(path, "%s/partition", real);
	if (!access(path, F_OK)) {
		slash = strrchr(real, '/');
		if (slash)
			*slash = '\0';
	}
	slash = strrchr(real, '/');
	copy_name(name, slash ? slash + 1 : real);
	free(real);
	return true;
}

/* sysfs writes the '/' of a device's name as '!'. */
static bool disk_of_name(const char *text, char name[DISK_NAME])
{
	static const char *const folders[] = { "class/block", "block" };
	char path[PATH_SIZE], plain[DISK_NAME];

	if (!*text || strlen(text) >= sizeof(plain) || !strcmp(text, ".") || !strcmp(text, ".."))
		return false;
	copy_name(plain, text);
	for (char *c = plain; *c; c++)
		if (*c == '/')
			*c = '!';
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		put_path(path, "%s/%s/%s", sysfs_root(), folders[i], plain);
		if (disk_of_folder(path, name))
			return true;
	}
	return false;
}

void disk_of_numbers(const char *numbers, char name[DISK_NAME])
{
	char path[PATH_SIZE];

	put_path(path, "%s/dev/block/%s", sysfs_root(), numbers);
	if (!disk_of_folder(path, name))
		copy_name(name, numbers);
}

static bool disk_of_number(dev_t number, char name[DISK_NAME])
{
	char path[PATH_SIZE];

	put_path(path, "%s/dev/block/%u:%u", sysfs_root(), major(number), minor(number));
	return disk_of_folder(path, name);
}

static bool disk_of_node(const char *path, char name[DISK_NAME])
{
	struct stat st;

	if (!stat(path, &st) && S_ISBLK(st.st_mode) && disk_of_number(st.st_rdev, name))
		return true;
	return !strncmp(path, "/dev/", 5) && disk_of_name(path + 5, name);
}

/* mountinfo writes blanks and backslashes as three octal digits. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* Whether @path lies on or below @folder. */
static bool lies_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	if (!strcmp(folder, "/"))
		return true;
	return !strncmp(path, folder, length) && (!path[length] || path[length] == '/');
}

/* Split a line of mountinfo: where it is mounted, and its source. */
static bool parse_mount(char *line, char **point, char **source)
{
	char *save, *dash = strstr(line, " - "), *word;

	if (!dash)
		return false;
	*dash = '\0';
	word = strtok_r(line, " ", &save);
	for (int i = 0; word && i < 4; i++)
		word = strtok_r(NULL, " ", &save);
	*point = word;
	strtok_r(dash + 3, " ", &save);	/* the type */
	*source = strtok_r(NULL, " \n", &save);
	if (!*point || !*source)
		return false;
	unescape(*point);
	unescape(*source);
	return true;
}

/*
 * Find the source of the mount that @path is on, for file systems whose st_dev
 * is not a disk (btrfs).
 */
static bool mount_source(const char *path, char source[PATH_SIZE])
{
	char file[PATH_SIZE], *line = NULL, *real = realpath(path, NULL);
	char *point, *from;
	size_t size = 0, best = 0;
	FILE *mounts;

	source[0] = '\0';
	put_path(file, "%s/self/mountinfo", proc_root());
	mounts = real ? fopen(file, "re") : NULL;
	while (mounts && getline(&line, &size, mounts) > 0) {
		/* of two mounts at one place the later one hides the earlier one */
		if (parse_mount(line, &point, &from) && lies_below(real, point) &&
		    strlen(point) >= best) {
			best = strlen(point);
			put_path(source, "%s", from);
		}
	}
	free(line);
	free(real);
	if (mounts)
		fclose(mounts);
	return source[0] != '\0';
}

static int disk_of_file(const char *path, const struct stat *st, char name[DISK_NAME],
			char why[LINE_SIZE])
{
	char source[PATH_SIZE];

	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) {
		put_text(why, LINE_SIZE, "%s is not a block device, file or directory", path);
		return -1;
	}
	if (disk_of_number(st->st_dev, name))
		return 0;
	if (!mount_source(path, source)) {
		put_text(why, LINE_SIZE, "%s is on a file system without a disk: give the disk", path);
		return -1;
	}
	if (disk_of_node(source, name))
		return 0;
	put_text(why, LINE_SIZE, "%s is on the file system '%s', which is not a disk: give the disk",
		 path, source);
	return -1;
}

int disk_find(const char *text, char name[DISK_NAME], char why[LINE_SIZE])
{
	struct stat st;

	if (!*text) {
		put_text(why, LINE_SIZE, "the device name is empty");
		return -1;
	}
	if (!strchr(text, '/') && disk_of_name(text, name))
		return 0;
	if (disk_of_node(text, name))
		return 0;
	if (stat(text, &st)) {
		put_text(why, LINE_SIZE, "no device, file or directory '%s': %s", text,
			 strerror(errno));
		return -1;
	}
	if (S_ISBLK(st.st_mode)) {
		put_text(why, LINE_SIZE, "the block device %s (%u:%u) is not in %s", text,
			 major(st.st_rdev), minor(st.st_rdev), sysfs_root());
		return -1;
	}
	return disk_of_file(text, &st, name, why);
}

/* --- lists ------------------------------------------------------------------- */

static bool list_has(const struct disk_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->names[i], name))
			return true;
	return false;
}

static void list_add(struct disk_list *list, const char *name)
{
	if (list_has(list, name))
		return;
	list->names = grow(list->names, list->count + 1, sizeof(*list->names));
	copy_name(list->names[list->count++], name);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

static void list_sort(struct disk_list *list)
{
	if (list->count)
		qsort(list->names, list->count, sizeof(*list->names), by_name);
}

void disk_list_free(struct disk_list *list)
{
	free(list->names);
	list->names = NULL;
	list->count = 0;
}

/* Call @add for each entry of a sysfs folder, if it exists. */
static void each_entry(const char *folder, struct disk_list *list,
		       void (*add)(struct disk_list *list, const char *entry))
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add(list, entry->d_name);
	closedir(dir);
	list_sort(list);
}

static void add_if_cfq(struct disk_list *list, const char *entry)
{
	char active[DISK_NAME];

	if (!disk_scheduler(entry, active, sizeof(active)) && !strcmp(active, "cfq"))
		list_add(list, entry);
}

void disks_with_cfq(struct disk_list *list)
{
	char path[PATH_SIZE];

	put_path(path, "%s/block", sysfs_root());
	each_entry(path, list, add_if_cfq);
}

static void add_disk_of(struct disk_list *list, const char *entry)
{
	char name[DISK_NAME];

	if (disk_of_name(entry, name))
		list_add(list, name);
}

void disk_slaves(const char *name, struct disk_list *list)
{
	char path[PATH_SIZE];

	put_path(path, "%s/block/%s/slaves", sysfs_root(), name);
	each_entry(path, list, add_disk_of);
}

static void add_bottoms(const char *name, struct disk_list *list, int depth)
{
	struct disk_list slaves = { 0 };

	disk_slaves(name, &slaves);
	for (size_t i = 0; i < slaves.count && depth < MAX_STACK; i++)
		add_bottoms(slaves.names[i], list, depth + 1);
	if (!slaves.count)
		list_add(list, name);
	disk_list_free(&slaves);
}

void disk_bottoms(const char *name, struct disk_list *list)
{
	add_bottoms(name, list, 0);
	list_sort(list);
}

/* --- a disk's files ------------------------------------------------------------ */

ssize_t disk_read(const char *name, const char *file, char *buffer, size_t size)
{
	char path[PATH_SIZE];

	put_path(path, "%s/block/%s/%s", sysfs_root(), name, file);
	return read_text(path, buffer, size);
}

bool disk_read_number(const char *name, const char *file, uint64_t *value)
{
	char text[64];

	return disk_read(name, file, text, sizeof(text)) >= 0 &&
	       parse_decimal(text, INT64_MAX, value);
}

/* The active scheduler is in brackets; a device without requests has the word "none". */
int disk_scheduler(const char *name, char *active, size_t size)
{
	char text[LINE_SIZE], *word, *save;
	ssize_t length = disk_read(name, "queue/scheduler", text, sizeof(text));

	if (length < 0)
		return (int)length;
	put_text(active, size, "none");
	for (word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		length = (ssize_t)strlen(word);
		if (length > 2 && word[0] == '[' && word[length - 1] == ']')
			put_text(active, size, "%.*s", (int)length - 2, word + 1);
	}
	return 0;
}

bool disk_offers(const char *name, const char *scheduler)
{
	char text[LINE_SIZE], *word, *save;

	if (disk_read(name, "queue/scheduler", text, sizeof(text)) < 0)
		return false;
	for (word = strtok_r(text, " []\n", &save); word; word = strtok_r(NULL, " []\n", &save))
		if (!strcmp(word, scheduler))
			return true;
	return false;
}

static int parse_delays(char *text, unsigned int *delays_ms)
{
	char *save, *word = strtok_r(text, " \t\n", &save);
	uint64_t value;

	for (int i = 0; i < IOPRIO_BW_NR_DELAYS; i++) {
		if (!word || !parse_decimal(word, UINT_MAX, &value))
			return -EBADMSG;
		delays_ms[i] = (unsigned int)value;
		word = strtok_r(NULL, " \t\n", &save);
	}
	return word ? -EBADMSG : 0;
}

int disk_delays_ms(const char *name, unsigned int delays_ms[IOPRIO_BW_NR_DELAYS])
{
	char text[LINE_SIZE];
	ssize_t length = disk_read(name, "queue/iosched/bw_delays_ms", text, sizeof(text));

	return length < 0 ? (int)length : parse_delays(text, delays_ms);
}

bool same_delays(const unsigned int *a, const unsigned int *b)
{
	return !memcmp(a, b, sizeof(default_delays_ms));
}

int common_delays_ms(unsigned int delays_ms[IOPRIO_BW_NR_DELAYS], char name[DISK_NAME])
{
	unsigned int of_disk[IOPRIO_BW_NR_DELAYS];
	struct disk_list disks = { 0 };
	bool first = true, differ = false;

	name[0] = '\0';
	memcpy(delays_ms, default_delays_ms, sizeof(default_delays_ms));
	disks_with_cfq(&disks);
	for (size_t i = 0; i < disks.count; i++) {
		if (disk_delays_ms(disks.names[i], of_disk))
			continue;
		if (!same_delays(of_disk, default_delays_ms) && !name[0])
			copy_name(name, disks.names[i]);
		if (first)
			memcpy(delays_ms, of_disk, sizeof(of_disk));
		differ |= !same_delays(delays_ms, of_disk);
		first = false;
	}
	disk_list_free(&disks);
	return differ ? -1 : 0;
}

void format_delays(char text[LINE_SIZE], const unsigned int *delays_ms)
{
	int length = 0;

	for (int i = 0; i < IOPRIO_BW_NR_DELAYS; i++)
		length += snprintf(text + length, LINE_SIZE - (size_t)length, i ? " %u" : "%u",
				   delays_ms[i]);
}
