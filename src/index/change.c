/* SPDX-License-Identifier: MIT */
#include "index/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sort.h"
#include "index/file.h"
#include "index/folders.h"
#include "index/group.h"
#include "index/keep_rules.h"
#include "index/kept.h"
#include "index/meta.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

uint32_t catalog_next_scan(struct catalog_writer *w)
{
	w->store.changed = true;
	return (uint32_t)++w->totals.scans;
}

uint32_t catalog_begin_scan(struct catalog_writer *w)
{
	uint32_t scan = catalog_next_scan(w);

	if (!w->totals.unended)
		w->totals.unended = scan;
	return scan;
}

void catalog_end_scan(struct catalog_writer *w, bool none_pending)
{
	w->store.changed = true;
	w->totals.unended = 0;
	w->none_pending = none_pending;
}

uint64_t catalog_generation(const struct catalog_writer *w)
{
	return w->totals.generation;
}

int catalog_set_min_size(struct catalog_writer *w, uint64_t min_size)
{
	uint64_t before;
	int r = meta_get_number(&w->store.reader, META_MIN_SIZE, &before);

	if (r < 0 || min_size == before)
		return r;
	r = meta_put_number(w, META_MIN_SIZE, min_size);
	if (r == 0 && min_size > before)
		r = files_forget_small_content(w, min_size);
	return r;
}

int catalog_set_view(struct catalog_writer *w, const char *mount_point)
{
	return meta_put_text(w, META_VIEW, mount_point, strlen(mount_point));
}

static int begin_view_body(struct catalog_writer *w, void *context)
{
	(void)context;
	w->store.changed = w->totals.viewed != catalog_unused_id(w->catalog);
	w->none_pending = w->totals.none_pending; /* this stays as it is */
	return 0;
}

int catalog_begin_view(struct catalog *catalog)
{
	atomic_store(&catalog->viewed, true);
	return catalog_write(catalog, begin_view_body, NULL);
}

int catalog_mark_operands(struct catalog_writer *w)
{
	return meta_put_number(w, META_OPERANDS, 1);
}

int catalog_set_keep_rules(struct catalog_writer *w, const struct keep_rules *rules)
{
	CLEANUP_BYTES struct bytes before = {0}, now = {0};
	int r = meta_get_text(&w->store.reader, META_KEEP, &before);

	if (r == 0 && rules->count > 0)
		r = keep_rules_encode(rules, &now);
	if (r < 0 || bytes_compare(&before, &now) == 0)
		return r;
	groups_choose_again(w, true);
	r = meta_put_text(w, META_KEEP, now.data, now.length);
	keep_rules_free(&w->keep);
	return r < 0 ? r : catalog_get_keep_rules(&w->store.reader, &w->keep);
}

int catalog_add_source(struct catalog_writer *w, uint64_t index, const char *path,
		       const struct attributes *root, uint64_t root_dir)
{
	struct dir_record dir = {.id = root_dir,
				 .source = (uint32_t)index,
				 .attributes = *root,
				 .name = {"", 0}};
	int r = meta_put_source(w, index, path, root_dir);

	if (r == 0)
		r = store_put(&w->store, TABLE_DIR, key_number(root_dir), encode_dir(&dir));
	if (r == 0)
		w->totals.directories++;
	return r < 0 ? r : folders_note_dir(w, root_dir);
}

void catalog_reconsider_kept(struct catalog_writer *w)
{
	w->reconsiders_kept = true;
}

int catalog_purge_orphans(struct catalog_writer *w, size_t limit, bool *left)
{
	static const struct key first;
	struct record_span orphan;
	uint64_t id;
	int r = 0;

	*left = true;
	for (size_t i = 0; r == 0 && i < limit; i++) {
		r = store_seek(&w->store.reader, TABLE_ORPHAN, first, 0, &orphan);
		*left = r != -ENOENT;
		if (r < 0)
			return *left ? r : 0;
		if (!key_get_number(orphan.key, &id))
			return -EUCLEAN;
		r = file_delete(w, id);
	}
	return r;
}

void groups_choose_again(struct catalog_writer *w, bool anew)
{
	w->totals.choose_from = 1;
	w->totals.choose_anew |= anew;
	w->store.changed = true;
}

static int choose_again(struct catalog_writer *w, struct kept_choice *choice,
			const struct group_record *group)
{
	uint64_t kept = group->kept;
	bool emptied;
	int r = kept_any_is_emptied(choice, group->id, &emptied);

	if (r == 0 && (emptied || (group->maps && group->retained > 0)))
		r = group_note_places(w, group->id, emptied);
	if (r == 0 && group_is_visible(group))
		r = w->totals.choose_anew ? kept_choose(choice, group->id, &kept)
					  : kept_judge(choice, group->id, &kept);
	return r < 0 || kept == group->kept ? r : group_keep(w, group->id, kept);
}

int catalog_choose_kept(struct catalog_writer *w, size_t limit)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct kept_choice choice = {.reader = &w->store.reader, .rules = &w->keep};
	struct group_record group;
	int r = 0;

	if (!w->totals.choose_from)
		return 0;
	r = catalog_scan_groups(&w->store.reader, w->totals.choose_from - 1, &scan);
	w->store.changed = true;
	while (r == 0 && limit-- > 0 && (r = catalog_next_group(scan, &group)) == 0) {
		w->totals.choose_from = group.id + 1;
		r = choose_again(w, &choice, &group);
		if (r == -ENOENT)
			r = -EUCLEAN;
	}
	kept_choice_deinit(&choice);
	if (r == -ENOENT) {
		w->totals.choose_from = 0;
		w->totals.choose_anew = false;
		r = 0;
	}
	return r;
}

static int update_places_body(struct catalog_writer *w, void *context)
{
	(void)context;
	groups_choose_again(w, false);
	return meta_put_number(w, META_PLACES, PLACES_VERSION);
}

int catalog_update_places(struct catalog *catalog)
{
	struct catalog_reader *reader = NULL;
	uint64_t version = 0;
	int r = store_read_begin(&catalog->store, &reader);

	if (r < 0)
		return r;
	r = meta_get_number(reader, META_PLACES, &version);
	store_read_end(reader);
	if (r < 0 && r != -ENOENT)
		return r;
	return version == PLACES_VERSION ? 0 : catalog_write(catalog, update_places_body, NULL);
}

/* ---- contents ---------------------------------------------------------------------- */

/* The contents of many files are written in passes. Each pass writes one table, in the order of the
 * table's keys. In that order LMDB appends, or finds the position on the current page.
 *
 *   files (unchanged since they were read?) and contents -> sizes, removed and added -> members
 */

/* A file whose content was read. */
struct learned {
	struct content_change change;
	struct content_record before; /* zero: unknown */
	uint64_t size;
	bool regular;
	bool maps; /* catalog_maps_file() */
	bool linked; /* a name of the file has an id of its own (file.h) */
	bool was_kept; /* file_was_kept() */
	bool stale; /* nothing is written for the file */
};

static int by_file(const void *a, const void *b)
{
	return numbers_compare(((const struct learned *)a)->change.file,
			       ((const struct learned *)b)->change.file);
}

static int by_group(const void *a, const void *b)
{
	const struct learned *x = a, *y = b;
	int order = numbers_compare(x->change.group, y->change.group);

	return order ? order : by_file(a, b);
}

static int by_size_before(const void *a, const void *b)
{
	const struct learned *x = a, *y = b;
	int order = numbers_compare(x->size, y->size);

	if (order == 0)
		order = numbers_compare(x->before.prefix, y->before.prefix);
	if (order == 0)
		order = numbers_compare(x->before.group, y->before.group);
	return order ? order : by_file(a, b);
}

static int by_size_now(const void *a, const void *b)
{
	const struct learned *x = a, *y = b;
	int order = numbers_compare(x->size, y->size);

	if (order == 0)
		order = numbers_compare(x->change.prefix, y->change.prefix);
	return order ? order : by_group(a, b);
}

/* Sorts. The list is often in order already, such as files of one size. */
static void sort(struct learned *list, size_t count, int (*order)(const void *, const void *))
{
	sort_unless_sorted(list, count, sizeof(*list), order);
}

static struct content_record content_of(const struct content_change *change)
{
	return (struct content_record){.prefix = change->prefix,
				       .group = change->group,
				       .hash = change->hash};
}

static bool is_listed_anew(const struct learned *learned)
{
	return !learned->stale && learned->regular &&
	       (learned->before.prefix != learned->change.prefix ||
		learned->before.group != learned->change.group);
}

/* ---- the passes ---------------------------------------------------------------------- */

/* Sets learned->stale if the result cannot be recorded, and gets what the index has of the file. */
static int look_up(struct catalog_writer *w, struct learned *learned)
{
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, learned->change.file, &file);

	learned->stale = r == -ENOENT;
	if (r < 0)
		return learned->stale ? 0 : r;
	learned->stale = file.names == 0 || file_digest(&file) != learned->change.digest ||
			 catalog_defers(&w->totals, file.id);
	learned->size = file.attributes.size;
	learned->regular = S_ISREG(file.attributes.mode);
	learned->maps = catalog_maps_file(w->catalog, &file);
	learned->linked = file_has_links(&file);
	learned->was_kept = file_was_kept(&file);
	if (!learned->stale && learned->change.group)
		r = group_find(w, learned->change.group);
	if (r == -ENOENT) /* the group was deleted meanwhile, as its last member left */
		learned->stale = true;
	else if (r < 0)
		return r;
	r = catalog_get_content(&w->store.reader, file.id, &learned->before);
	return r == -ENOENT ? 0 : r;
}

static int put_content(struct catalog_writer *w, const struct content_change *change)
{
	struct content_record now = content_of(change);

	w->totals.comparisons++;
	return store_put(&w->store, TABLE_CONTENT, key_number(change->file), encode_content(&now));
}

static int put_all(struct catalog_writer *w, struct learned *list, size_t count)
{
	int r = 0;

	sort(list, count, by_file);
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = look_up(w, &list[i]);
		/* if the list has a file twice, one of the results counts */
		if (i > 0 && list[i].change.file == list[i - 1].change.file)
			list[i].stale = true;
		if (r == 0 && !list[i].stale)
			r = put_content(w, &list[i].change);
	}
	return r;
}

static int list_all(struct catalog_writer *w, struct learned *list, size_t count)
{
	struct content_record now;
	int r = 0;

	sort(list, count, by_size_before);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (is_listed_anew(&list[i]))
			r = file_unlist_size(w, list[i].change.file, list[i].size, &list[i].before);
	}
	sort(list, count, by_size_now);
	for (size_t i = 0; r == 0 && i < count; i++) {
		now = content_of(&list[i].change);
		if (is_listed_anew(&list[i]))
			r = file_list_size(w, list[i].change.file, list[i].size, &now);
	}
	return r;
}

static int move_links(struct catalog_writer *w, const struct learned *learned)
{
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, learned->change.file, &file);

	if (r == 0 && learned->before.group)
		r = links_leave(w, &file, learned->before.group);
	if (r == 0 && learned->change.group)
		r = links_join(w, &file, learned->change.group);
	return r;
}

static int join_all(struct catalog_writer *w, struct learned *list, size_t count)
{
	int r = 0;

	sort(list, count, by_group);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct learned *at = &list[i];

		if (at->stale)
			continue;
		if (at->change.group)
			r = group_join(w, at->change.group, at->change.file, 0, at->maps);
		if (r == 0 && at->change.group && at->was_kept)
			r = file_keep_again(w, at->change.file, at->change.group);
		if (r == 0 && at->before.group && at->before.group != at->change.group)
			r = group_leave(w, at->before.group, at->change.file, false);
		if (r == 0 && at->linked)
			r = move_links(w, at);
	}
	return r;
}

static int set_all(struct catalog_writer *w, struct learned *list, size_t count)
{
	int r = put_all(w, list, count);

	if (r == 0)
		r = list_all(w, list, count);
	return r < 0 ? r : join_all(w, list, count);
}

int catalog_set_content(struct catalog_writer *w, const struct content_change *change)
{
	struct learned learned = {.change = *change};
	int r = set_all(w, &learned, 1);

	if (r < 0)
		return r;
	return learned.stale ? CONTENT_STALE : 0;
}

int catalog_set_contents(struct catalog_writer *w, const struct content_change *changes,
			 size_t count)
{
	AUTO_FREE struct learned *list = calloc(count ? count : 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i].change = changes[i];
	return set_all(w, list, count);
}

/* ---- extents ------------------------------------------------------------------------- */

static bool is_same_state(const struct group_record *a, const struct group_record *b)
{
	return a->inodes == b->inodes && a->kept == b->kept && clock_equal(a->changed, b->changed);
}

static int put_extents(struct catalog_writer *w, const struct file_extents *file, uint64_t size)
{
	struct key key = key_number(file->file);

	if (file->record.own == size && !file->record.sharing)
		return store_forget(&w->store, TABLE_EXTENT, key);
	return store_put(&w->store, TABLE_EXTENT, key, encode_extents(&file->record));
}

int catalog_set_extents(struct catalog_writer *w, const struct group_extents *extents)
{
	struct group_record now;
	int r = catalog_get_group(&w->store.reader, extents->group.id, &now);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!is_same_state(&now, &extents->group))
		return 0;
	for (size_t i = 0; r == 0 && i < extents->count; i++)
		r = put_extents(w, &extents->files[i], now.size);
	return r < 0 ? r : group_set_retained(w, now.id, extents->retained, extents->due);
}

int catalog_map_again(struct catalog_writer *w, uint64_t *after, size_t limit)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int r = catalog_scan_groups(&w->store.reader, *after, &scan);

	while (r == 0 && limit-- > 0 && (r = catalog_next_group(scan, &group)) == 0) {
		struct key key = key_number(group.id);

		*after = group.id;
		if (group.maps && group_is_visible(&group))
			r = store_put(&w->store, TABLE_UNMAPPED, key, encode_number(0));
	}
	if (r == -ENOENT)
		*after = 0;
	return r == -ENOENT ? 0 : r;
}

/* ---- deferred files ------------------------------------------------------------------ */

int catalog_add_deferred_group(struct catalog_writer *w, struct hash128 hash, uint64_t size_bytes,
			       uint64_t *group)
{
	int r = catalog_add_group(w, hash, size_bytes, group);

	return r < 0 ? r : group_set_stays(w, *group, true);
}

int catalog_add_deferred_content(struct catalog_writer *w, const struct content_change *change)
{
	return put_content(w, change);
}
