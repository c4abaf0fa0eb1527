/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_WATCHER_PASS_H
#define MOUNT_WATCHER_PASS_H

/* One look of the refresher at what programs watch in the view: finds out what that is, and tells
 * what is different there from what they know. For its thread. */

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

/* A folder that somebody watches. */
struct watched_folder {
	uint64_t node; /* the inode too: folders have one version */
	bool changed; /* under the lock: since it was listed */
	bool listed; /* names is what its watchers know, */
	uint64_t sure_ns; /* but for what the notifier names until then, */
	uint64_t told; /* and which has a greater number */
	struct watcher_names names;
	struct bytes path; /* in the view, where it was last */
	uint64_t above; /* the node of the folder that it is, or was, in */
	UT_hash_handle hh;
};

struct watcher_pass {
	struct session *session;
	struct watcher_thread *watcher;
	struct mounter_watchers watchers; /* who is looked for */
	bool finds; /* else at what is known to be watched */
	uint64_t noted_before; /* the number of the last name that was noted when it began */
	/* what of names was noted when it was known who watches: in memory of the refresher or,
	 * where anybody was looked for, here */
	struct recent_name recent[RECENT_NAMES_MAX];
	size_t recent_count;
	struct arena recent_memory;

	/* for look.c */
	uint64_t found_ns; /* when it was known who watches */
	struct watched_folder *folder; /* that is told of, */
	bool gone; /* is it in the view no more? */
	unsigned int events; /* told of it */
	bool unfinished; /* some differences are left for the next look */
	int failure; /* -errno that ends the thread */
};

/* Looks, and sets found_ns. 0, or -errno: it cannot be done any more; -ECANCELED: the refresher is
 * to stop. */
MUST_CHECK int watcher_pass_run(struct watcher_pass *pass);

/* Nothing is watched any more. */
void watcher_pass_forget(struct watcher_thread *watcher);

#endif
