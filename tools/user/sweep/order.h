/* SPDX-License-Identifier: GPL-2.0 */
/* Items that wait to be read, and a queue that serves them in C-SCAN order. */
#ifndef PLATTER_ORDER_H
#define PLATTER_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct directory;

/**
 * struct item - a directory entry in a queue
 * @parent: its directory, of which it holds a reference; NULL for an operand
 * @key: sort key: inode number, position on the device, or number in the order
 *	of readdir
 * @ino: inode number
 * @sequence: number in the order of readdir, for items with the same key
 * @sweep: the sweep in which it is served
 * @device: index of the device; devices are swept one after the other
 * @type: a DT_ constant
 * @by_name: sort by name among items with the same key
 * @name: its name in @parent; for an operand, the path
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
 * @items: a heap, or a sorted list
 * @is_list: it is a list, and @served of its items are served
 * @head_sweep: sweep of the last item served; the next two fields are of it too
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

/* Add an item.  Returns false if out of memory. */
bool queue_push(struct queue *queue, struct item *item);

/* The next item at or above the head, else the lowest; NULL if the queue is empty. */
struct item *queue_pop(struct queue *queue);

/* Move the head of an empty queue to the lowest position. */
void queue_rewind(struct queue *queue);

/* Memory of the queue itself, in bytes. */
size_t queue_bytes(const struct queue *queue);

/* Free the memory of an empty queue. */
void queue_free(struct queue *queue);

#endif
