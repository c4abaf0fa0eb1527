/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_SOURCE_STATE_H
#define VIEW_FOLLOW_SOURCE_STATE_H

/* How each source is followed, and whether its root is still there. Fields that are not atomic are
 * constant once threads run. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/source.h"
#include "view/follow/fanotify_group.h"
#include "view/follow/watch.h"

enum follower_mode {
	/* for each source: inotify if it reports all changes, else poll; fanotify if inotify has
	 * too few watches */
	FOLLOW_AUTO,
	FOLLOW_INOTIFY, /* events of a watch for each directory */
	FOLLOW_FANOTIFY, /* events of whole file systems */
	FOLLOW_POLL, /* walks at intervals */
	FOLLOW_NONE, /* walks only for tickets and requests */
};

struct source_state {
	bool polled; /* the source has no watches */
	/* number of directories that could not be watched since the last walk began */
	_Atomic uint64_t unwatched;
	atomic_bool needs_walk; /* events did not report a change in full */
	/* the same, and the poll in progress (polling.h) passes all directories of the source */
	atomic_bool is_walked_by_poll;
	/* The source is in the poll in progress (polling.h). Set only while no walk runs. */
	bool is_polled_now;
	/* The directories that could not be watched since this poll began: in the last portion, and
	 * before. At the end of the poll, this replaces unwatched. */
	_Atomic uint64_t unwatched_last;
	uint64_t unwatched_before;
	/* used only by the follower: a walk of the source is requested or running; wall-clock time
	 * of the end of the last one, in seconds */
	bool is_walked;
	int64_t walked_s;
};

/* Creates one state for each source. The caller frees the list with free(3). Returns 0 or
 * -ENOMEM. */
MUST_CHECK int source_states_new(struct source_state **list, const struct sources *sources,
				 enum follower_mode mode);

/* Returns the number of event queues to create. The number of a source is that of its queue, so
 * this is 1 + the highest number of a source that is not polled, or 0. */
unsigned int source_states_queues(const struct source_state *list, size_t count);

/* Makes all sources polled. For a process that cannot create event queues. */
void source_states_poll_all(struct source_state *list, size_t count);

/* Requires a walk of a source, and of all sources that can have links to its files: those on the
 * same file system, or all if walks cross mounts. */
void source_states_require_walk(struct source_state *list, const struct sources *sources,
				uint32_t source);

/* Requires a walk of all sources. */
void source_states_require_walk_all(struct source_state *list, size_t count);

/* Returns whether a watched source needs a walk, as events did not report a change in full, and the
 * walk has not ended. Always false for a polled source, which is walked anyway. */
bool source_state_needs_walk(struct source_state *states);

/* For the beginning of a poll: notes whether it passes all directories of a watched source. A need
 * that the poll before has not met stays. Returns whether the poll passes all directories. */
bool source_state_begin_walk(struct source_state *states, bool begins);

/* Returns whether source_state_needs_walk() for any source. */
bool source_states_need_walk(struct source_state *list, size_t count);

/* Returns whether events report only a part of the changes, so that walks have to find the rest:
 * the source is polled, or some of its directories are not watched. */
bool source_state_is_walked(struct source_state *states);

/* Returns whether events report all writes to the files of a source, and all removals of their
 * names: no source with possible links to its files is walked or missing. */
bool source_states_report_writes(struct source_state *list, const struct sources *sources,
				 uint32_t source);

/* Returns whether the index possibly has a name twice: two sources have one file system by
 * different mounts, so one can be inside the other, or other mounts are entered. */
bool sources_may_overlap(const struct sources *sources);

/* Notes that names were possibly moved during a walk: any source that is walked can lack them. */
void source_states_note_moved(struct source_state *list, const struct sources *sources);

/* Returns whether a source that is not missing can lack names that were moved. */
bool source_states_lack_moved(const struct sources *sources);

/* Notes that the requested walks have ended, except of missing sources and of those in a poll.
 * Returns the wall-clock time in seconds since which each source was walked, or 0 if one never was.
 */
int64_t source_states_note_walked(struct source_state *list, const struct sources *sources,
				  int64_t now_s);

/* Returns the number of directories without a watch in all sources that are not polled. */
uint64_t source_states_unwatched(struct source_state *list, size_t count);

/* ---- fanotify groups ----------------------------------------------------------------- */

/* The fanotify groups of the sources. The daemon opens them before it drops its rights. */

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

/* ---- source roots -------------------------------------------------------------------- */

/* Checks of the source roots: whether each is still the directory at its path. One thread. */

/* Examines the path of each source. A source that was removed, moved, unmounted or hidden by
 * another mount is marked missing, and its index entries stay unchanged. If the path leads to a new
 * directory on the same file system, this directory replaces the old root. But a new directory that
 * is empty, while the index has names in the source, counts as missing. So does a root that cannot
 * be listed because its device does not work. The root of a missing source whose mount was detached
 * is closed, so that its disk is not in use any more.
 *
 * watch	NULL if all sources are polled
 *
 * Returns a mask: bit n is set if source n, at most 63, must be walked again. Further sources are
 * polled. Logs each source that becomes missing or is back. */
uint64_t source_roots_check(const struct sources *sources, struct watch *watch);

#endif
