/* SPDX-License-Identifier: MIT */
#include "view/follow/recheck_plan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "index/change.h"
#include "index/own.h"
#include "index/paths.h"
#include "index/query.h"

/* ---- written files ------------------------------------------------------------------- */

static int add_written(struct catalog_reader *reader, const struct name_events *dirty,
		       enum rename_trust *trust, struct bytes *written)
{
	struct name name = {dirty->name, dirty->length};
	bool seen = dirty->events & EVENT_WRITTEN;
	struct written_file file = {.closed = !seen || dirty->events & EVENT_CLOSED};
	struct entry_record entry;
	int r = catalog_find_entry(reader, dirty->dir, name, &entry);

	if (r == -ENOENT || (r == 0 && entry.kind != ENTRY_FILE)) {
		if (seen)
			rename_trust_lower(trust, RENAME_UNTRUSTED);
		return 0;
	}
	file.file = r == 0 ? entry.child : 0;
	return r < 0 ? r : bytes_append(written, &file, sizeof(file));
}

static int find_written(enum rename_trust *trust, struct catalog *catalog,
			const struct name_events *const *list, size_t count, struct bytes *written)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint32_t effects;
	int r = catalog_read_begin(catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		effects = name_event_effects(list[i]->events);
		if (effects & EFFECT_UNTRUSTS)
			rename_trust_lower(trust, RENAME_UNTRUSTED);
		if (effects & EFFECT_HIDES && list[i]->length > 0)
			r = add_written(reader, list[i], trust, written);
	}
	return r;
}

static int hide_files(struct catalog_writer *w, void *context)
{
	const struct bytes *written = context;
	const struct written_file *files = (const void *)written->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < written->length / sizeof(*files); i++)
		r = catalog_forget_contents(w, &files[i].file, 1);
	return r;
}

int written_files_hide(struct catalog *catalog, const struct name_events *const *list, size_t count,
		       enum rename_trust *trust, struct bytes *written)
{
	int r = find_written(trust, catalog, list, count, written);

	return r < 0 || written->length == 0 ? r : catalog_write(catalog, hide_files, written);
}

/* ---- recheck plan -------------------------------------------------------------------- */

static enum recheck_scope scope_of(const struct dir_record *record, uint32_t events)
{
	if (events & EVENT_TREE)
		return RECHECK_TREE;
	/* a recheck of the parent detects changed attributes, but the root of a source has no
	 * parent in the index */
	if (events & EVENT_LISTING || (record->parent == 0 && events & EVENT_ATTRIBUTES))
		return RECHECK_LISTING;
	return RECHECK_NAMES;
}

/* The events of one directory and its names. */
struct dir_events {
	const struct name_events *const *list;
	size_t count;
};

/* Returns whether any of the names is possibly a link to a file that has another name. */
static bool may_hold_link(struct dir_events run)
{
	for (size_t i = 0; i < run.count; i++) {
		if (run.list[i]->length > 0 &&
		    name_event_effects(run.list[i]->events) & EFFECT_MAY_BE_LINK)
			return true;
	}
	return false;
}

/* Returns whether the mark of a folder of twinfs has an event. It decides about all names. */
static bool has_mark(struct dir_events run)
{
	for (size_t i = 0; i < run.count; i++) {
		if (own_is_mark(run.list[i]->name, run.list[i]->length))
			return true;
	}
	return false;
}

/* Sets (*whole)[n] to whether an event requests a recheck of the whole source n. The caller frees
 * *whole. */
static int find_whole(const struct sources *sources, const struct name_events *const *list,
		      size_t count, bool **whole)
{
	*whole = calloc(sources->count, sizeof(**whole));
	if (!*whole)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (list[i]->length > 0 || !(list[i]->events & EVENT_TREE))
			continue;
		for (size_t n = 0; n < sources->count; n++)
			(*whole)[n] |= sources->list[n].root == list[i]->dir;
	}
	return 0;
}

/* Adds the recheck of one directory. */
static int add_recheck(struct recheck_plan *plan, const struct sources *sources, const bool *whole,
		       struct catalog_reader *reader, struct dir_events run)
{
	const struct name_events *first = run.list[0];
	size_t itself = first->length == 0; /* the first entry is that of the directory itself */
	struct recheck recheck = {.dir = first->dir, .trust = plan->trust};
	struct dir_record record;
	int r = catalog_get_dir(reader, first->dir, &record);

	if (r == -ENOENT)
		plan->needs_walk |= may_hold_link(run);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (record.source >= sources->count)
		return -EUCLEAN;
	if (atomic_load(&sources->list[record.source].missing))
		return 0; /* the whole source is rechecked when it is back */
	if (whole[record.source] && record.parent != 0)
		return 0;
	if (itself)
		recheck.scope = scope_of(&record, first->events);
	if (recheck.scope == RECHECK_NAMES && has_mark(run))
		recheck.scope = RECHECK_LISTING;
	if (recheck.scope != RECHECK_NAMES && !whole[record.source])
		plan->needs_walk |= may_hold_link(run);
	if (recheck.scope == RECHECK_NAMES) {
		recheck.names = run.list + itself;
		recheck.count = run.count - itself;
	}
	plan->list[plan->count] = recheck;
	if (recheck.scope == RECHECK_TREE) {
		plan->list[plan->count] = plan->list[plan->tree_count];
		plan->list[plan->tree_count++] = recheck;
	}
	plan->count++;
	return 0;
}

int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
		      const struct name_events *const *list, size_t count)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	AUTO_FREE bool *whole = NULL;
	int r = catalog_read_begin(sources->catalog, &reader);

	if (r == 0)
		r = find_whole(sources, list, count, &whole);
	plan->list = calloc(count ? count : 1, sizeof(*plan->list));
	if (!plan->list)
		return -ENOMEM;
	for (size_t i = 0, end; r == 0 && i < count; i = end) {
		end = i + 1;
		while (end < count && list[end]->dir == list[i]->dir)
			end++;
		r = add_recheck(plan, sources, whole, reader,
				(struct dir_events){list + i, end - i});
	}
	return r;
}

void recheck_plan_free(struct recheck_plan *plan)
{
	free(plan->list);
	*plan = (struct recheck_plan){0};
}
