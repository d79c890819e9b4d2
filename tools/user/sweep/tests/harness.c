// SPDX-License-Identifier: GPL-2.0
/*
 * Parts of the library, asked line by line:
 *   push DEVICE KEY, pop, rewind     the queue; pop answers "DEVICE KEY NUMBER"
 *   position PATH INO                where the data of a file is
 *   rotates SYSFS MAJOR MINOR        does a device rotate?
 *   gains SYSFS PATH MAJOR MINOR     does sorting gain there?
 *   text BYTES, size TEXT            amounts of bytes
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../device.h"
#include "../extent.h"
#include "../order.h"
#include "../size.h"

static struct queue queue;
static uint64_t sequence;

static void push(uint32_t device, uint64_t key)
{
	struct item *item = calloc(1, sizeof(*item) + 1);

	if (!item)
		exit(9);
	item->device = device;
	item->key = key;
	item->sequence = sequence++;
	if (!queue_push(&queue, item))
		exit(9);
}

static void pop(void)
{
	struct item *item = queue_pop(&queue);

	if (item)
		printf("%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", item->device, item->key,
		       item->sequence);
	else
		puts("none");
	free(item);
}

static void tell_size(const char *text)
{
	uint64_t bytes;

	if (size_of_text(text, &bytes))
		printf("%" PRIu64 "\n", bytes);
	else
		puts("none");
}

int main(void)
{
	char line[4096], sysfs[1024], path[1024], text[SIZE_TEXT];
	unsigned int a, b;
	uint64_t value;
	int fd;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "push %u %" SCNu64, &a, &value) == 2) {
			push(a, value);
		} else if (!strcmp(line, "pop")) {
			pop();
		} else if (!strcmp(line, "rewind")) {
			queue_rewind(&queue);
		} else if (sscanf(line, "position %1023s %" SCNu64, path, &value) == 2) {
			fd = open(path, O_RDONLY);
			value = data_position(fd, value);
			close(fd);
			printf("%" PRIu64 "\n", value);
		} else if (sscanf(line, "rotates %1023s %u %u", sysfs, &a, &b) == 3) {
			device_sysfs = sysfs;
			puts(device_rotates(makedev(a, b)) ? "yes" : "no");
		} else if (sscanf(line, "gains %1023s %1023s %u %u", sysfs, path, &a, &b) == 4) {
			device_sysfs = sysfs;
			fd = open(path, O_RDONLY);
			puts(device_gains(fd, makedev(a, b)) ? "yes" : "no");
			close(fd);
		} else if (sscanf(line, "text %" SCNu64, &value) == 1) {
			size_to_text(value, text);
			puts(text);
		} else if (!strncmp(line, "size ", 5)) {
			tell_size(line + 5);
		} else {
			return 8;
		}
	}
	while (queue.count)
		free(queue_pop(&queue));
	queue_free(&queue);
	return 0;
}
