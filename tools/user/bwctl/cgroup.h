/* SPDX-License-Identifier: GPL-2.0 */
/* Control groups (version 2) in cgroupfs. */
#ifndef BWCTL_CGROUP_H
#define BWCTL_CGROUP_H

#include <stdint.h>

#include "util.h"

/*
 * Find the folder of the group @text: a path in cgroupfs, with or without the mount
 * point, or the unique name of a group or unit (recorder, recorder.service).
 * Returns 0, or -1 with the reason in @why.
 */
int group_find(const char *text, char folder[PATH_SIZE], char why[LINE_SIZE]);

/* Find the path, below the root, of the group with the inode number @id. */
bool group_of_id(uint64_t id, char path[PATH_SIZE]);

/* The path of a folder relative to the root, for messages. */
const char *group_path(const char *folder);

/* Call @call_for for each group, the root first, until it returns nonzero; return that. */
int group_each(int (*call_for)(const char *folder));

/* Limits of the rates in io.bw and io.bw.model; see cgroup-v2.rst. */
#define GROUP_BPS_MIN	4096ull
#define GROUP_BPS_MAX	(1ull << 40)

/* Enough for a line for each of hundreds of disks. */
#define GROUP_FILE_SIZE	65536

/* Read a file of the group.  Returns 0, or -errno with an empty @text. */
int group_read(const char *folder, const char *file, char text[GROUP_FILE_SIZE]);

/* Copy the line of @text that begins with the device number to @line, if there is one. */
bool line_of_disk(const char *text, const char *number, char line[LINE_SIZE]);

/* Read the number after "KEY=" in a line.  Returns false if it is missing. */
bool line_number(const char *line, const char *key, int64_t *value);

/* Write to a file of the group.  Returns 0 or -errno. */
int group_write(const char *folder, const char *file, const char *text);

#endif
