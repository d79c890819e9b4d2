/* SPDX-License-Identifier: GPL-2.0 */
/* Block devices, as sysfs describes them. */
#ifndef BWCTL_DEVICE_H
#define BWCTL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "ioprio.h"
#include "util.h"

#define DISK_NAME 256	/* NAME_MAX and its NUL */

/* Names of disks, each once, sorted. */
struct disk_list {
	char (*names)[DISK_NAME];
	size_t count;
};

/* The table that a device starts with, ms. */
extern const unsigned int default_delays_ms[IOPRIO_BW_NR_DELAYS];

/*
 * The disk that @text means: sda, sda1, /dev/sda, or a file or folder on it.
 * 0, or -1 with the reason in @why.
 */
int disk_find(const char *text, char name[DISK_NAME], char why[LINE_SIZE]);

/* The disk that the kernel calls "8:16"; these numbers themselves if sysfs has none. */
void disk_of_numbers(const char *numbers, char name[DISK_NAME]);

/* All disks whose active scheduler is cfq; an empty list if there are none. */
void disks_with_cfq(struct disk_list *list);

/* What @name is stacked on directly; empty for a disk of its own. */
void disk_slaves(const char *name, struct disk_list *list);

/* The disks at the bottom of @name: @name itself when it is not stacked. */
void disk_bottoms(const char *name, struct disk_list *list);

void disk_list_free(struct disk_list *list);

/* Read a file of the disk, such as "queue/rotational": its length, or -errno. */
ssize_t disk_read(const char *name, const char *file, char *buffer, size_t size);

/* Read a number of the disk: false when there is none. */
bool disk_read_number(const char *name, const char *file, uint64_t *value);

/* The active scheduler ("none" for devices that have no queue). 0 or -errno. */
int disk_scheduler(const char *name, char *active, size_t size);

/* Whether queue/scheduler of the disk offers @scheduler. */
bool disk_offers(const char *name, const char *scheduler);

/* The table of delays: 0, -errno, or -EBADMSG when it is not eight numbers. */
int disk_delays_ms(const char *name, unsigned int delays_ms[IOPRIO_BW_NR_DELAYS]);

/*
 * The table that all devices with cfq have, the default one if there are none:
 * 0, or -1 when they differ; then @name is one that has not the default.
 */
int common_delays_ms(unsigned int delays_ms[IOPRIO_BW_NR_DELAYS], char name[DISK_NAME]);

bool same_delays(const unsigned int *a, const unsigned int *b);

/* "25 50 100 ...", for messages. */
void format_delays(char text[LINE_SIZE], const unsigned int *delays_ms);

#endif
