/* SPDX-License-Identifier: MIT */
#include "daemon/recheck_plan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "catalog/change.h"
#include "catalog/paths.h"
#include "catalog/query.h"

/* ---- what was written to ------------------------------------------------------------- */

/* What came from where nobody sees it may have been written to there. A look may have found it
 * already, when only the event that it went was known, and have taken it for unchanged. */
#define WRITTEN (DIRTY_CONTENT | DIRTY_UNSEEN | DIRTY_CREATED)

static int add_written(struct catalog_reader *reader, const struct dirty_name *dirty,
		       struct recheck_plan *plan, struct bytes *written)
{
	struct name name = {dirty->name, dirty->length};
	bool seen = dirty->why & DIRTY_CONTENT;
	struct written_file file = {.closed = !seen || dirty->why & DIRTY_CLOSED};
	struct entry_record entry;
	int r = catalog_find_entry(reader, dirty->dir, name, &entry);

	if (r == -ENOENT || (r == 0 && entry.kind != ENTRY_FILE)) {
		plan->doubt |= seen;
		return 0;
	}
	file.file = r == 0 ? entry.child : 0;
	return r < 0 ? r : bytes_append(written, &file, sizeof(file));
}

/* May something have been written to which had this name only for a moment? */
static bool is_doubtful(uint32_t why)
{
	return why & (DIRTY_LOST | DIRTY_NEW_DIR) ||
	       (why & DIRTY_NAME && why & (DIRTY_CONTENT | DIRTY_ATTRIBUTES));
}

static int find_written(struct recheck_plan *plan, struct catalog *catalog,
			const struct dirty_name *const *list, size_t count, struct bytes *written)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	int r = catalog_read_begin(catalog, &reader);

	for (size_t i = 0; r == 0 && i < count; i++) {
		plan->doubt |= is_doubtful(list[i]->why);
		if (list[i]->why & WRITTEN && list[i]->length > 0)
			r = add_written(reader, list[i], plan, written);
	}
	return r;
}

static int touch_body(struct catalog_writer *w, void *context)
{
	const struct bytes *written = context;
	const struct written_file *files = (const void *)written->data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < written->length / sizeof(*files); i++)
		r = catalog_touch_files(w, &files[i].file, 1);
	return r;
}

int recheck_plan_hide_written(struct recheck_plan *plan, struct catalog *catalog,
			      const struct dirty_name *const *list, size_t count,
			      struct bytes *written)
{
	int r = find_written(plan, catalog, list, count, written);

	return r < 0 || written->length == 0 ? r : catalog_write(catalog, touch_body, written);
}

/* ---- where to look ------------------------------------------------------------------- */

static enum ingest_look_what what_of(const struct dir_record *record, uint32_t why)
{
	if (why & DIRTY_DEEP)
		return LOOK_DEEP;
	/* no other directory shows whether the root of a source can be read */
	if (why & DIRTY_LISTING || (record->parent == 0 && why & DIRTY_ATTRIBUTES))
		return LOOK_LISTING;
	return LOOK_NAMES;
}

static void add_name(struct recheck_plan *plan, struct ingest_look *look,
		     const struct dirty_name *dirty)
{
	struct ingest_look_name *name = &plan->names[plan->name_count++];

	*name = (struct ingest_look_name){.name = {dirty->name, dirty->length}};
	if (dirty->why & DIRTY_ATTRIBUTES)
		name->flags |= LOOK_ATTRIBUTES;
	else if (!(dirty->why & (DIRTY_CONTENT | DIRTY_UNSEEN)) && !plan->doubt)
		name->flags |= LOOK_SAME_BYTES;
	if (dirty->why & DIRTY_CREATED) /* by a link, to what may have been out of sight */
		name->flags |= LOOK_CREATED;
	else if (dirty->why & DIRTY_CAME)
		name->flags |= LOOK_MOVED;
	if (dirty->why & (plan->doubt ? DIRTY_ARRIVED : DIRTY_CREATED))
		name->flags |= LOOK_ARRIVED;
	if (dirty->why & (DIRTY_CONTENT | DIRTY_ATTRIBUTES | DIRTY_REMOVED))
		name->flags |= LOOK_TOUCHED;
	if (dirty->why & DIRTY_LOST)
		name->flags |= LOOK_LOST;
	look->count++;
}

/* What is dirty in one directory. */
struct dirty_run {
	const struct dirty_name *const *list;
	size_t count;
};

/* Does that tell of what may have another name anywhere? */
static bool tells_of_others(struct dirty_run run)
{
	const uint32_t telling = DIRTY_ARRIVED | DIRTY_CONTENT | DIRTY_ATTRIBUTES | DIRTY_LOST;

	for (size_t i = 0; i < run.count; i++) {
		if (run.list[i]->length > 0 && run.list[i]->why & telling)
			return true;
	}
	return false;
}

/* Is that a source that is looked at as a whole? */
static bool is_whole(const struct sources *sources, const struct dirty_name *dirty,
		     uint32_t *source)
{
	for (*source = 0; *source < sources->count; (*source)++) {
		if (sources->list[*source].root == dirty->dir)
			return dirty->length == 0 && dirty->why & DIRTY_DEEP;
	}
	return false;
}

static int find_whole(const struct sources *sources, const struct dirty_name *const *list,
		      size_t count, bool **whole)
{
	uint32_t source;

	*whole = calloc(sources->count, sizeof(**whole));
	if (!*whole)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (is_whole(sources, list[i], &source))
			(*whole)[source] = true;
	}
	return 0;
}

/* Makes the look at one directory, of whose names count are dirty. */
static int add_look(struct recheck_plan *plan, const struct sources *sources, const bool *whole,
		    struct catalog_reader *reader, struct dirty_run run)
{
	const struct dirty_name *first = run.list[0];
	struct ingest_look look = {.dir = first->dir, .names = plan->names + plan->name_count};
	bool itself = first->length == 0;
	struct dir_record record;
	int r = catalog_get_dir(reader, first->dir, &record);

	if (r == -ENOENT)
		plan->missed |= tells_of_others(run);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (record.source >= sources->count)
		return -EUCLEAN;
	if (atomic_load(&sources->list[record.source].missing))
		return 0; /* all of it is looked at when it is back */
	if (whole[record.source] && record.parent != 0)
		return 0;
	if (itself)
		look.what = what_of(&record, first->why);
	if (look.what != LOOK_NAMES && !whole[record.source])
		plan->missed |= tells_of_others(run);
	for (size_t i = itself; look.what == LOOK_NAMES && i < run.count; i++)
		add_name(plan, &look, run.list[i]);
	plan->list[plan->count] = look;
	if (look.what == LOOK_DEEP) {
		plan->list[plan->count] = plan->list[plan->deep_count];
		plan->list[plan->deep_count++] = look;
	}
	plan->count++;
	return 0;
}

int recheck_plan_make(struct recheck_plan *plan, const struct sources *sources,
		      const struct dirty_name *const *list, size_t count)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	bool *whole AUTO_FREE = NULL;
	int r = catalog_read_begin(sources->catalog, &reader);

	if (r == 0)
		r = find_whole(sources, list, count, &whole);
	plan->list = calloc(count ? count : 1, sizeof(*plan->list));
	plan->names = calloc(count ? count : 1, sizeof(*plan->names));
	if (!plan->list || !plan->names)
		return -ENOMEM;
	for (size_t i = 0, end; r == 0 && i < count; i = end) {
		end = i + 1;
		while (end < count && list[end]->dir == list[i]->dir)
			end++;
		r = add_look(plan, sources, whole, reader, (struct dirty_run){list + i, end - i});
	}
	return r;
}

void recheck_plan_free(struct recheck_plan *plan)
{
	free(plan->list);
	free(plan->names);
	*plan = (struct recheck_plan){0};
}
