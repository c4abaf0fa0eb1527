/* SPDX-License-Identifier: MIT */
#include "catalog/move.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/delta_builder.h"
#include "catalog/folders.h"
#include "catalog/group.h"
#include "catalog/kept.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/record.h"
#include "catalog/redundant.h"
#include "catalog/scan.h"
#include "catalog/tree.h"
#include "store/key.h"
#include "store/writer.h"

/* Maximum number of moved names whose groups are checked in the transaction of the move. */
#define JUDGED_MAX 10000

/* Sorts by directory. The last change of each directory is first. */
static int by_id_then_last(const void *a, const void *b)
{
	const struct name_change *x = *(const struct name_change *const *)a;
	const struct name_change *y = *(const struct name_change *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x > y ? -1 : x < y;
}

static int by_order(const void *a, const void *b)
{
	const struct name_change *x = *(const struct name_change *const *)a;
	const struct name_change *y = *(const struct name_change *const *)b;

	return x < y ? -1 : x > y;
}

/* Collects the moves. If a directory moves twice, the last move counts. */
static int collect(const struct name_change *changes, size_t count, struct moves *moves)
{
	size_t all = 0;

	*moves = (struct moves){0};
	for (size_t i = 0; i < count; i++)
		all += changes[i].kind == NAME_MOVE_DIR;
	if (all == 0)
		return 0;
	moves->list = calloc(all, sizeof(*moves->list));
	moves->places = calloc(all, sizeof(*moves->places));
	if (!moves->list || !moves->places)
		return -ENOMEM;
	all = 0;
	for (size_t i = 0; i < count; i++) {
		if (changes[i].kind == NAME_MOVE_DIR)
			moves->list[all++] = &changes[i];
	}
	qsort(moves->list, all, sizeof(*moves->list), by_id_then_last);
	for (size_t i = 0; i < all; i++) {
		if (i == 0 || moves->list[i]->id != moves->list[i - 1]->id)
			moves->list[moves->count++] = moves->list[i];
	}
	qsort(moves->list, moves->count, sizeof(*moves->list), by_order);
	return 0;
}

void moves_free(struct moves *moves)
{
	free(moves->list);
	free(moves->places);
}

/* ---- leaving the old parents --------------------------------------------------------- */

static int detach(struct catalog_writer *w, const struct name_change *change)
{
	struct entry_record entry;
	struct dir_record dir;
	struct key key;
	int r = catalog_get_dir(&w->store.reader, change->id, &dir);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	/* a directory cannot change its source, as all dir_records below have the source's number;
	 * the root of a source cannot move */
	if (dir.source != change->source || dir.parent == 0)
		return -ESTALE;
	r = catalog_find_entry(&w->store.reader, dir.parent, dir.name, &entry);
	if (r == 0 && (entry.kind != ENTRY_DIR || entry.child != dir.id))
		r = -ENOENT;
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	r = delta_add_name(w, dir.parent, dir.name);
	if (r == 0)
		r = redundant_note_dir(w, dir.id, dir.parent, false);
	if (r == 0)
		r = folders_note_name(w, entry.dir, entry.cookie);
	key = key_pair(entry.dir, entry.cookie);
	return r < 0 ? r : store_delete(&w->store, TABLE_ENTRY, &key);
}

int moves_detach(struct catalog_writer *w, const struct name_change *changes, size_t count,
		 struct moves *moves)
{
	int r = collect(changes, count, moves);

	for (size_t i = 0; r == 0 && i < moves->count; i++) {
		r = detach(w, moves->list[i]);
		if (r == 0)
			r = kept_get_place(&w->store.reader, moves->list[i]->id, &moves->places[i]);
	}
	return r;
}

/* ---- entering the new parents -------------------------------------------------------- */

/* Writes the directory's record with its new parent. The entry of its name is added later. */
static int put_record(struct catalog_writer *w, const struct name_change *change)
{
	struct key key = key_number(change->id);
	struct dir_record dir;
	int r = catalog_get_dir(&w->store.reader, change->id, &dir);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	dir.parent = change->dir;
	dir.name = change->name;
	dir.attributes = change->attributes;
	r = store_put(&w->store, TABLE_DIR, &key, encode_dir(&dir));
	return r < 0 ? r : delta_add_dir(w, (struct delta_dir){.dir = change->id, .moved = true});
}

static int refuse_cycle(struct catalog_writer *w, const struct name_change *change)
{
	bool cycle;
	int r = catalog_dir_is_in_cycle(&w->store.reader, change->id, &cycle);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* attach() handles a missing parent */
	return cycle ? -ELOOP : 0;
}

static int attach(struct catalog_writer *w, const struct name_change *change)
{
	struct entry_record displaced, entry = {.dir = change->dir,
						.kind = ENTRY_DIR,
						.child = change->id,
						.name = change->name};
	struct dir_record parent;
	int r = catalog_get_dir(&w->store.reader, change->dir, &parent);

	if (r == -ENOENT)
		return tree_remove_dir(w, change->id);
	if (r < 0)
		return r;
	if (parent.source != change->source)
		return -ESTALE;
	r = catalog_find_entry(&w->store.reader, change->dir, change->name, &displaced);
	if (r == 0)
		r = tree_remove_name(w, displaced.dir, displaced.cookie, 0);
	if (r < 0 && r != -ENOENT)
		return r;
	r = redundant_note_dir(w, change->id, change->dir, true);
	entry.cookie = catalog_name_cookie(&w->store.reader, change->name);
	return r < 0 ? r : tree_add_entry(w, &entry);
}

/* Has kept copies chosen again if a move changed the place of files. */
static int compare_places(struct catalog_writer *w, const struct moves *moves)
{
	uint64_t place;
	int r = 0;

	for (size_t i = 0; r == 0 && i < moves->count; i++) {
		r = kept_get_place(&w->store.reader, moves->list[i]->id, &place);
		if (r == 0 && place != moves->places[i])
			groups_choose_again(w, false);
		else if (r == -ENOENT) /* its new parent is missing */
			r = 0;
	}
	return r;
}

/* Has the kept copies checked of the groups of files in a directory, and pushes its subdirectories.
 * Counts the names. */
static int judge_dir(struct catalog_writer *w, uint64_t dir, struct bytes *dirs, size_t *count)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct content_record content;
	struct entry_record entry;
	int r = catalog_scan_entries(&w->store.reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0 && ++*count <= JUDGED_MAX) {
		if (entry.kind == ENTRY_DIR)
			r = bytes_append(dirs, &entry.child, sizeof(entry.child));
		if (entry.kind != ENTRY_FILE)
			continue;
		r = catalog_get_content(&w->store.reader, entry.child, &content);
		if (r == 0 && content.group)
			r = group_judge(w, content.group, entry.child);
		if (r == -ENOENT)
			r = 0;
	}
	return r == -ENOENT ? 0 : r;
}

/* Has kept copies checked if keep rules use the paths of the moved files: those of the groups of
 * these files, or all if there are many. */
static int judge_paths(struct catalog_writer *w, const struct moves *moves)
{
	CLEANUP_BYTES struct bytes dirs = {0};
	size_t count = 0;
	uint64_t dir;
	int r = 0;

	if (!keep_rules_use_paths(&w->keep))
		return 0;
	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = bytes_append(&dirs, &moves->list[i]->id, sizeof(dir));
	while (r == 0 && dirs.length > 0 && count <= JUDGED_MAX) {
		dirs.length -= sizeof(dir);
		memcpy(&dir, dirs.data + dirs.length, sizeof(dir));
		r = judge_dir(w, dir, &dirs, &count);
	}
	if (r == 0 && count > JUDGED_MAX)
		groups_choose_again(w, false);
	return r;
}

int moves_attach(struct catalog_writer *w, const struct moves *moves)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = put_record(w, moves->list[i]);
	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = refuse_cycle(w, moves->list[i]);
	for (size_t i = 0; r == 0 && i < moves->count; i++)
		r = attach(w, moves->list[i]);
	if (r == 0)
		r = judge_paths(w, moves);
	return r < 0 ? r : compare_places(w, moves);
}
