/* SPDX-License-Identifier: GPL-2.0 */
/* Block devices in sysfs. */
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

/* The default delay table of a device, ms. */
extern const unsigned int default_delays_ms[IOPRIO_BW_NR_DELAYS];

/*
 * Find the disk of @text: sda, sda1, /dev/sda, or a file or directory on it.
 * Returns 0, or -1 with the reason in @why.
 */
int disk_find(const char *text, char name[DISK_NAME], char why[LINE_SIZE]);

/* The name of the disk with the numbers "8:16", or the numbers if sysfs has no such disk. */
void disk_of_numbers(const char *numbers, char name[DISK_NAME]);

/* List all disks whose active scheduler is cfq. */
void disks_with_cfq(struct disk_list *list);

/* List the devices that @name is directly stacked on, if any. */
void disk_slaves(const char *name, struct disk_list *list);

/* List the disks at the bottom of @name: @name itself if it is not stacked. */
void disk_bottoms(const char *name, struct disk_list *list);

void disk_list_free(struct disk_list *list);

/* Read a file of the disk, such as "queue/rotational".  Returns its length or -errno. */
ssize_t disk_read(const char *name, const char *file, char *buffer, size_t size);

/* Read a file with a number.  Returns false if there is none. */
bool disk_read_number(const char *name, const char *file, uint64_t *value);

/* Get the active scheduler ("none" for devices without a queue).  Returns 0 or -errno. */
int disk_scheduler(const char *name, char *active, size_t size);

/* Whether queue/scheduler of the disk lists @scheduler. */
bool disk_offers(const char *name, const char *scheduler);

/* Read the delay table.  Returns 0, -errno, or -EBADMSG if it does not hold eight numbers. */
int disk_delays_ms(const char *name, unsigned int delays_ms[IOPRIO_BW_NR_DELAYS]);

/*
 * Get the delay table that all devices with cfq share, or the default one if
 * there are none.  Returns 0, or -1 if they differ.  @name becomes the first
 * device with a table other than the default one, or empty.
 */
int common_delays_ms(unsigned int delays_ms[IOPRIO_BW_NR_DELAYS], char name[DISK_NAME]);

bool same_delays(const unsigned int *a, const unsigned int *b);

/* "25 50 100 ...", for messages. */
void format_delays(char text[LINE_SIZE], const unsigned int *delays_ms);

#endif
