/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_LISTED_GROUPS_H
#define MOUNT_LISTED_GROUPS_H

/* The folders of groups whose listings the kernel can have cached. The rename of a directory
 * changes names in such folders without an event for each name. The notifier then takes all folders
 * from this list and invalidates their listings. A folder takes eight bytes here; the kernel's
 * inode and page cost more. Any thread.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct listed_groups {
	pthread_mutex_t lock;
	uint64_t *nodes; /* can contain duplicates */
	size_t count, capacity;
};

void listed_groups_init(struct listed_groups *listed);
void listed_groups_deinit(struct listed_groups *listed);

/* Records a folder. Must be called before the view is queried for the listing. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int listed_groups_add(struct listed_groups *listed, uint64_t node);

/* Removes all folders and returns their number, without duplicates. The caller frees *nodes by
 * free(3). */
size_t listed_groups_take(struct listed_groups *listed, uint64_t **nodes);

#endif
