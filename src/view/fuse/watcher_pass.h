/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_WATCHER_PASS_H
#define VIEW_FUSE_WATCHER_PASS_H

/* One pass of the watcher thread: finds the watched folders of the view, lists those that changed,
 * and raises events for changes that their watchers do not know. watcher_pass.c finds the changes,
 * watcher_raise.c raises their events. For the watcher thread only, except where noted. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "view/fuse/mounter.h"
#include "view/fuse/watcher_event.h"
#include "view/fuse/watcher_thread.h"
#include "view/tree/view.h"

struct session;

/* A folder with an inotify watch. */
struct watched_folder {
	uint64_t node;
	atomic_bool changed; /* changed since it was listed */
	bool listed; /* names is valid */
	/* until this time, the folder is updated without a known watch, as it is new; 0: it was
	 * found to be watched */
	uint64_t expected_until_ns;
	bool missing; /* its removal was reported; it can come back */
	uint64_t gone_ns; /* time since which it is not in the view and held, or 0 */
	struct watcher_names names; /* the names that the watchers of the folder know */
	/* until this time, recent names with a number above last_recent count as unknown to the
	 * watchers, unless they were reported since the folder was listed */
	uint64_t grace_until_ns;
	uint64_t last_recent;
	struct watcher_names reported; /* until then */
	enum unserved_reason unserved; /* why it does not get all events */
	bool said; /* the reason was logged */
	struct bytes path; /* last known path in the view */
	uint64_t parent; /* node of the last known parent folder */
	UT_hash_handle hh;
};

/* A difference between what the watchers of a folder know and the view. */
struct change {
	struct watched_folder *folder;
	enum watcher_event_kind kind;
	/* Order of the events of a pass. A folder that moved leaves its old place first, because
	 * its watches stay. Otherwise a new name precedes the one that it replaces, and the names
	 * in a removed folder precede that of the folder. */
	enum {
		PHASE_MOVED,
		PHASE_ADDED,
		PHASE_REMOVED, /* subfolders first */
		PHASE_REPLACED, /* names that were removed before */
	} phase;
	/* The text is in the arena of the pass. The node is 0 unless it is gone. */
	struct listed_name name;
	bool failed, raised; /* the event could not be raised, or was, with that of its partner */
	/* node that the name refers or referred to, if it is possibly moved, or 0 */
	uint64_t moved;
	struct change *partner; /* the other name of a moved node, or NULL */
};

struct watcher_pass {
	struct session *session;
	struct watcher_thread *watcher;
	struct mounter_watchers watchers; /* threads whose watches are searched */
	bool finds_watched; /* search for watches before the known folders are updated */
	uint64_t noted_before; /* number of the last recent name when the pass began */
	/* Recent names at the time when the watches were known. The texts are in the arena of the
	 * watcher thread, or in this one after a search of all processes. */
	struct recent_names recent;
	bool recent_sorted; /* by folder and number */
	bool recent_lost; /* some recent names are missing */
	size_t said; /* number of folders whose reason was logged */
	int search_failure; /* -ENOMEM if some watches were not found, or 0 */
	uint64_t last_recent; /* number of the last one */

	/* set by the pass */
	uint64_t begun_ns;
	uint64_t found_ns; /* time at which the watches were known */
	uint64_t listing_ns; /* time for which folders were listed */
	size_t names; /* stored names of all folders but the one being updated */
	struct watched_folder *folder; /* folder being updated */
	bool missing; /* the folder is no longer in the view */
	bool holds; /* folders that have just gone are held */
	struct watcher_names held; /* names in the folder, of subfolders that are held */
	uint64_t held_until_ns; /* next time at which a held folder has its events */
	bool in_grace; /* names that are reported are recorded */
	struct change *changes;
	size_t count, capacity; /* of changes */
	struct arena texts; /* of changes */
	struct bytes created; /* nodes (uint64_t) of created folders */
	bool folder_ended; /* watches of a folder ended */
	bool expects; /* new folders were listed */
	bool repeats; /* events that failed are raised again by the next pass */
	unsigned int repetitions; /* passes in a row that repeated events */
	int failure; /* -errno that ends the thread */
};

/* Returns the last known path of a folder; "" is the root. */
static inline const char *watched_folder_path(struct watched_folder *folder)
{
	const char *path = bytes_text(&folder->path);

	return path ? path : "";
}

/* Runs a pass. Returns 0, -ECANCELED if the thread must stop, or another -errno if no events can be
 * raised any more. */
MUST_CHECK int watcher_pass_run(struct watcher_pass *pass);

/* Frees what a pass allocated, but not the watched folders. */
void watcher_pass_free(struct watcher_pass *pass);

/* Removes all watched folders. */
void watcher_pass_clear(struct watcher_thread *watcher);

/* ---- for any thread that holds the watcher's lock ------------------------------------ */

/* Records that a folder changed, if it is watched. */
void watched_folder_note(struct watcher_thread *watcher, uint64_t node);

/* Returns false if there is no place or no memory for it. The name is then not reported to new
 * watchers. */
bool recent_names_add(struct recent_names *recent, struct recent_name added);

void recent_names_free(struct recent_names *recent);

/* ---- raising events (watcher_raise.c) ------------------------------------------------ */

/* Sorts the changes of the pass and raises their events. Those that fail are found again by the
 * next pass. */
void watcher_pass_raise_changes(struct watcher_pass *pass);

/* Raises the events of files that are watched themselves. To be called after the events of folders,
 * which can be those of files as well. */
void watcher_pass_raise_files(struct watcher_pass *pass);

#endif
