/* SPDX-License-Identifier: MIT */
#include "view/follow/polling.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"

/* Duration of a portion, after which events are taken. A portion has as many directories as fit in
 * it by the duration of the last one. The first one of a poll is small, as directories can be
 * large. */
#define PORTION_NS (30 * MS_NS)
#define PORTION_DIRS_FIRST 4
#define PORTION_DIRS_MAX 4096

/* Maximum number of directories that are examined for a portion, most of which have a watch. */
#define EXAMINED_MAX 32768

void polling_init(struct polling *polling)
{
	*polling = (struct polling){0};
	pthread_mutex_init(&polling->lock, NULL);
}

static void reset(struct polling *polling)
{
	pthread_mutex_lock(&polling->lock);
	event_set_reset(&polling->held);
	event_set_reset(&polling->gone);
	event_set_reset(&polling->misplaced);
	polling->overflowed = false;
	pthread_mutex_unlock(&polling->lock);
}

void polling_deinit(struct polling *polling)
{
	reset(polling);
	pthread_mutex_destroy(&polling->lock);
}

void polling_begin(struct polling *polling, const struct polled *polled, bool walks)
{
	struct source_state *states = polled->states;

	reset(polling);
	for (size_t i = 0; i < polled->ingest->sources->count; i++) {
		bool is_walked = source_state_begin_walk(&states[i], walks);

		states[i].is_polled_now = walks ? is_walked : source_state_is_walked(&states[i]);
		states[i].is_walked |= states[i].is_polled_now;
		states[i].unwatched_before = 0;
		atomic_store(&states[i].unwatched_last, 0);
	}
	polling->active = true;
	polling->moved = polling->for_missed = false;
	polling->moved_ns = 0;
	polling->took_ns = 0;
	polling->dirs = PORTION_DIRS_FIRST;
	polling->start = walk_start_now();
	polling->after = 0;
	polling->end = catalog_ids_end(polled->ingest->catalog);
}

bool polling_is_under_way(const struct polling *polling)
{
	return polling->active && polling->after > 0;
}

/* ---- what the hooks note ------------------------------------------------------------- */

/* Adds a directory to a set of limited size. Returns false if that is impossible. */
static bool add(struct event_set *set, uint64_t dir)
{
	if (set->count >= POLLING_HELD_MAX && !event_set_has_dir(set, dir))
		return false;
	return event_set_add(set, dir, NULL, 0, EVENT_LISTING) == 0;
}

bool polling_holds(struct polling *polling, uint64_t dir, uint64_t child)
{
	bool holds;

	pthread_mutex_lock(&polling->lock);
	holds = add(&polling->held, dir) && (!child || add(&polling->gone, child));
	pthread_mutex_unlock(&polling->lock);
	return holds;
}

bool polling_note_misplaced(struct polling *polling, uint64_t dir)
{
	bool noted;

	pthread_mutex_lock(&polling->lock);
	noted = add(&polling->misplaced, dir);
	polling->overflowed |= !noted;
	pthread_mutex_unlock(&polling->lock);
	return noted;
}

bool polling_has_held(struct polling *polling)
{
	bool has;

	pthread_mutex_lock(&polling->lock);
	has = polling->held.count > 0 || polling->misplaced.count > 0;
	pthread_mutex_unlock(&polling->lock);
	return has;
}

/* ---- portions ------------------------------------------------------------------------ */

/* The directories of a portion. */
struct poll_portion {
	struct recheck *list;
	size_t count;
	uint64_t after; /* the id of the last directory that was examined */
};

/* Returns whether the source of a directory is polled. Leaves out sources that are missing now. */
static bool is_polled(const struct polled *polled, const struct dir_record *dir)
{
	const struct sources *sources = polled->ingest->sources;

	return dir->source < sources->count && polled->states[dir->source].is_polled_now &&
	       !atomic_load(&sources->list[dir->source].missing);
}

/* Returns whether events report the changes of a directory, and did so without a gap. */
static bool has_watch(const struct polled *polled, const struct dir_record *dir)
{
	struct source_state *states = &polled->states[dir->source];

	return polled->watch && !states->polled && !atomic_load(&states->is_walked_by_poll) &&
	       watch_has(polled->watch, dir->source, dir->id);
}

/* Sets *is to whether the directory or one above it is in the set. Returns 0 or -errno. */
static int is_below(const struct event_set *set, struct catalog_reader *reader, uint64_t id,
		    bool *is)
{
	struct dir_record dir;
	int r = 0;

	*is = false;
	while (r == 0 && set->count > 0 && id && !*is) {
		*is = event_set_has_dir(set, id);
		r = catalog_get_dir(reader, id, &dir);
		id = r == 0 ? dir.parent : 0;
	}
	return r;
}

/* Adds a directory to the portion if it has to be rechecked. A directory that is not entered has
 * nothing but its name. */
static int examine(const struct polling *polling, const struct polled *polled,
		   struct catalog_reader *reader, const struct dir_record *dir,
		   struct poll_portion *portion)
{
	bool gone;
	int r;

	portion->after = dir->id;
	if (!is_polled(polled, dir) || dir->flags & DIR_NOT_ENTERED || has_watch(polled, dir))
		return 0;
	r = is_below(&polling->gone, reader, dir->id, &gone);
	if (r == 0 && !gone)
		portion->list[portion->count++] =
			(struct recheck){.dir = dir->id, .scope = RECHECK_POLL};
	return r;
}

/* Chooses the next directories. No walk runs meanwhile, so the sets do not change. */
static int choose(const struct polling *polling, const struct polled *polled,
		  struct poll_portion *portion)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct dir_record dir;
	int r = catalog_read_begin(polled->ingest->catalog, &reader);

	if (r == 0)
		r = catalog_scan_dirs(reader, polling->after, &scan);
	for (size_t i = 0; r == 0 && i < EXAMINED_MAX && portion->count < polling->dirs; i++) {
		r = catalog_next_dir(scan, &dir);
		if (r == 0 && dir.id >= polling->end)
			r = -ENOENT;
		if (r == 0)
			r = examine(polling, polled, reader, &dir, portion);
	}
	if (r == -ENOENT)
		portion->after = polling->end;
	return r == -ENOENT ? 0 : r;
}

/* Adds the directories that could not be watched since the last portion to those before. */
static void count_unwatched(const struct polled *polled)
{
	for (size_t i = 0; i < polled->ingest->sources->count; i++)
		polled->states[i].unwatched_before +=
			atomic_exchange(&polled->states[i].unwatched_last, 0);
}

/* Rechecks directories, and notes what can have moved past them. If that fails, the directories
 * without a watch are not counted, as they are when it is repeated. */
static int recheck(struct polling *polling, const struct polled *polled, const struct recheck *list,
		   size_t count)
{
	struct ingest *ingest = polled->ingest;
	bool trusts_signatures = ingest->trusts_signatures;
	int r;

	polling->of_other_host = false;
	if (count == 0)
		return 0;
	count_unwatched(polled);
	ingest->start = polling->start;
	ingest->trusts_signatures = polling->trusts_signatures;
	r = ingest_recheck(ingest, list, count);
	ingest->start = (struct walk_start){0};
	ingest->trusts_signatures = trusts_signatures;
	polling->of_other_host = ingest->result.of_other_host;
	polling->moved |= ingest->result.moved;
	if (polling->moved_ns < ingest->result.moved_ns)
		polling->moved_ns = ingest->result.moved_ns;
	if (r == 0)
		count_unwatched(polled);
	for (size_t i = 0; r < 0 && i < ingest->sources->count; i++)
		atomic_store(&polled->states[i].unwatched_last, 0);
	return r;
}

/* Sets the number of directories of the next portion by the duration of this one. */
static void adapt(struct polling *polling, size_t count, uint64_t took_ns)
{
	uint64_t fit = count * PORTION_NS / (took_ns ? took_ns : 1);

	if (count < polling->dirs && fit < 2 * (uint64_t)polling->dirs)
		return; /* too few for a longer portion */
	if (fit > 2 * (uint64_t)polling->dirs)
		fit = 2 * (uint64_t)polling->dirs;
	if (fit > PORTION_DIRS_MAX)
		fit = PORTION_DIRS_MAX;
	polling->dirs = fit < 1 ? 1 : (size_t)fit;
}

/* ---- the end of a poll --------------------------------------------------------------- */

/* Lists the directories of a set that the index has in sources that are still polled. */
static int list_set(const struct polled *polled, const struct event_set *set,
		    struct poll_portion *portion)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	AUTO_FREE const struct name_events **entries = NULL;
	struct dir_record dir;
	size_t count;
	int r = event_set_list(set, &entries, &count);

	portion->list = r == 0 ? calloc(count ? count : 1, sizeof(*portion->list)) : NULL;
	if (!portion->list)
		return -ENOMEM;
	r = catalog_read_begin(polled->ingest->catalog, &reader);
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = catalog_get_dir(reader, entries[i]->dir, &dir);
		if (r == 0 && is_polled(polled, &dir))
			portion->list[portion->count++] =
				(struct recheck){.dir = dir.id, .scope = RECHECK_LISTING};
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

/* Removes the names that are still gone, in one recheck. */
static int remove_gone(struct polling *polling, const struct polled *polled)
{
	struct poll_portion held = {0};
	int r = list_set(polled, &polling->held, &held);

	if (r == 0)
		r = recheck(polling, polled, held.list, held.count);
	free(held.list);
	return r;
}

/* Requests rechecks of directories that were not at their paths. The index has lost those of which
 * another directory lacked the name. The others were moved during the poll, and so was a directory
 * whose name was gone and is there again: the poll left out what is below it. */
static int note_strays(struct polling *polling, const struct polled *polled)
{
	struct poll_portion misplaced = {0}, gone = {0};
	int r = list_set(polled, &polling->misplaced, &misplaced);

	if (r == 0)
		r = list_set(polled, &polling->gone, &gone);
	polling->moved |= misplaced.count > 0 || gone.count > 0 || polling->overflowed;
	for (size_t i = 0; r == 0 && i < misplaced.count; i++)
		recheck_inbox_add(polled->inbox, &misplaced.list[i], true);
	for (size_t i = 0; r == 0 && i < gone.count; i++) {
		gone.list[i].scope = RECHECK_TREE;
		recheck_inbox_add(polled->inbox, &gone.list[i], false);
	}
	free(misplaced.list);
	free(gone.list);
	return r;
}

/* Sets the states of the polled sources. A source that is watched as a whole lacks no moved names:
 * events report what was moved to a directory after the poll passed it. */
static void set_states(const struct polling *polling, const struct polled *polled)
{
	const struct sources *sources = polled->ingest->sources;
	struct source_state *states = polled->states;

	count_unwatched(polled);
	for (size_t i = 0; i < sources->count; i++) {
		bool was_polled = states[i].is_polled_now;

		states[i].is_polled_now = false;
		atomic_store(&states[i].is_walked_by_poll, false);
		if (atomic_load(&sources->list[i].missing))
			continue;
		if (was_polled)
			atomic_store(&states[i].unwatched, states[i].unwatched_before);
		if ((was_polled && !polling->moved) || !source_state_is_walked(&states[i]))
			atomic_store(&sources->list[i].moved, false);
	}
	if (polling->moved)
		source_states_note_moved(states, sources);
}

static int finish(struct polling *polling, const struct polled *polled)
{
	int r = remove_gone(polling, polled);

	if (r == 0)
		r = note_strays(polling, polled);
	if (r < 0)
		return r;
	set_states(polling, polled);
	reset(polling);
	polling->active = false;
	return 0;
}

int polling_continue(struct polling *polling, const struct polled *polled)
{
	struct poll_portion portion = {.list = calloc(polling->dirs, sizeof(*portion.list)),
				       .after = polling->after};
	uint64_t began_ns, took_ns;
	int r = portion.list ? choose(polling, polled, &portion) : -ENOMEM;

	began_ns = clock_monotonic_ns();
	if (r == 0)
		r = recheck(polling, polled, portion.list, portion.count);
	took_ns = clock_monotonic_ns() - began_ns;
	polling->took_ns += took_ns;
	if (r == 0 && portion.count > 0)
		adapt(polling, portion.count, took_ns);
	if (r == 0)
		polling->after = portion.after;
	free(portion.list);
	return r == 0 && polling->after >= polling->end ? finish(polling, polled) : r;
}
