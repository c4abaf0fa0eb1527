/* SPDX-License-Identifier: MIT */

/* The follower's hooks, which threads of ingest call. They add watches, and pass requests to the
 * follower's inbox and lists:
 *
 *	walk --enter, identify--> watch
 *	walk, recheck --retry, add_recheck--> recheck_inbox --> follower
 *	walk --failed, not_entered--> lists under the worker's lock --> follower
 */
#include <errno.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "daemon/follower_internal.h"
#include "daemon/lanes.h"

/* Margin for times of files. File systems take times from a coarse clock, which lags by at most one
 * tick (10 ms). */
#define CLOCK_MARGIN_NS (20 * MS_NS)

static void enter(void *context, uint32_t source, int fd, uint64_t dir)
{
	struct follower *follower = context;
	struct source_state *states = &follower->sources[source];
	uint64_t known = 0;
	int r;

	if (states->polled)
		return;
	r = watch_add(follower->watch, source, fd, dir, &known);
	if (r == WATCH_KNOWN)
		watch_renumber(follower->watch, source, known, dir);
	/* after any other error, the directory cannot be read or was removed, and needs no watch */
	if (r == WATCH_FULL || r == -ENOMEM)
		atomic_fetch_add(&states->unwatched, 1);
}

static uint64_t identify(void *context, uint32_t source, int fd, uint64_t new_dir)
{
	struct follower *follower = context;
	uint64_t known = new_dir;

	if (follower->sources[source].polled ||
	    watch_add(follower->watch, source, fd, new_dir, &known) != WATCH_KNOWN)
		return new_dir;
	return known;
}

static void retry(void *context, const struct recheck *recheck)
{
	struct follower *follower = context;

	recheck_inbox_add(&follower->inbox, recheck, true);
}

static void add_recheck(void *context, const struct recheck *recheck)
{
	struct follower *follower = context;

	recheck_inbox_add(&follower->inbox, recheck, false);
}

/* fanotify reports writes in a directory that is not watched yet, by the inode of the file. So
 * links in a new directory need no walk. */
static void needs_walk(void *context, uint32_t source, enum walk_cause cause)
{
	struct follower *follower = context;

	if (cause == WALK_FOR_NEW_DIR && !follower->sources[source].polled &&
	    watch_reports_links(follower->watch, source))
		return;
	source_states_require_walk(follower->sources, follower->ingest.sources, source);
}

/* Notes a mount point. If memory runs out, the next walk notes it again. */
static void not_entered(void *context, uint64_t dir, struct name name)
{
	struct follower *follower = context;

	pthread_mutex_lock(&follower->worker.lock);
	(void)!event_set_add(&follower->not_entered, dir, name.bytes, name.length, EVENT_NAME);
	pthread_mutex_unlock(&follower->worker.lock);
}

static enum rename_trust trust(void *context)
{
	struct follower *follower = context;

	if (source_states_need_walk(follower->sources, follower->ingest.sources->count))
		return RENAME_NEEDS_WALK;
	return follower->watch && watch_has_written(follower->watch) ? RENAME_UNTRUSTED
								     : RENAME_TRUSTED;
}

static bool has_new_rival(void *context, uint64_t size)
{
	const struct follower *follower = context;

	return lanes_have_new_rival(follower->settings.lanes, size);
}

static void failed(void *context, uint64_t dir)
{
	struct follower *follower = context;
	int r;

	pthread_mutex_lock(&follower->worker.lock);
	r = backoff_failed(&follower->failing, dir, clock_monotonic_ns());
	pthread_mutex_unlock(&follower->worker.lock);
	if (r < 0)
		recheck_inbox_add_rescan(&follower->inbox);
}

void follower_note_applied(struct follower *follower)
{
	struct currency *currency = &follower->currency;

	if (follower->dirty.count > 0 || follower->dirty.overflowed)
		return;
	currency_note_applied(currency);
	atomic_store(&currency->checked_s,
		     source_states_note_walked(follower->sources, follower->ingest.sources,
					       clock_now().tv_sec));
}

const struct currency *follower_currency(const struct follower *follower)
{
	return &follower->currency;
}

struct ingest_hooks follower_hooks(struct follower *follower)
{
	return (struct ingest_hooks){.enter = enter,
				     .identify = identify,
				     .retry = retry,
				     .add_recheck = add_recheck,
				     .needs_walk = needs_walk,
				     .not_entered = not_entered,
				     .trust = trust,
				     .has_new_rival = has_new_rival,
				     .failed = failed,
				     .since_ns = clock_ns(clock_now()) - CLOCK_MARGIN_NS,
				     .context = follower};
}
