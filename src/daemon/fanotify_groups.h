/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_FANOTIFY_GROUPS_H
#define DAEMON_FANOTIFY_GROUPS_H

/* The fanotify groups of the sources. The daemon opens them before it drops its rights. */

#include "daemon/source_state.h"
#include "source/source.h"
#include "watch/fanotify_group.h"
#include "watch/watch.h"

/* One group for each source that can be watched: group n is of source n. */
struct fanotify_groups {
	struct fanotify_group list[WATCH_QUEUES_MAX];
};

/* Makes a struct in which no group is open. */
void fanotify_groups_init(struct fanotify_groups *groups);

/* Opens groups.
 *
 * mode		with FOLLOW_FANOTIFY, opens a group for every source, or fails. With FOLLOW_AUTO,
 *		opens groups where that is possible. Otherwise, opens none.
 *
 * Returns 0 or -errno, which is logged. */
MUST_CHECK int fanotify_groups_open(struct fanotify_groups *groups, const struct sources *sources,
				    enum follower_mode mode);

/* Closes the groups that watch_new() has not taken. Must be called after fanotify_groups_init(). */
void fanotify_groups_close(struct fanotify_groups *groups);

#endif
