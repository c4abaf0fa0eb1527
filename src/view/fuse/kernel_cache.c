/* SPDX-License-Identifier: MIT */
#include "view/fuse/kernel_cache.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/sort.h"

void listed_groups_init(struct listed_groups *listed)
{
	*listed = (struct listed_groups){.nodes = NULL};
	pthread_mutex_init(&listed->lock, NULL);
}

void listed_groups_deinit(struct listed_groups *listed)
{
	free(listed->nodes);
	pthread_mutex_destroy(&listed->lock);
}

/* Makes room for one more. Removes duplicates. If at least half of the list remains, enlarges the
 * list, so that searches for duplicates are rare. */
static int make_room(struct listed_groups *listed)
{
	listed->count = numbers_sort_once(listed->nodes, listed->count);
	if (listed->count < listed->capacity / 2)
		return 0;
	return array_reserve(&listed->nodes, &listed->capacity, listed->capacity + 1,
			     sizeof(*listed->nodes));
}

int listed_groups_add(struct listed_groups *listed, uint64_t node)
{
	int r = 0;

	pthread_mutex_lock(&listed->lock);
	/* a listing takes at least two requests, usually in succession */
	if (listed->count == 0 || listed->nodes[listed->count - 1] != node) {
		if (listed->count == listed->capacity)
			r = make_room(listed);
		if (r == 0)
			listed->nodes[listed->count++] = node;
	}
	pthread_mutex_unlock(&listed->lock);
	return r;
}

size_t listed_groups_take(struct listed_groups *listed, uint64_t **nodes)
{
	size_t count;

	pthread_mutex_lock(&listed->lock);
	listed->count = numbers_sort_once(listed->nodes, listed->count);
	count = listed->count;
	*nodes = TAKE(listed->nodes);
	listed->count = listed->capacity = 0;
	pthread_mutex_unlock(&listed->lock);
	return count;
}
