/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_FOLLOWER_INTERNAL_H
#define DAEMON_FOLLOWER_INTERNAL_H

/* Declarations shared by follower.c and the other files follower_*.c. */

#include "daemon/backoff.h"
#include "daemon/follower.h"
#include "daemon/recheck_inbox.h"
#include "daemon/recheck_plan.h"
#include "daemon/rename_trust.h"
#include "daemon/source_state.h"
#include "daemon/ticket_worker.h"
#include "ingest/ingest.h"
#include "view/currency.h"
#include "watch/event_set.h"
#include "watch/watch.h"

struct follower {
	struct follower_settings settings;
	struct ingest_hooks hooks;
	struct ingest ingest; /* for rechecks */
	struct watch *watch; /* NULL: all sources are polled */
	struct source_state *sources; /* one for each source */
	struct recheck_inbox inbox;
	/* fields used only by the follower thread, and by the main thread before it */
	struct event_set dirty; /* names to recheck */
	struct rename_trust_state trust;
	/* monotonic times of the last walk of polled sources, walk of all sources, and tick */
	uint64_t polled_ns, rescanned_ns, ticked_ns;
	uint64_t next_walk_ns; /* earliest walk for missed changes, unless a ticket waits */
	uint64_t next_tick_ns; /* latest start of the next round */
	uint64_t resume_ns; /* earliest start of the next round, unless a ticket waits */
	bool purge; /* files have possibly lost their last name */
	bool purge_due; /* as soon as that is possible, the index forgets these files */
	/* a name was removed from the index since the walks of sources without events began, and
	 * not by these walks if they notice moves: it was possibly moved past them */
	atomic_bool lost_names;
	int64_t moved_ns; /* as in struct ingest_result, of the last walks of these sources */
	int problem; /* last reported problem: positive errno, or 0 */
	struct currency currency; /* written by several threads */
	uint64_t reported_unwatched; /* last reported number of directories without a watch */

	struct ticket_worker worker; /* its lock also guards all fields below */
	struct backoff failing; /* unreadable directories that are retried */
	struct event_set not_entered; /* mount points: no event reports their attributes */
	bool woken; /* a request or an event waits */
};

/* Returns the hooks, with the follower as context. The caller sets recheck_file. */
struct ingest_hooks follower_hooks(struct follower *follower);

/* Sets how far renames are trusted in the next round of rechecks. */
void follower_update_trust(struct follower *follower);

/* If a purge is due, deletes the files without a name from the index. Must be called after events
 * were taken and before they are applied. Does nothing if such a file possibly still exists, unless
 * the index has very many of them. Returns 0 or -errno. */
MUST_CHECK int follower_purge_if_due(struct follower *follower);

/* Rechecks the trees of the plan, one after the other. A name can be moved past all these walks:
 * from a source that is walked later to one that is walked already. Returns 0 or -errno. */
MUST_CHECK int follower_walk_trees(struct follower *follower, const struct recheck_plan *plan);

/* Notes names that were removed from the index since the walks began, and not by these walks, as
 * possibly moved past them. For a ticket. */
void follower_note_lost(struct follower *follower);

/* Requests retries of directories whose backoff has ended. Sets *all if all sources have to be
 * walked, and leaves it else. Returns 0 or -errno. */
MUST_CHECK int follower_note_failed(struct follower *follower, bool *all);

/* Notes that all names were rechecked: events are applied, and requested walks have ended. */
void follower_note_applied(struct follower *follower);

/* Opens the event queues of the sources that are not polled. If that is impossible and the mode is
 * FOLLOW_AUTO, all sources are polled. wake: see watch.h. Returns 0 or -errno. */
MUST_CHECK int follower_open_watch(struct follower *follower, void (*wake)(void *follower));

#endif
