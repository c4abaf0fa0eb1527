/* SPDX-License-Identifier: MIT */

/* The follower thread:
 *
 *	events, recheck_inbox --wake--> rechecks --> commits; written files --> lanes
 *	every TICK_MS ----------------> purge, retries, walks that are due
 *	every --interval, or a miss --> a poll: one portion in each round (polling.h)
 *	a ticket ---------------------> all of this, walks for missed changes --> barrier_reached
 *
 * The thread pauses after each round (ticket_worker.h) and after a failure. During a poll, the
 * rounds in the pause only recheck a portion.
 *
 * Threads of ingest call the hooks:
 *
 *	walk --enter, identify--> watch
 *	walk, recheck --retry, add_recheck--> recheck_inbox --> follower
 *	walk --failed, not_entered--> lists under the worker's lock --> follower
 *	walk --holds_gone, retry--> polling --> follower
 */
#include "view/follow/follower.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/inotify_use.h"
#include "base/log.h"
#include "base/stop.h"
#include "index/query.h"
#include "index/source.h"
#include "scan/ingest.h"
#include "view/follow/backoff.h"
#include "view/follow/event_set.h"
#include "view/follow/lanes.h"
#include "view/follow/polling.h"
#include "view/follow/rechecks.h"
#include "view/follow/source_state.h"
#include "view/follow/ticket_worker.h"
#include "view/follow/watch.h"
#include "view/tree/view.h"

/* Maximum number of rounds of rechecks in a row. A recheck can request further rechecks. The limit
 * bounds the wait while a program keeps moving directories. */
#define ROUNDS_MAX 64
/* Maximum number of rounds in a row without a new event. */
#define STUCK_ROUNDS 4

/* Minimum pause between walks for changes that events do not report in full, in milliseconds and as
 * a multiple of the duration of the walk. A ticket ends the pause. */
#define NEEDED_WALK_MS_MIN 10000
#define NEEDED_WALK_WALKS 50

/* Interval at which source roots are checked, files without a name purged and failures retried. */
#define TICK_MS 2000

/* Margin for times of files. File systems take times from a coarse clock, which lags by at most one
 * tick (10 ms). */
#define CLOCK_MARGIN_NS (20 * MS_NS)

struct follower {
	struct follower_settings settings;
	struct ingest_hooks hooks;
	struct ingest ingest; /* for rechecks */
	struct watch *watch; /* NULL: all sources are polled */
	struct source_state *sources; /* one for each source */
	struct recheck_inbox inbox;
	struct polling polling; /* has a lock of its own */
	/* fields used only by the follower thread, and by the main thread before it */
	struct event_set dirty; /* names to recheck */
	enum rename_trust trust; /* in the renames of the next round of rechecks */
	struct event_set earlier; /* events of the last round of rechecks */
	/* monotonic times of the beginning of the last poll, walk of all sources, and tick */
	uint64_t polled_ns, rescanned_ns, ticked_ns;
	uint64_t next_walk_ns; /* earliest walk for missed changes, unless a ticket waits */
	uint64_t next_tick_ns; /* latest start of the next round */
	uint64_t resume_ns; /* until then no events are taken, unless a ticket waits */
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

/* ---- hooks --------------------------------------------------------------------------- */

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
		atomic_fetch_add(states->is_polled_now ? &states->unwatched_last
						       : &states->unwatched,
				 1);
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

	if (recheck->scope != RECHECK_POLL ||
	    !polling_note_misplaced(&follower->polling, recheck->dir))
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

static bool holds_gone(void *context, uint64_t dir, uint64_t child)
{
	struct follower *follower = context;

	return polling_holds(&follower->polling, dir, child);
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

static bool may_miscount_names(void *context)
{
	struct follower *follower = context;

	return sources_may_overlap(follower->ingest.sources) ||
	       recheck_inbox_has_failed(&follower->inbox) || polling_has_held(&follower->polling) ||
	       (follower->watch && watch_has_removed(follower->watch));
}

static bool reports_writes(void *context, uint32_t source)
{
	const struct follower *follower = context;

	return source_states_report_writes(follower->sources, follower->ingest.sources, source);
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

static void recheck_file(void *context, uint64_t file)
{
	struct follower *follower = context;

	follower_recheck_file(follower, file);
	lanes_note_moved(follower->settings.lanes);
}

/* Returns the hooks, with the follower as context. */
static struct ingest_hooks hooks_of(struct follower *follower)
{
	return (struct ingest_hooks){.enter = enter,
				     .identify = identify,
				     .retry = retry,
				     .add_recheck = add_recheck,
				     .needs_walk = needs_walk,
				     .holds_gone = holds_gone,
				     .not_entered = not_entered,
				     .trust = trust,
				     .may_miscount_names = may_miscount_names,
				     .reports_writes = reports_writes,
				     .has_new_rival = has_new_rival,
				     .failed = failed,
				     .recheck_file = recheck_file,
				     .since_ns = clock_ns(clock_now()) - CLOCK_MARGIN_NS,
				     .context = follower};
}

/* ---- trust in renames ---------------------------------------------------------------- */

/* Renames become untrusted if a write was possibly reported under a name that no recheck covers.
 * They become trusted again when all names are rechecked and no new event has arrived. */

/* Sets how far renames are trusted in the next round of rechecks. Adds EVENT_REPLACED to names that
 * had an event in the last round as well. */
static void update_trust(struct follower *follower)
{
	size_t count = follower->ingest.sources->count;
	struct event_set *events = &follower->dirty;
	bool lost = events->overflowed || events->has_unknown_dir;

	events->has_unknown_dir = false;
	event_set_note_replaced(events, &follower->earlier);
	event_set_reset(&follower->earlier);
	/* no rename can give a name to a file without one if the index has no such file */
	if (events->count == 0 && !follower->purge)
		follower->trust = RENAME_TRUSTED;
	if (lost) /* any file was possibly written to */
		source_states_require_walk_all(follower->sources, count);
	if (lost || source_states_need_walk(follower->sources, count))
		rename_trust_lower(&follower->trust, RENAME_NEEDS_WALK);
}

/* Returns whether no file without a name exists in a watched directory. If such a file exists, it
 * was renamed during each of its rechecks, so an event of its present name waits. */
static bool names_are_quiet(const struct follower *follower)
{
	return !event_set_has_names(&follower->dirty) &&
	       !source_states_need_walk(follower->sources, follower->ingest.sources->count);
}

/* If a purge is due, deletes the files without a name from the index. Must be called after events
 * were taken and before they are applied. Does nothing if such a file possibly still exists, or if
 * the rest of a poll can find it, unless the index has very many of them. Returns 0 or -errno. */
static int purge_if_due(struct follower *follower)
{
	struct catalog *catalog = follower->ingest.catalog;
	bool purges = follower->purge_due && names_are_quiet(follower) &&
		      !polling_is_under_way(&follower->polling);
	int r = 0;

	if (follower->purge_due && !purges)
		r = ingest_has_many_orphans(catalog, &purges);
	if (r == 0 && purges)
		r = ingest_purge(catalog);
	if (r < 0 || !purges)
		return r;
	follower->purge = follower->purge_due = false;
	update_trust(follower);
	return 0;
}

/* ---- retries of directories that could not be read ----------------------------------- */

static int still_fails(struct catalog_reader *reader, uint64_t dir, bool *fails)
{
	struct catalog_totals totals = {0};
	int error = 0, r;

	if (dir == BACKOFF_ALL)
		r = catalog_get_totals(reader, &totals);
	else
		r = catalog_get_error(reader, ERROR_DIR, dir, &error);
	*fails = totals.errors > 0 || ingest_error_is_temporary(error);
	return r;
}

/* Requests a retry of a directory that could not be read. For BACKOFF_ALL, sets *all: all sources
 * have to be walked. If the directory was read meanwhile, its wait ends, after one more listing for
 * quarantine names that a recheck of single names left out. If not, its backoff grows now, as the
 * retry does not report a success. */
static int retry_dir(struct follower *follower, struct catalog_reader *reader, uint64_t dir,
		     bool *all)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool fails;
	int r = still_fails(reader, dir, &fails);

	if (r < 0)
		return r;
	pthread_mutex_lock(&follower->worker.lock);
	if (fails)
		r = backoff_failed(&follower->failing, dir, now_ns);
	else
		backoff_done(&follower->failing, dir, now_ns);
	pthread_mutex_unlock(&follower->worker.lock);
	if (dir == BACKOFF_ALL) {
		*all |= fails;
		return r;
	}
	return r < 0 ? r : event_set_add(&follower->dirty, dir, NULL, 0, EVENT_LISTING);
}

/* Requests retries of directories whose backoff has ended. Sets *all if all sources have to be
 * walked, and leaves it else. Returns 0 or -errno. */
static int note_failed(struct follower *follower, bool *all)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct due_files dirs = {0};
	int r;

	pthread_mutex_lock(&follower->worker.lock);
	r = backoff_due(&follower->failing, clock_monotonic_ns(), &dirs);
	backoff_sweep(&follower->failing, clock_monotonic_ns());
	pthread_mutex_unlock(&follower->worker.lock);
	if (r == 0 && dirs.count > 0)
		r = catalog_read_begin(follower->ingest.catalog, &reader);
	for (size_t i = 0; r == 0 && i < dirs.count; i++)
		r = retry_dir(follower, reader, dirs.list[i], all);
	free(dirs.list);
	return r;
}

/* ---- names that were possibly moved past the walks of sources without events --------- */

/* Returns the source with this root, or NULL if there is none or events report all its changes. */
static struct source *find_walked(const struct follower *follower, uint64_t root)
{
	const struct sources *sources = follower->ingest.sources;

	for (size_t i = 0; i < sources->count; i++) {
		if (sources->list[i].root == root)
			return source_state_is_walked(&follower->sources[i]) ? &sources->list[i]
									     : NULL;
	}
	return NULL;
}

/* Rechecks the trees of the plan, one after the other. A name can be moved past all these walks:
 * from a source that is walked later to one that is walked already. Returns 0 or -errno. */
static int walk_trees(struct follower *follower, const struct recheck_plan *plan)
{
	const struct sources *sources = follower->ingest.sources;
	bool moved = false;
	int r = 0;

	/* a name can be moved past a portion of a poll and past these walks */
	follower->ingest.start =
		follower->polling.active ? follower->polling.start : walk_start_now();
	for (size_t i = 0; r == 0 && i < plan->tree_count; i++) {
		bool lost = atomic_load(&follower->lost_names);
		struct source *source;

		r = ingest_recheck(&follower->ingest, &plan->list[i], 1);
		/* the walk counts the directories without a watch */
		source = find_walked(follower, plan->list[i].dir);
		if (!source || r < 0)
			continue;
		/* elsewhere, times of folders prove less: servers have clocks of their own */
		if (!follower->ingest.result.of_other_host)
			atomic_store(&follower->lost_names, lost);
		moved |= follower->ingest.result.moved;
		if (!moved)
			atomic_store(&source->moved, false);
		if (follower->moved_ns < follower->ingest.result.moved_ns)
			follower->moved_ns = follower->ingest.result.moved_ns;
	}
	follower->ingest.start = (struct walk_start){0};
	if (moved)
		source_states_note_moved(follower->sources, sources);
	follower->polling.moved |= moved;
	return r;
}

/* Notes names that were removed from the index since the walks began, and not by these walks, as
 * possibly moved past them. For a ticket. */
static void note_lost(struct follower *follower)
{
	if (atomic_exchange(&follower->lost_names, false))
		source_states_note_moved(follower->sources, follower->ingest.sources);
}

/* ---- commits ------------------------------------------------------------------------- */

void follower_note_commit(struct follower *follower, const struct commit_delta *delta)
{
	size_t dir_count, file_count;
	const struct delta_dir *dirs = commit_delta_list(delta, DELTA_DIRS, &dir_count);
	const struct delta_file *files = commit_delta_list(delta, DELTA_FILES, &file_count);

	for (size_t i = 0; i < dir_count && follower->watch; i++) {
		for (uint32_t s = 0; dirs[i].gone && s < follower->ingest.sources->count; s++) {
			if (!follower->sources[s].polled)
				watch_remove(follower->watch, s, dirs[i].dir);
		}
	}
	for (size_t i = 0; i < file_count; i++) {
		if (files[i].what & (DELTA_FILE_GONE | DELTA_FILE_FEWER))
			atomic_store(&follower->lost_names, true);
		if (files[i].what & DELTA_FILE_FEWER) /* its link count and ctime changed */
			recheck_inbox_add_file(&follower->inbox, files[i].file, EVENT_NAME);
	}
}

/* ---- tickets ------------------------------------------------------------------------- */

uint64_t follower_barrier(struct follower *follower)
{
	return ticket_worker_request_next(&follower->worker);
}

void follower_barrier_again(struct follower *follower, uint64_t ticket)
{
	ticket_worker_request(&follower->worker, ticket);
}

/* ---- requests of other threads ------------------------------------------------------- */

/* Wakes the thread, so that it takes events and requests. Any thread; context is the follower. */
static void wake(void *context)
{
	struct follower *follower = context;

	currency_note_event(&follower->currency);
	pthread_mutex_lock(&follower->worker.lock);
	follower->woken = true;
	ticket_worker_wake(&follower->worker);
	pthread_mutex_unlock(&follower->worker.lock);
}

void follower_rescan(struct follower *follower)
{
	recheck_inbox_add_rescan(&follower->inbox);
	wake(follower);
}

void follower_recheck_file(struct follower *follower, uint64_t file)
{
	recheck_inbox_add_file(&follower->inbox, file, EVENT_ATTRIBUTES);
	wake(follower);
}

void follower_note_writer(struct follower *follower, uint64_t file)
{
	recheck_inbox_add_file(&follower->inbox, file, EVENT_WRITTEN);
	wake(follower);
}

/* ---- collecting names to recheck ----------------------------------------------------- */

static int note_source(struct follower *follower, size_t source)
{
	const struct source *s = &follower->ingest.sources->list[source];

	atomic_store(&follower->sources[source].unwatched, 0);
	atomic_store(&follower->sources[source].needs_walk, false);
	atomic_store(&follower->sources[source].is_walked_by_poll, false);
	follower->sources[source].is_walked = true;
	follower->sources[source].is_polled_now = false;
	return event_set_add(&follower->dirty, s->root, NULL, 0, EVENT_TREE);
}

/* Checks the source roots. Each round does this after it took the events, and before it rechecks
 * names: a recheck of a missing source would remove names from the index. Below the root of a
 * detached mount, for example, the mounts are gone that were in it. */
static void check_roots(struct follower *follower)
{
	follower->dirty.overflowed |= source_roots_check(follower->ingest.sources, follower->watch);
}

static int note_all_sources(struct follower *follower)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < follower->ingest.sources->count; i++)
		r = note_source(follower, i);
	return r;
}

/* Requests a walk of each source n for which bit n of mask is set. */
static int note_sources(struct follower *follower, uint64_t mask)
{
	int r = 0;

	for (; r == 0 && mask; mask &= mask - 1)
		r = note_source(follower, (size_t)__builtin_ctzll(mask));
	return r;
}

static int take_inbox(struct follower *follower)
{
	bool rescan;
	int r = recheck_inbox_take(&follower->inbox, follower->ingest.catalog, &follower->dirty,
				   &rescan);

	if (rescan)
		follower->ingest.trusts_signatures = false;
	if (r == 0 && rescan)
		r = note_all_sources(follower);
	if (r < 0) /* requests were lost */
		recheck_inbox_add_rescan(&follower->inbox);
	return r;
}

/* Takes the events, and requests rechecks of files that were changed by links outside. */
static int take_events(struct follower *follower)
{
	CLEANUP(event_set_reset) struct event_set taken = {0}, inodes = {0};
	struct watch_figures figures;
	int r = watch_take(follower->watch, &taken);

	/* the drain thread waits for watch_take(), which moves events into an empty set at once */
	if (event_set_merge(&follower->dirty, &taken) < 0) {
		source_states_require_walk_all(follower->sources, follower->ingest.sources->count);
		r = -ENOMEM;
	}
	watch_figures(follower->watch, &figures);
	atomic_store(&follower->currency.overflows, figures.overflows);
	if (r == 0)
		r = watch_take_inodes(follower->watch, &inodes);
	if (r == 0)
		r = linked_files_note(follower->ingest.sources, &inodes, &follower->inbox);
	if (r < 0) /* events were lost */
		recheck_inbox_add_rescan(&follower->inbox);
	return r;
}

/* Takes all events and requests that have arrived up to now. */
static int take_all(struct follower *follower)
{
	int r;

	pthread_mutex_lock(&follower->worker.lock);
	follower->woken = false;
	pthread_mutex_unlock(&follower->worker.lock);
	currency_take_events(&follower->currency);
	r = follower->watch ? take_events(follower) : 0;
	if (r == 0)
		r = take_inbox(follower);
	check_roots(follower);
	update_trust(follower);
	if (follower->dirty.overflowed)
		follower->ingest.trusts_signatures = false;
	if (r == 0)
		r = note_sources(follower, follower->dirty.overflowed);
	if (r == 0)
		follower->dirty.overflowed = 0;
	return r;
}

/* ---- rechecks ------------------------------------------------------------------------ */

/* Passes files that are possibly still open to the lanes. The observer of commits passes every file
 * that a commit leaves unread. */
static void note_written(const struct follower *follower, const struct bytes *written)
{
	const struct written_file *files = (const void *)written->data;

	for (size_t i = 0; i < written->length / sizeof(*files); i++) {
		if (!files[i].closed)
			lanes_note_written(follower->settings.lanes, files[i].file);
	}
}

static int recheck_list(struct follower *follower, const struct name_events *const *list,
			size_t count)
{
	CLEANUP_BYTES struct bytes written = {0};
	CLEANUP(recheck_plan_free) struct recheck_plan plan = {.trust = follower->trust};
	struct ingest *ingest = &follower->ingest;
	int r = written_files_hide(ingest->catalog, list, count, &plan.trust, &written);

	if (r < 0)
		return r;
	note_written(follower, &written);
	follower->trust = plan.trust;
	r = recheck_plan_make(&plan, ingest->sources, list, count);
	if (plan.needs_walk || (plan.trust != RENAME_TRUSTED && follower->dirty.has_moved_out))
		source_states_require_walk_all(follower->sources, ingest->sources->count);
	if (r == 0 && plan.tree_count > 0)
		r = walk_trees(follower, &plan);
	if (follower->dirty.has_moved_out)
		atomic_store(&follower->lost_names, true);
	if (r == 0 && plan.count > plan.tree_count)
		r = ingest_recheck(ingest, plan.list + plan.tree_count,
				   plan.count - plan.tree_count);
	return r;
}

/* Rechecks all dirty names once. After -ESTALE and -ELOOP, requests walks of all sources instead.
 * After another failure, the names stay dirty. */
static int recheck_once(struct follower *follower)
{
	AUTO_FREE const struct name_events **list = NULL;
	size_t count;
	int r = event_set_list(&follower->dirty, &list, &count);

	if (r == 0)
		r = recheck_list(follower, list, count);
	if (r == 0 || r == -ESTALE || r == -ELOOP) {
		event_set_reset(&follower->earlier);
		follower->earlier = follower->dirty;
		follower->dirty = (struct event_set){0};
	}
	if (r == -ESTALE || r == -ELOOP) {
		log_debug("cannot apply moves: %s; walking all sources", error_text(r));
		r = note_all_sources(follower);
	}
	follower->purge = true;
	return r;
}

/* Rechecks all changes made before this call, and all names that these rechecks request. */
static int catch_up(struct follower *follower)
{
	struct watch_figures before = {0}, after = {0};
	unsigned int stuck = 0;
	int r = 0;

	for (unsigned int round = 0; r == 0 && round < ROUNDS_MAX && !stop_requested(); round++) {
		before = after;
		r = take_all(follower);
		if (r == 0)
			r = purge_if_due(follower);
		if (r < 0 || follower->dirty.count == 0)
			break;
		if (follower->watch)
			watch_figures(follower->watch, &after);
		stuck = after.events == before.events ? stuck + 1 : 0;
		if (stuck > STUCK_ROUNDS)
			break;
		r = recheck_once(follower);
		if (r == 0 && !recheck_inbox_has_requests(&follower->inbox))
			break;
	}
	return r;
}

/* Notes that all names were rechecked: events are applied, and requested walks have ended. */
static void note_applied(struct follower *follower)
{
	struct currency *currency = &follower->currency;

	if (follower->dirty.count > 0 || follower->dirty.overflowed)
		return;
	currency_note_applied(currency);
	atomic_store(&currency->checked_s,
		     source_states_note_walked(follower->sources, follower->ingest.sources,
					       clock_now().tv_sec));
}

int follower_catch_up(struct follower *follower)
{
	struct indexing *indexing = follower->settings.indexing;
	int r;

	follower->ingest = (struct ingest){.catalog = indexing->catalog,
					   .sources = &indexing->sources,
					   .settings = &indexing->ingest_settings,
					   .hooks = &follower->hooks};
	follower->moved_ns = indexing->ingest.result.moved_ns;
	if (indexing->ingest.result.moved)
		source_states_note_moved(follower->sources, &indexing->sources);
	r = catch_up(follower);
	if (r == 0)
		note_applied(follower);
	/* the watches suffice for all directories; until now, a group could replace them */
	if (follower->watch)
		watch_close_reserve(follower->watch);
	return r;
}

/* ---- the thread ---------------------------------------------------------------------- */

static void report_state(struct follower *follower, int problem)
{
	const struct follower_settings *settings = &follower->settings;
	uint64_t unwatched =
		source_states_unwatched(follower->sources, follower->ingest.sources->count);

	if (unwatched && !follower->reported_unwatched)
		log_warning(
			"cannot watch all directories: %s; walking those without a watch every %u "
			"s; see 'twinfs status --verbose'",
			settings->mode == FOLLOW_FANOTIFY ? "some are on other file systems"
							  : "the limit of this user is reached",
			(unsigned int)(settings->interval_ms / 1000));
	if (problem && problem != follower->problem)
		log_error(
			"cannot update the index %s: %s; retrying; listing uniques/ and redundant/ "
			"fails meanwhile",
			quote_path(settings->indexing->folder), error_text(problem));
	follower->reported_unwatched = unwatched;
	follower->problem = problem;
	settings->report(settings->context, unwatched, problem);
}

/* Requests walks of the sources with changes that events did not report in full. */
static int note_missed(struct follower *follower)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < follower->ingest.sources->count; i++) {
		if (source_state_needs_walk(&follower->sources[i]))
			r = note_source(follower, i);
	}
	return r;
}

static struct polled polled_by(struct follower *follower)
{
	return (struct polled){&follower->ingest, follower->sources, follower->watch,
			       &follower->inbox};
}

/* Begins a poll (walks: as in polling_begin()), and requests rechecks of mount points. The recheck
 * of a mount point notes it again. */
static int begin_poll(struct follower *follower, bool walks, bool trusts_signatures)
{
	const struct polled polled = polled_by(follower);
	int r;

	polling_begin(&follower->polling, &polled, walks);
	follower->polling.trusts_signatures = trusts_signatures;
	if (!walks) {
		atomic_store(&follower->lost_names, false);
		follower->moved_ns = 0;
	}
	pthread_mutex_lock(&follower->worker.lock);
	r = event_set_merge(&follower->dirty, &follower->not_entered);
	pthread_mutex_unlock(&follower->worker.lock);
	return r;
}

/* Sets the earliest time of the next walk for missed changes, after one that took so long. */
static void pause_after(struct follower *follower, uint64_t walk_ns)
{
	uint64_t pause_ns = NEEDED_WALK_WALKS * walk_ns;

	if (pause_ns < NEEDED_WALK_MS_MIN * MS_NS)
		pause_ns = NEEDED_WALK_MS_MIN * MS_NS;
	follower->next_walk_ns = clock_monotonic_ns() + pause_ns;
}

/* Rechecks a portion of the poll in progress. After -ESTALE and -ELOOP, requests walks of all
 * sources instead. */
static int continue_poll(struct follower *follower)
{
	const struct polled polled = polled_by(follower);
	struct polling *polling = &follower->polling;
	bool lost = atomic_load(&follower->lost_names);
	int r;

	check_roots(follower);
	/* a source that is back, or is another directory, is walked whole */
	r = note_sources(follower, follower->dirty.overflowed);
	if (r == 0)
		r = polling_continue(polling, &polled);
	/* elsewhere, times of folders prove less: servers have clocks of their own */
	if (!polling->of_other_host)
		atomic_store(&follower->lost_names, lost);
	if (follower->moved_ns < polling->moved_ns)
		follower->moved_ns = polling->moved_ns;
	follower->purge = true;
	if (r == 0 && !polling->active && polling->for_missed)
		pause_after(follower, polling->took_ns);
	if (r != -ESTALE && r != -ELOOP)
		return r;
	log_debug("cannot apply moves: %s; walking all sources", error_text(r));
	polling->active = false;
	return note_all_sources(follower);
}

/* For a ticket: polls from the beginning to the end, as a poll in progress has passed directories
 * that changed since. */
static int poll_now(struct follower *follower, bool trusts_signatures)
{
	int r = begin_poll(follower, false, trusts_signatures);

	while (r == 0 && follower->polling.active && !stop_requested()) {
		r = continue_poll(follower);
		if (r == 0)
			r = catch_up(follower);
	}
	return r;
}

static bool is_due(uint64_t *last_ns, uint64_t interval_ms)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (interval_ms == 0 || now_ns - *last_ns < interval_ms * MS_NS)
		return false;
	*last_ns = now_ns;
	return true;
}

/* Returns whether a walk for changes that events did not report in full may begin. */
static bool may_walk(const struct follower *follower)
{
	return clock_monotonic_ns() >= follower->next_walk_ns &&
	       source_states_need_walk(follower->sources, follower->ingest.sources->count);
}

/* Requests periodic work that is due. awaited: a ticket waits */
static int note_due(struct follower *follower, bool awaited)
{
	const struct follower_settings *settings = &follower->settings;
	bool tick = is_due(&follower->ticked_ns, TICK_MS);
	bool rescan, all = false;
	int r = 0;

	follower->purge_due |= tick && follower->purge;
	if (tick)
		r = note_failed(follower, &all);
	rescan = is_due(&follower->rescanned_ns, settings->rescan_ms);
	if (r == 0 && (all || rescan))
		r = note_all_sources(follower);
	follower->ingest.trusts_signatures = false;
	if (r < 0 || awaited || all || rescan || settings->mode == FOLLOW_NONE ||
	    follower->polling.active || may_walk(follower) ||
	    !is_due(&follower->polled_ns, settings->interval_ms))
		return r;
	/* A walk that reads all contents again would have no end if one followed the other. */
	return begin_poll(follower, false, true);
}

static bool recheck_is_due(void *context, uint64_t now_ns, uint64_t *until_ns)
{
	const struct follower *follower = context;

	*until_ns = follower->woken ? follower->resume_ns : follower->next_tick_ns;
	if (follower->polling.active)
		*until_ns = now_ns;
	return *until_ns <= now_ns;
}

static void answer(struct follower *follower, uint64_t ticket, int error)
{
	ticket_worker_finish(&follower->worker, ticket);
	follower->settings.barrier_reached(follower->settings.context, ticket, error);
}

/* Waits for work. Sets *ticket to the ticket that waits, or 0. Returns false if the thread has to
 * end. */
static bool wait_for_work(struct follower *follower, uint64_t *ticket)
{
	follower->next_tick_ns = clock_monotonic_ns() + TICK_MS * MS_NS;
	return ticket_worker_wait(&follower->worker, recheck_is_due, follower, ticket);
}

/* Begins a poll of sources with changes that events did not report in full, or else of those past
 * whose walk names were possibly moved, unless a poll is in progress. */
static int poll_for_missed(struct follower *follower)
{
	bool walks = may_walk(follower);
	bool lacks_moved = source_states_lack_moved(follower->ingest.sources) &&
			   follower->settings.mode != FOLLOW_NONE &&
			   follower->moved_ns <= clock_file_ns();
	int r;

	if (follower->polling.active || (!walks && !lacks_moved))
		return 0;
	r = begin_poll(follower, walks, !walks);
	follower->polling.for_missed = true;
	return r;
}

/* For a ticket: does the same at once. The caller must first process all events, as a walk detects
 * no moves. */
static int walk_for_missed(struct follower *follower)
{
	uint64_t began_ns = clock_monotonic_ns();
	int r = note_missed(follower);
	bool walks = follower->dirty.count > 0;

	if (r == 0 && walks) {
		follower->ingest.trusts_signatures = false;
		r = catch_up(follower);
	}
	if (r == 0 && source_states_lack_moved(follower->ingest.sources)) {
		/* else a change before the poll has the time at which the poll begins */
		stop_or_await_file_time(follower->moved_ns);
		walks = true;
		r = poll_now(follower, true);
	}
	if (walks)
		pause_after(follower, clock_monotonic_ns() - began_ns);
	return r;
}

/* For a ticket: walks for what is missed, and again if names were possibly moved past the walk. */
static int walk_for_ticket(struct follower *follower)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		r = catch_up(follower); /* events that arrived during the walks */
		note_lost(follower);
		/* where times are rounded, a source that changes all the time is waited for once */
		if (i > 0 && (!source_states_lack_moved(follower->ingest.sources) ||
			      follower->moved_ns > clock_file_ns()))
			break;
		if (r == 0)
			r = walk_for_missed(follower);
	}
	return r;
}

/* Rechecks once more. If no event of a name arrived meanwhile, files without a name are deleted
 * from the index, and renames are trusted again. */
static int recheck_once_more(struct follower *follower)
{
	if (!follower->purge && follower->trust == RENAME_TRUSTED)
		return 0;
	follower->purge_due = true;
	return catch_up(follower);
}

/* Takes events and does what is due. awaited: a ticket waits, so the round includes walks for
 * changes that events do not report in full */
static int follow_events(struct follower *follower, bool awaited)
{
	int r = note_due(follower, awaited);

	if (r == 0)
		r = catch_up(follower);
	if (r == 0 && awaited)
		r = poll_now(follower, false);
	if (r == 0 && awaited)
		r = walk_for_ticket(follower);
	else if (r == 0 && clock_monotonic_ns() >= follower->next_walk_ns)
		r = poll_for_missed(follower);
	if (r == 0 && awaited)
		r = recheck_once_more(follower);
	if (awaited)
		note_lost(follower);
	if (r == 0)
		note_applied(follower);
	return r < 0 ? r : ingest_choose_kept(follower->ingest.catalog);
}

/* Does one round of work. */
static int follow_once(struct follower *follower, bool awaited)
{
	struct duty_cycle round = duty_cycle_begin(follower->ingest.catalog);
	int r = 0;

	if (awaited || !follower->polling.active || round.began_ns >= follower->resume_ns) {
		r = follow_events(follower, awaited);
		follower->resume_ns = duty_cycle_resume_ns(&round);
	}
	if (r < 0 || !follower->polling.active || stop_requested())
		return r;
	r = continue_poll(follower);
	if (r == 0 && !follower->polling.active)
		r = catch_up(follower); /* what the end of the poll requested */
	if (r == 0 && !follower->polling.active)
		note_applied(follower);
	return r;
}

static void *follow(void *context)
{
	struct follower *follower = context;
	struct catalog *catalog = follower->settings.indexing->catalog;
	uint64_t ticket;
	int r = 0;

	/* A corrupt index is rebuilt at the next start. Until then no name is rechecked and each
	 * ticket is answered with EUCLEAN. */
	while (wait_for_work(follower, &ticket)) {
		r = r == -EUCLEAN ? r : follow_once(follower, ticket != 0);
		if (stop_requested())
			break;
		report_state(follower, -r);
		if (ticket)
			answer(follower, ticket, -r);
		catalog_judge(catalog, r);
		if (r < 0)
			(void)ticket_worker_pause(&follower->worker, TICK_MS / 2);
	}
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------- */

/* Returns whether the index is known to have more directories than the user can watch. */
static bool exceeds_watches(const struct follower *follower)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct catalog_totals totals = {0};

	return catalog_read_begin(follower->settings.indexing->catalog, &reader) == 0 &&
	       catalog_get_totals(reader, &totals) == 0 &&
	       totals.directories > inotify_watches_max().max;
}

/* Opens the event queues of the sources that are not polled. If that is impossible and the mode is
 * FOLLOW_AUTO, all sources are polled. Returns 0 or -errno. */
static int open_watch(struct follower *follower)
{
	size_t count = follower->ingest.sources->count;
	const struct watch_settings settings = {
		.queues = source_states_queues(follower->sources, count),
		.groups = follower->settings.groups->list,
		.prefers_fanotify =
			follower->settings.mode == FOLLOW_FANOTIFY || exceeds_watches(follower),
		.wake = wake,
		.context = follower,
	};
	int r = settings.queues > 0 ? watch_new(&follower->watch, &settings) : 0;

	if (r == 0 || follower->settings.mode != FOLLOW_AUTO)
		return r;
	log_warning("cannot watch for changes: %s; walking all sources every %u s; see 'twinfs "
		    "doctor'",
		    error_text(r), (unsigned int)(follower->settings.interval_ms / 1000));
	source_states_poll_all(follower->sources, count);
	return 0;
}

int follower_new(struct follower **follower, const struct follower_settings *settings)
{
	struct indexing *indexing = settings->indexing;
	struct follower *made = calloc(1, sizeof(*made));
	int r;

	if (!made)
		return -ENOMEM;
	made->settings = *settings;
	made->hooks = hooks_of(made);
	made->purge = true; /* by the first walk */
	made->next_walk_ns = clock_monotonic_ns() + NEEDED_WALK_MS_MIN * MS_NS;
	made->polled_ns = made->rescanned_ns = made->ticked_ns = clock_monotonic_ns();
	ticket_worker_init(&made->worker);
	recheck_inbox_init(&made->inbox);
	polling_init(&made->polling);
	made->ingest.sources = &indexing->sources;
	r = source_states_new(&made->sources, &indexing->sources, settings->mode);
	if (r == 0)
		r = open_watch(made);
	if (r < 0) {
		follower_free(made);
		return r;
	}
	indexing->hooks = &made->hooks;
	*follower = made;
	return 0;
}

int follower_start(struct follower *follower)
{
	report_state(follower, 0); /* the first walk has counted directories without a watch */
	return ticket_worker_start(&follower->worker, follow, follower);
}

void follower_stop(struct follower *follower)
{
	if (follower)
		ticket_worker_stop(&follower->worker);
}

void follower_free(struct follower *follower)
{
	if (!follower)
		return;
	watch_free(follower->watch);
	event_set_reset(&follower->dirty);
	event_set_reset(&follower->earlier);
	backoff_free(&follower->failing);
	event_set_reset(&follower->not_entered);
	recheck_inbox_deinit(&follower->inbox);
	polling_deinit(&follower->polling);
	free(follower->sources);
	ticket_worker_deinit(&follower->worker);
	free(follower);
}

/* ---- state --------------------------------------------------------------------------- */

const char *follower_watch_name(const struct follower *follower)
{
	struct watch_figures figures;

	if (follower->settings.mode == FOLLOW_NONE)
		return "none";
	if (!follower->watch)
		return "poll";
	watch_figures(follower->watch, &figures);
	return 2 * figures.fanotify_queues > figures.queues ? "fanotify" : "inotify";
}

bool follower_sees_all(const struct follower *follower)
{
	size_t count = follower->ingest.sources->count;

	for (size_t i = 0; i < count; i++) {
		if (source_state_is_walked(&follower->sources[i]))
			return false;
	}
	return !source_states_need_walk(follower->sources, count);
}

const struct currency *follower_currency(const struct follower *follower)
{
	return &follower->currency;
}
