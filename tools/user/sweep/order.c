// SPDX-License-Identifier: GPL-2.0
/*
 * C-SCAN: the head moves upwards, serves items in its path, and starts again at
 * the lowest.  Items found below the head belong to the next sweep, so the order
 * is that of (sweep, device, key), kept in a heap.  As long as items arrive in
 * order, as from readdir without sorting, it is a list served from its beginning;
 * a sorted list is also a heap.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "order.h"

#define FIRST_CAPACITY 64

static bool comes_before(const struct item *a, const struct item *b)
{
	if (a->sweep != b->sweep)
		return a->sweep < b->sweep;
	if (a->device != b->device)
		return a->device < b->device;
	if (a->key != b->key)
		return a->key < b->key;
	if (a->by_name && b->by_name)
		return strcmp(a->name, b->name) < 0;
	return a->sequence < b->sequence;
}

static bool is_below_head(const struct queue *queue, const struct item *item)
{
	if (item->device != queue->head_device)
		return item->device < queue->head_device;
	return item->key < queue->head_key;
}

static void close_up(struct queue *queue)
{
	if (queue->served)
		memmove(queue->items, queue->items + queue->served, queue->count * sizeof(*queue->items));
	queue->served = 0;
}

static bool make_room(struct queue *queue)
{
	size_t capacity = queue->capacity + queue->capacity / 2;
	struct item **items;

	if (queue->served + queue->count < queue->capacity)
		return true;
	/* only if half of it or more is free, so that each item is moved once on average */
	if (queue->served > queue->count) {
		close_up(queue);
		return true;
	}
	if (capacity < FIRST_CAPACITY)
		capacity = FIRST_CAPACITY;
	items = reallocarray(queue->items, capacity, sizeof(*items));
	if (!items)
		return false;
	queue->items = items;
	queue->capacity = capacity;
	return true;
}

/* Insert @item into the heap, whose last place is free. */
static void sift_up(struct queue *queue, struct item *item)
{
	size_t at = queue->count - 1, above;

	for (; at; at = above) {
		above = (at - 1) / 2;
		if (!comes_before(item, queue->items[above]))
			break;
		queue->items[at] = queue->items[above];
	}
	queue->items[at] = item;
}

bool queue_push(struct queue *queue, struct item *item)
{
	size_t end;

	if (!make_room(queue))
		return false;
	item->sweep = queue->head_sweep + is_below_head(queue, item);
	end = queue->served + queue->count++;
	if (queue->count == 1)
		queue->is_list = true;
	else if (queue->is_list)
		queue->is_list = !comes_before(item, queue->items[end - 1]);
	if (queue->is_list) {
		queue->items[end] = item;
	} else {
		close_up(queue);
		sift_up(queue, item);
	}
	return true;
}

/* Put @item into the free place at the top. */
static void sift_down(struct queue *queue, struct item *item)
{
	struct item **items = queue->items;
	size_t at = 0, below;

	while ((below = 2 * at + 1) < queue->count) {
		if (below + 1 < queue->count &&
		    comes_before(items[below + 1], items[below]))
			below++;
		if (!comes_before(items[below], item))
			break;
		items[at] = items[below];
		at = below;
	}
	items[at] = item;
}

struct item *queue_pop(struct queue *queue)
{
	struct item *first;

	if (!queue->count)
		return NULL;
	first = queue->items[queue->served];
	queue->count--;
	if (!queue->count)
		queue->served = 0;
	else if (queue->is_list)
		queue->served++;
	else
		sift_down(queue, queue->items[queue->count]);
	queue->head_sweep = first->sweep;
	queue->head_device = first->device;
	queue->head_key = first->key;
	return first;
}

void queue_rewind(struct queue *queue)
{
	queue->head_sweep = 0;
	queue->head_device = 0;
	queue->head_key = 0;
}

size_t queue_bytes(const struct queue *queue)
{
	return queue->capacity * sizeof(*queue->items);
}

void queue_free(struct queue *queue)
{
	free(queue->items);
	queue->items = NULL;
	queue->capacity = 0;
	queue->served = 0;
}
