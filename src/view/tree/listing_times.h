/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_LISTING_TIMES_H
#define VIEW_TREE_LISTING_TIMES_H

/* Times of changes to listings that do not change the directory in the source: a file in it, or
 * below it, became redundant or unique. The ctime of the directory in the view is at least this
 * time. Stored by node, for directories that were queried since the view was mounted. A directory
 * of a source has one node in uniques/ and one in redundant/. Any thread.
 */

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"

struct listing_times {
	pthread_mutex_t lock;
	struct listing_time *table; /* uthash, by node */
};

void listing_times_init(struct listing_times *times);
void listing_times_deinit(struct listing_times *times);

/* Stores the time of a change. Returns 0 or -ENOMEM. */
MUST_CHECK int listing_times_set(struct listing_times *times, uint64_t node, struct timespec time);

/* Called when a name in the directory was added or removed. If a time is stored, replaces it, as
 * the ctime of the directory in the source can be earlier: the kernel takes that ctime from the
 * last timer tick. */
void listing_times_renew(struct listing_times *times, uint64_t node, struct timespec time);

/* Returns the later one of time and the stored time of the directory. */
struct timespec listing_times_latest(struct listing_times *times, uint64_t node,
				     struct timespec time);

#endif
