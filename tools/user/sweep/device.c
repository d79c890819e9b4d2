// SPDX-License-Identifier: GPL-2.0
/*
 * Check the preconditions of sorting: inode numbers that follow the disk, and a
 * rotating disk.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"

/* Limit of nested devices, so that a loop in a damaged sysfs ends. */
#define MAX_STACK 16

const char *device_sysfs = "/sys";

/*
 * ext2, ext3 and ext4 have tables of inodes, indexed by number; XFS encodes the
 * position in the number; btrfs keeps inodes in a tree sorted by number.
 */
static const uint32_t follow_the_disk[] = {
	EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
};

static bool inodes_follow_disk(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	for (size_t i = 0; i < sizeof(follow_the_disk) / sizeof(*follow_the_disk); i++)
		if ((uint32_t)fs.f_type == follow_the_disk[i])
			return true;
	return false;
}

static bool folder_rotates(const char *folder, unsigned int depth);

/* Returns -1 if there are no devices below. */
static int slaves_rotate(const char *folder, unsigned int depth)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int rotates = -1;
	DIR *slaves;

	if (snprintf(path, sizeof(path), "%s/slaves", folder) >= (int)sizeof(path))
		return -1;
	slaves = opendir(path);
	if (!slaves)
		return -1;
	while (rotates != 1 && (entry = readdir(slaves))) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/slaves/%s", folder,
			     entry->d_name) < (int)sizeof(path))
			rotates = folder_rotates(path, depth + 1);
	}
	closedir(slaves);
	return rotates;
}

static bool flag_is_set(const char *folder)
{
	char path[PATH_MAX], value = '0';
	int fd;

	if (snprintf(path, sizeof(path), "%s/queue/rotational", folder) >=
	    (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, &value, 1) != 1)
		value = '0';
	close(fd);
	return value == '1';
}

/* The folder of a partition is inside that of its disk. */
static bool folder_rotates(const char *folder, unsigned int depth)
{
	char *real = realpath(folder, NULL), *slash, path[PATH_MAX];
	int rotates = 0;

	if (!real)
		return false;
	if (snprintf(path, sizeof(path), "%s/partition", real) < (int)sizeof(path) &&
	    !access(path, F_OK)) {
		slash = strrchr(real, '/');
		*slash = '\0';
	}
	if (depth < MAX_STACK)
		rotates = slaves_rotate(real, depth);
	if (rotates < 0)
		rotates = flag_is_set(real);
	free(real);
	return rotates;
}

bool device_rotates(dev_t dev)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/dev/block/%u:%u", device_sysfs,
		     major(dev), minor(dev)) >= (int)sizeof(path))
		return false;
	return folder_rotates(path, 0);
}

/*
 * A line of mountinfo begins with the mount ID; the source is the second word
 * after " - ".
 */
static bool source_of_line(const char *line, unsigned long long number, char source[PATH_MAX])
{
	const char *dash = strstr(line, " - ");
	unsigned long long found;

	return dash && sscanf(line, "%llu", &found) == 1 && found == number &&
	       sscanf(dash, " - %*s %4095s", source) == 1;
}

/*
 * st_dev of btrfs is not the number of a device; the mount has the device, or
 * one of several.
 */
static dev_t device_of_mount(int fd)
{
	char *line = NULL, source[PATH_MAX];
	struct statx stx;
	struct stat st;
	size_t size = 0;
	dev_t dev = 0;
	FILE *mounts;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) ||
	    !(stx.stx_mask & STATX_MNT_ID))
		return 0;
	mounts = fopen("/proc/self/mountinfo", "re");
	if (!mounts)
		return 0;
	while (!dev && getline(&line, &size, mounts) > 0)
		if (source_of_line(line, stx.stx_mnt_id, source) &&
		    !stat(source, &st) && S_ISBLK(st.st_mode))
			dev = st.st_rdev;
	free(line);
	fclose(mounts);
	return dev;
}

bool device_gains(int fd, dev_t dev)
{
	if (!inodes_follow_disk(fd))
		return false;
	if (!major(dev))
		dev = device_of_mount(fd);
	return dev && device_rotates(dev);
}
