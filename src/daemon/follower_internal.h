/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_FOLLOWER_INTERNAL_H
#define DAEMON_FOLLOWER_INTERNAL_H

/* What follower.c and follower_hooks.c share. */

#include "daemon/backoff.h"
#include "daemon/follower.h"
#include "daemon/recheck_inbox.h"
#include "daemon/rename_trust.h"
#include "daemon/source_state.h"
#include "daemon/ticket_worker.h"
#include "ingest/ingest.h"
#include "watch/event_set.h"
#include "watch/watch.h"

struct follower {
	struct follower_settings settings;
	struct ingest_hooks hooks;
	struct ingest ingest; /* for looks */
	struct watch *watch; /* NULL: all is polled */
	struct source_state *sources; /* one for each source */
	struct recheck_inbox inbox;
	/* only the thread that looks */
	struct event_set dirty; /* what is to be looked at */
	struct rename_trust_state trust;
	uint64_t polled_ns, rescanned_ns, ticked_ns; /* when */
	uint64_t next_walk_ns; /* nothing that was missed is looked for before that */
	uint64_t next_tick_ns; /* the thread works then at the latest */
	uint64_t rested_ns; /* no look before that, unless somebody waits */
	bool purge; /* files may have lost their last name */
	int problem;
	uint64_t reported_unwatched;

	struct ticket_worker worker; /* its lock is that of all below, too */
	uint64_t given_ticket; /* the last one */
	struct backoff failing; /* directories that are to be tried again */
	struct event_set not_entered; /* mount points, whose attributes no event tells of */
	bool woken;
};

/* What threads that walk and compare call; the follower is their context. The caller sets suspect. */
struct ingest_hooks follower_hooks(struct follower *follower);

#endif
