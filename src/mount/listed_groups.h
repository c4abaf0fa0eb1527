/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_LISTED_GROUPS_H
#define MOUNT_LISTED_GROUPS_H

/* Which groups' folders were listed, so that these listings can be dropped when the names in them
 * change all at once. Eight bytes for each folder that was listed since then; the kernel has its
 * inode and a page. Any thread.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct listed_groups {
	pthread_mutex_t lock;
	uint64_t *nodes; /* each at least once */
	size_t count, capacity;
};

MUST_CHECK int listed_groups_init(struct listed_groups *listed);
void listed_groups_deinit(struct listed_groups *listed);

/* Notes a folder, before the view is asked for what is handed out. 0 or -ENOMEM. */
MUST_CHECK int listed_groups_add(struct listed_groups *listed, uint64_t node);

/* Takes all out, each once; *nodes is the caller's, freed with free(3). Returns how many. */
size_t listed_groups_take(struct listed_groups *listed, uint64_t **nodes);

#endif
