/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_TIMEOUTS_H
#define MOUNT_TIMEOUTS_H

/* Entry and attribute timeouts, in seconds: how long the kernel may cache a reply, unless the
 * notifier invalidates it earlier (mount/notifier.h). Pure code, any thread.
 *
 * The kernel caches the listings of all directories. The name of a copy in its group's folder, in
 * dups/ or folders/, changes when any directory above the copy is renamed. Such a rename causes no
 * event for each file. Therefore the listings of all groups' folders are invalidated then, and
 * names in these folders are not cached (timeout 0). Files in .twinfs/ are not cached either. Names
 * in by-size/ and folders/ are not cached, as any change can move ranks.
 *
 * In a shared mount, listings are not cached and all timeouts are 0. With a cache, the kernel would
 * answer one user from the reply to another.
 */

#include <stdbool.h>
#include <stdint.h>

#include "view/node.h"

/* Replies are valid until they are invalidated. If an invalidation is missing because of a bug, the
 * hour limits the effect. */
#define TIMEOUT_LONG 3600.0

/* Entry timeout of names in a directory, and of names that do not exist there. */
static inline double entry_timeout_of(uint64_t parent, bool shared)
{
	if (shared)
		return 0.0;
	if (node_has_copies(parent) || node_is_ranked(parent) || parent == FIXED_TWINFS)
		return 0.0;
	return TIMEOUT_LONG;
}

/* Attribute timeout of a node. */
static inline double attr_timeout_of(uint64_t node, bool shared)
{
	if (shared)
		return 0.0;
	return node_kind(node) == NODE_FIXED && node >= FIXED_FILES ? 0.0 : TIMEOUT_LONG;
}

#endif
