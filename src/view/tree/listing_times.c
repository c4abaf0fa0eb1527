/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "view/tree/listing_times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/clock.h"

struct listing_time {
	uint64_t node;
	struct timespec time;
	UT_hash_handle hh;
};

void listing_times_init(struct listing_times *times)
{
	*times = (struct listing_times){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void listing_times_deinit(struct listing_times *times)
{
	struct listing_time *entry, *next;

	HASH_ITER(hh, times->table, entry, next)
	{
		HASH_DEL(times->table, entry);
		free(entry);
	}
	pthread_mutex_destroy(&times->lock);
}

static struct listing_time *find_or_add(struct listing_times *times, uint64_t node)
{
	struct listing_time *entry;

	HASH_FIND(hh, times->table, &node, sizeof(node), entry);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->node = node;
	HASH_ADD(hh, times->table, node, sizeof(entry->node), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	return entry;
}

int listing_times_set(struct listing_times *times, uint64_t node, struct timespec time)
{
	struct listing_time *entry;

	pthread_mutex_lock(&times->lock);
	entry = find_or_add(times, node);
	if (entry)
		entry->time = time;
	pthread_mutex_unlock(&times->lock);
	return entry ? 0 : -ENOMEM;
}

void listing_times_renew(struct listing_times *times, uint64_t node, struct timespec time)
{
	struct listing_time *entry;

	pthread_mutex_lock(&times->lock);
	HASH_FIND(hh, times->table, &node, sizeof(node), entry);
	if (entry)
		entry->time = time;
	pthread_mutex_unlock(&times->lock);
}

struct timespec listing_times_latest(struct listing_times *times, uint64_t node,
				     struct timespec time)
{
	struct listing_time *entry;

	pthread_mutex_lock(&times->lock);
	HASH_FIND(hh, times->table, &node, sizeof(node), entry);
	if (entry && clock_is_earlier(time, entry->time))
		time = entry->time;
	pthread_mutex_unlock(&times->lock);
	return time;
}
