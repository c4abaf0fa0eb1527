/* SPDX-License-Identifier: MIT */
#ifndef VIEW_LISTING_TIMES_H
#define VIEW_LISTING_TIMES_H

/* When the listing of a directory last changed in the view although that of the source's own did
 * not, because a file in it, or below it, became redundant or unique: its ctime in the view moves
 * with it. Kept by node (a directory of a source has one in uniques/ and one in redundant/), for
 * those that were looked at since the view was mounted. Any thread.
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

/* 0 or -ENOMEM. */
MUST_CHECK int listing_times_set(struct listing_times *times, uint64_t node, struct timespec time);

/* A name in the directory came or went: also where its own ctime, which is that of the last tick,
 * would be earlier than what was shown before. Nothing where nothing was set. */
void listing_times_renew(struct listing_times *times, uint64_t node, struct timespec time);

/* The later of time and that of the directory. */
struct timespec listing_times_latest(struct listing_times *times, uint64_t node,
				     struct timespec time);

#endif
