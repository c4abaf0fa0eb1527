/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_LIFETIME_H
#define MOUNT_LIFETIME_H

/* How long the kernel may keep what it is given, in seconds: until it is told to drop it
 * (mount/notifier.h), or not at all. Pure code, any thread.
 *
 * Listings are kept everywhere. What a copy is called in its group's folder changes when any
 * directory above it is renamed, which nobody is told of each file below: all listings of such
 * folders are dropped then, and names there are asked for each time; so is all that can be read in
 * .twinfs/. Names in by-size/ say which rank a group has, which any change may move: they are asked
 * for each time, too.
 *
 * Of a mount that is shared nothing is kept: the kernel would give to one user what it was given
 * for another, without asking.
 */

#include <stdbool.h>
#include <stdint.h>

#include "view/node.h"

/* Only a notice ends the truth of an answer; the hour is so that the kernel asks again some day. */
#define LIFETIME_LONG 3600.0

/* Of the names in a directory, also of those that are not there. */
static inline double lifetime_of_names(uint64_t parent, bool shared)
{
	if (shared)
		return 0.0;
	if (node_kind(parent) == NODE_GROUP || node_is_ranked(parent) || parent == FIXED_TWINFS)
		return 0.0;
	return LIFETIME_LONG;
}

static inline double lifetime_of_attributes(uint64_t node, bool shared)
{
	if (shared)
		return 0.0;
	return node_kind(node) == NODE_FIXED && node >= FIXED_FILES ? 0.0 : LIFETIME_LONG;
}

#endif
