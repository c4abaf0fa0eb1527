/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_FOLLOWER_INTERNAL_H
#define DAEMON_FOLLOWER_INTERNAL_H

/* What follower.c and follower_hooks.c share. */

#include <pthread.h>

#include "daemon/backoff.h"
#include "daemon/follower.h"
#include "daemon/recheck_inbox.h"
#include "daemon/rename_trust.h"
#include "daemon/source_state.h"
#include "ingest/ingest.h"
#include "watch/dirty.h"
#include "watch/watch.h"

struct follower {
	struct follower_settings settings;
	struct ingest_hooks hooks;
	struct ingest ingest; /* for looks */
	struct watch *watch; /* NULL: all is polled */
	struct source_state *sources; /* one for each source */
	struct recheck_inbox inbox;
	pthread_t thread;
	bool runs;

	/* only the thread that looks */
	struct dirty dirty; /* what is to be looked at */
	struct doubt doubt;
	uint64_t polled_ns, rescanned_ns, ticked_ns; /* when */
	uint64_t missed_ns; /* nothing that was missed is looked for before that */
	uint64_t rested_ns; /* no look before that, unless somebody waits */
	bool purge; /* files may have lost their last name */
	int problem;
	uint64_t told_unwatched;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	uint64_t given_ticket, wanted_ticket, done_ticket;
	struct backoff failing; /* directories that are to be tried again */
	struct dirty not_entered; /* mount points, whose attributes no event tells of */
	bool woken, ending;
};

/* What threads that walk and compare tell the follower, which is what the hooks are called with. */
struct ingest_hooks follower_hooks(struct follower *follower);

/* There is something to take. Any thread; context is the follower. */
void follower_wake(void *context);

#endif
