/* SPDX-License-Identifier: GPL-2.0 */
/* What is to be looked at, and a queue that serves it in C-SCAN order. */
#ifndef PLATTER_ORDER_H
#define PLATTER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct directory;

/**
 * struct item - an entry of a directory that waits
 * @parent: its directory, of which it holds a reference; NULL: an operand
 * @key: by what it is sorted: an inode number, a place on the device, a number
 *	in the order of readdir
 * @ino: inode number
 * @sequence: in the order of readdir; what has the same key is served by it
 * @sweep: the sweep in which it is served
 * @device: devices are swept one after the other
 * @type: a DT_ constant
 * @by_name: it is sorted by name among those of the same key
 * @name: its name in @parent; of an operand, the path
 */
struct item {
	struct directory *parent;
	uint64_t key;
	uint64_t ino;
	uint64_t sequence;
	uint32_t sweep;
	uint32_t device;
	unsigned char type;
	bool by_name;
	char name[];
};

/**
 * struct queue - items in C-SCAN order
 * @items: a heap, or a list in order
 * @is_list: it is a list, of which so many are @served
 * @head_sweep: of the item that was served last, with the two that follow
 */
struct queue {
	struct item **items;
	bool is_list;
	size_t served;
	size_t count;
	size_t capacity;
	uint32_t head_sweep;
	uint32_t head_device;
	uint64_t head_key;
};

/* Returns false if there is no memory. */
bool queue_push(struct queue *queue, struct item *item);

/* The next item at or above the head, else the lowest; NULL: none is left. */
struct item *queue_pop(struct queue *queue);

/* Move the head of an empty queue to the lowest place. */
void queue_rewind(struct queue *queue);

/* Bytes that the queue itself takes. */
size_t queue_bytes(const struct queue *queue);

/* Free what an empty queue takes. */
void queue_free(struct queue *queue);

#endif
