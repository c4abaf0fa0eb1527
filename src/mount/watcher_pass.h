/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_PASS_H
#define MOUNT_WATCHER_PASS_H

/* One pass of the watcher thread: finds the watched folders of the view, and raises events for
 * changes that their watchers do not know. For the watcher thread only. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "mount/mounter.h"
#include "mount/watcher_names.h"
#include "mount/watcher_thread.h"

/* A folder with an inotify watch. */
struct watched_folder {
	uint64_t node; /* equal to the inode number, as folders have no versions */
	atomic_bool changed; /* changed since it was listed */
	bool listed; /* names is valid */
	bool missing; /* not in the view at the last pass; it can come back */
	struct watcher_names names; /* the names that the watchers of the folder know */
	/* until this time, recent names with a number above last_recent count as unknown to the
	 * watchers */
	uint64_t grace_until_ns;
	uint64_t last_recent;
	struct bytes path; /* last known path in the view */
	uint64_t parent; /* node of the last known parent folder */
	UT_hash_handle hh;
};

struct watcher_pass {
	struct session *session;
	struct watcher_thread *watcher;
	struct mounter_watchers watchers; /* threads whose watches are searched */
	bool finds_watched; /* search for watches before the known folders are updated */
	uint64_t noted_before; /* number of the last recent name when the pass began */
	/* Recent names at the time when the watches were known. The texts are in the arena of the
	 * watcher thread, or in recent_memory after a search of all processes. */
	struct recent_name recent[RECENT_NAMES_MAX];
	const char *unknown[RECENT_NAMES_MAX]; /* texts of recent names in one folder */
	size_t recent_count;
	struct arena recent_memory;

	/* set by watcher_pass.c */
	uint64_t found_ns; /* time at which the watches were known */
	struct watched_folder *folder; /* folder being updated */
	bool missing; /* the folder is no longer in the view */
	unsigned int events; /* events raised in the folder */
	bool unfinished; /* some differences are left for the next pass */
	int failure; /* -errno that ends the thread */
};

/* Runs a pass. Returns 0, -ECANCELED if the thread must stop, or another -errno if no events can be
 * raised any more. */
MUST_CHECK int watcher_pass_run(struct watcher_pass *pass);

/* Removes all watched folders. */
void watcher_pass_clear(struct watcher_thread *watcher);

#endif
