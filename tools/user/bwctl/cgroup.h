/* SPDX-License-Identifier: GPL-2.0 */
/* Control groups (version 2), as cgroupfs shows them. */
#ifndef BWCTL_CGROUP_H
#define BWCTL_CGROUP_H

#include <stdint.h>

#include "util.h"

/*
 * The folder of the group that @text means: a path in cgroupfs, with or without what
 * it is mounted on, or the name of a group or unit that is there once (recorder,
 * recorder.service).  0, or -1 with the reason in @why.
 */
int group_find(const char *text, char folder[PATH_SIZE], char why[LINE_SIZE]);

/* The path, below the root, of the group that the kernel calls @id; false: there is none. */
bool group_of_id(uint64_t id, char path[PATH_SIZE]);

/* The path of a folder below the root, for messages. */
const char *group_path(const char *folder);

/* Call for each group, the root first, until that returns something: what it returned. */
int group_each(int (*call_for)(const char *folder));

/* Rates that the kernel takes in io.bw and io.bw.model; see cgroup-v2.rst. */
#define GROUP_BPS_MIN	4096ull
#define GROUP_BPS_MAX	(1ull << 40)

/* A group has few disks. */
#define GROUP_FILE_SIZE	65536

/* Read a file of the group: 0 or -errno, with no text. */
int group_read(const char *folder, const char *file, char text[GROUP_FILE_SIZE]);

/* The line of @text that begins with the device's number, alone in @line; false: none. */
bool line_of_disk(const char *text, const char *number, char line[LINE_SIZE]);

/* The number behind "KEY=" in a line; false: it is not there. */
bool line_number(const char *line, const char *key, int64_t *value);

/* Write to a file of the group: 0 or -errno. */
int group_write(const char *folder, const char *file, const char *text);

#endif
