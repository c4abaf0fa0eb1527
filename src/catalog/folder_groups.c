/* SPDX-License-Identifier: MIT */
#include "catalog/folder_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "catalog/catalog.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

/* Maximum number of entries that a search for a witness examines, unless it counts all. */
#define SEARCHED_MAX 256

/* A witness that is found after so few entries has no record: to search again costs less. */
#define REPEATED_MAX 16

int folder_update_add_change(struct folder_update *update, const struct folder_change *change)
{
	if (folder_tokens_same(&change->before, &change->now) &&
	    hash128_equal(change->before.hash, change->now.hash))
		return 0;
	return bytes_append(&update->changes, change, sizeof(*change));
}

int folder_update_add_dir(struct folder_update *update, uint64_t dir)
{
	return bytes_append(&update->dirs, &dir, sizeof(dir));
}

void folder_update_free(struct folder_update *update)
{
	bytes_free(&update->changes);
	bytes_free(&update->dirs);
	bytes_free(&update->left);
	bytes_free(&update->unranked);
}

/* ---- records -------------------------------------------------------------------------- */

static int put_folder(struct folder_update *update, uint64_t dir,
		      const struct folder_record *folder)
{
	struct key key = key_number(dir);

	return store_put(&update->w->store, TABLE_FOLDER, &key, encode_folder(folder));
}

static int put_group(struct folder_update *update, const struct folder_group *group)
{
	struct key key = key_number(group->id);

	update->w->totals.folder_changes++;
	return store_put(&update->w->store, TABLE_FOLDERS, &key, encode_folder_group(group));
}

static int put_tree(struct folder_update *update, const struct folder_record *folder, uint64_t dir)
{
	struct key key = key_tree(folder->sum, folder->group, dir);

	return store_put(&update->w->store, TABLE_BYTREE, &key, encode_nothing());
}

static int delete_tree(struct folder_update *update, const struct folder_record *folder,
		       uint64_t dir)
{
	struct key key = key_tree(folder->sum, folder->group, dir);
	int r = store_delete(&update->w->store, TABLE_BYTREE, &key);

	return r == -ENOENT ? -EUCLEAN : r;
}

static int get_group(struct folder_update *update, uint64_t id, struct folder_group *group)
{
	int r = catalog_get_folder_group(&update->w->store.reader, id, group);

	return r == -ENOENT ? -EUCLEAN : r;
}

/* ---- ranks ---------------------------------------------------------------------------- */

static int note_rank(struct folder_update *update, uint64_t group)
{
	const uint64_t *last = (const void *)(update->unranked.data + update->unranked.length);

	if (update->unranked.length > 0 && last[-1] == group)
		return 0;
	return bytes_append(&update->unranked, &group, sizeof(group));
}

/* Notes the groups of subdirectories, which can be implied by the group of this directory. */
static int note_subfolder_ranks(struct folder_update *update, uint64_t dir)
{
	struct catalog_reader *reader = &update->w->store.reader;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	uint64_t group = 0;
	int r = catalog_scan_entries(reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.kind == ENTRY_DIR)
			r = catalog_find_folder_group(reader, entry.child, &group);
		if (r == 0 && entry.kind == ENTRY_DIR && group)
			r = note_rank(update, group);
	}
	return r == -ENOENT ? 0 : r;
}

/* Notes the ranks that can change when a directory enters this group or leaves it. */
static int note_ranks(struct folder_update *update, uint64_t dir,
		      const struct folder_record *folder, uint64_t group)
{
	int r = note_rank(update, group);

	return r < 0 || folder->subfolders == 0 ? r : note_subfolder_ranks(update, dir);
}

/* Moves a group in the table folderrank. The caller writes its record. */
static int set_rank(struct folder_update *update, struct folder_group *group, uint64_t ranked)
{
	struct catalog_writer *w = update->w;
	struct key before = key_rank(group->ranked, group->id);
	struct key now = key_rank(ranked, group->id);
	int r = 0;

	if (ranked == group->ranked)
		return 0;
	w->totals.folder_order++;
	if (group->ranked) {
		w->totals.folder_groups--;
		r = store_delete(&w->store, TABLE_FOLDER_RANK, &before);
	}
	if (r == 0 && ranked) {
		w->totals.folder_groups++;
		r = store_put(&w->store, TABLE_FOLDER_RANK, &now, encode_nothing());
	}
	group->ranked = ranked;
	return r == -ENOENT ? -EUCLEAN : r;
}

static int rank_group(struct folder_update *update, uint64_t id)
{
	struct folder_group before = {.id = id}, now = {.id = id};
	uint64_t ranked, last;
	int r = update->before ? catalog_get_folder_group(update->before, id, &before) : 0;

	if (r == 0 || r == -ENOENT)
		r = catalog_get_folder_group(&update->w->store.reader, id, &now);
	if (r == 0)
		r = folder_group_rank(&update->w->store.reader, &now, &ranked);
	last = now.ranked;
	if (r == 0)
		r = set_rank(update, &now, ranked);
	if (r == 0 && last != ranked)
		r = put_group(update, &now);
	if (r < 0 && r != -ENOENT)
		return r;
	if (!before.folders && !now.folders)
		return 0;
	return delta_add(update->w, DELTA_FOLDER_GROUPS, &(struct delta_folder_group){before, now});
}

static int rank_groups(struct folder_update *update)
{
	uint64_t *ids = (void *)update->unranked.data;
	size_t count = numbers_sort_once(ids, update->unranked.length / sizeof(*ids));
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = rank_group(update, ids[i]);
	return r;
}

/* ---- folder groups -------------------------------------------------------------------- */

/* Adds the change of the directory's name in its parent: it leaves or enters the group of the
 * record. A removed directory and a root have no such name. */
static int change_token(struct folder_update *update, uint64_t id,
			const struct folder_record *folder, bool enters)
{
	struct catalog_reader *reader = &update->w->store.reader;
	struct folder_change change = {0};
	struct entry_record entry;
	struct dir_record dir;
	int r = catalog_get_dir(reader, id, &dir);

	if (r < 0 || dir.parent == 0)
		return r == -ENOENT ? 0 : r;
	r = catalog_find_entry(reader, dir.parent, dir.name, &entry);
	if (r == 0)
		r = folder_token_of_dir(reader, entry.name, folder,
					enters ? &change.now : &change.before);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	(enters ? &change.before : &change.now)->kind = TOKEN_UNEQUAL;
	change.dir = entry.dir;
	change.cookie = entry.cookie;
	return folder_update_add_change(update, &change);
}

/* Removes the directory from its group. The caller writes the record. */
static int leave_group(struct folder_update *update, uint64_t dir, struct folder_record *folder)
{
	struct folder_group group;
	int r = get_group(update, folder->group, &group);

	if (r == 0)
		r = change_token(update, dir, folder, false);
	if (r == 0)
		r = bytes_append(&update->left, &group.id, sizeof(group.id));
	if (r == 0)
		r = note_ranks(update, dir, folder, group.id);
	if (r < 0)
		return r;
	folder->group = 0;
	group.folders--;
	return put_group(update, &group);
}

/* Removes the directory from the table bytree, and from its group. The caller writes the record. */
static int unlist(struct folder_update *update, uint64_t dir, struct folder_record *folder)
{
	int r = folder->listed ? delete_tree(update, folder, dir) : 0;

	if (r == 0 && folder->group)
		r = leave_group(update, dir, folder);
	folder->listed = false;
	return r;
}

/* Moves a listed directory without a group to this group. Writes the record. */
static int enter_group(struct folder_update *update, uint64_t dir, uint64_t group)
{
	struct folder_record folder;
	int r = catalog_get_folder(&update->w->store.reader, dir, &folder);

	if (r == 0)
		r = delete_tree(update, &folder, dir);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	folder.group = group;
	r = put_tree(update, &folder, dir);
	if (r == 0)
		r = put_folder(update, dir, &folder);
	if (r == 0)
		r = note_ranks(update, dir, &folder, group);
	return r < 0 ? r : change_token(update, dir, &folder, true);
}

/* Finds a directory that equals this one. *other is 0 if there is none; *group is its group, or 0.
 */
static int find_equal(struct folder_update *update, uint64_t dir,
		      const struct folder_record *folder, uint64_t *other, uint64_t *group)
{
	struct catalog_reader *reader = &update->w->store.reader;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t last = 0;
	bool equal = false;
	int r = catalog_scan_trees(reader, folder->sum, 0, &scan);

	while (r == 0 && (r = catalog_next_tree(scan, group, other)) == 0) {
		/* one directory of each group is enough */
		if (*group && *group == last)
			continue;
		last = *group;
		r = folder_trees_equal(reader, dir, *other, &equal);
		if (r == 0 && equal)
			return 0;
	}
	*other = *group = 0;
	return r == -ENOENT ? 0 : r;
}

/* Makes a group of the equal directory *other, which has none. */
static int make_group(struct folder_update *update, const struct folder_record *folder,
		      uint64_t other, struct folder_group *group)
{
	*group = (struct folder_group){.id = catalog_new_id(update->w->catalog),
				       .folders = 1,
				       .files = folder->files,
				       .bytes = folder->bytes,
				       .sum = folder->sum};
	return group->id ? enter_group(update, other, group->id) : -errno;
}

/* Adds a complete directory to the table bytree, and to the group of the directories that equal it.
 * The caller writes the record. */
static int list(struct folder_update *update, uint64_t dir, struct folder_record *folder)
{
	struct folder_group group;
	uint64_t other;
	int r = find_equal(update, dir, folder, &other, &folder->group);

	if (r < 0)
		return r;
	folder->listed = true;
	if (!other)
		return put_tree(update, folder, dir);
	r = folder->group ? get_group(update, folder->group, &group)
			  : make_group(update, folder, other, &group);
	if (r < 0)
		return r;
	folder->group = group.id;
	group.folders++;
	r = put_group(update, &group);
	if (r == 0)
		r = put_tree(update, folder, dir);
	if (r == 0)
		r = note_ranks(update, dir, folder, group.id);
	return r < 0 ? r : change_token(update, dir, folder, true);
}

/* Removes a group of one directory, or of none. */
static int dissolve(struct folder_update *update, uint64_t id)
{
	struct catalog_reader *reader = &update->w->store.reader;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_record folder;
	struct folder_group group;
	struct key key = key_number(id);
	uint64_t dir = 0;
	int r = catalog_get_folder_group(reader, id, &group);

	if (r < 0 || group.folders > 1)
		return r == -ENOENT ? 0 : r; /* it was in the list twice */
	if (group.folders == 1) {
		r = catalog_scan_folders(reader, &group, 0, &scan);
		if (r == 0)
			r = catalog_next_folder(scan, &dir);
		if (r == 0)
			r = catalog_get_folder(reader, dir, &folder);
		if (r == 0)
			r = unlist(update, dir, &folder);
		folder.listed = true;
		if (r == 0)
			r = put_tree(update, &folder, dir);
		if (r == 0)
			r = put_folder(update, dir, &folder);
	}
	if (r == 0)
		r = set_rank(update, &group, 0);
	if (r == 0)
		r = store_delete(&update->w->store, TABLE_FOLDERS, &key);
	return r == -ENOENT ? -EUCLEAN : r;
}

/* ---- changes -------------------------------------------------------------------------- */

/* Returns whether the change can have taken the witness of a record, or of a directory without one.
 */
static bool takes_witness(const struct folder_change *change, const struct folder_record *folder)
{
	if (folder->witness && change->cookie != folder->witness)
		return false;
	return change->before.kind == TOKEN_UNEQUAL && change->now.kind != TOKEN_UNEQUAL;
}

static int apply(struct folder_update *update, const struct folder_change *change)
{
	struct folder_record folder = {0};
	int r = catalog_get_folder(&update->w->store.reader, change->dir, &folder);

	if (r < 0 && r != -ENOENT)
		return r;
	if (!folder.counted)
		return takes_witness(change, &folder) ? folder_update_add_dir(update, change->dir)
						      : 0;
	r = unlist(update, change->dir, &folder);
	folder_count(&folder, &change->before, false);
	folder_count(&folder, &change->now, true);
	if (r == 0)
		r = put_folder(update, change->dir, &folder);
	return r < 0 ? r : folder_update_add_dir(update, change->dir);
}

static int apply_changes(struct folder_update *update)
{
	struct folder_change change;
	int r = 0;

	while (r == 0 && update->change_next < update->changes.length) {
		memcpy(&change, update->changes.data + update->change_next, sizeof(change));
		update->change_next += sizeof(change);
		r = apply(update, &change);
	}
	update->changes.length = update->change_next = 0;
	return r;
}

/* ---- directories ---------------------------------------------------------------------- */

/* A search for a witness. */
struct group_search {
	struct folder_update *update;
	uint64_t dir;
	uint64_t begin; /* cookie of the last witness, or 0 */
	size_t examined; /* number of entries */
	struct folder_record *folder; /* counts the examined entries */
};

/* Examines the entries with cookies above after, up to until. Sets folder->witness and returns 0 if
 * one is a witness. Returns -ENOENT at the end. */
static int search_entries(struct group_search *search, uint64_t after, uint64_t until)
{
	struct catalog_reader *reader = &search->update->w->store.reader;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	struct folder_token token;
	int r = catalog_scan_entries(reader, search->dir, after, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.cookie > until)
			return -ENOENT;
		r = folder_token_of_entry(reader, &entry, &token);
		if (r < 0)
			return r == -ENOENT ? -EUCLEAN : r;
		if (token.kind == TOKEN_UNEQUAL && search->examined < SEARCHED_MAX) {
			search->folder->witness = entry.cookie;
			return 0;
		}
		search->examined++;
		folder_count(search->folder, &token, true);
	}
	return r;
}

/* Sets *is to whether the record has a witness that still equals nothing. */
static int has_witness(struct folder_update *update, uint64_t dir,
		       const struct folder_record *folder, bool *is)
{
	struct folder_token token = {0};
	int r = folder->witness
			? folder_token_at(&update->w->store.reader, dir, folder->witness, &token)
			: 0;

	*is = token.kind == TOKEN_UNEQUAL;
	return r;
}

/* Searches an entry that nothing equals, from the last one on, as all entries before it were
 * searched already. If there is none, or if the search takes long, the record counts. So later
 * changes do not search again. Sets *needed to whether the directory needs a record. */
static int find_witness(struct folder_update *update, uint64_t dir, struct folder_record *folder,
			bool *needed)
{
	struct folder_record counts = {0};
	struct group_search search = {update, dir, folder->witness, 0, &counts};
	int r = has_witness(update, dir, folder, needed);

	if (r < 0 || *needed)
		return r;
	r = search_entries(&search, search.begin, UINT64_MAX);
	if (r == -ENOENT && search.begin)
		r = search_entries(&search, 0, search.begin);
	counts.counted = r == -ENOENT;
	*folder = counts.counted ? counts : (struct folder_record){.witness = counts.witness};
	*needed = counts.counted || search.begin || search.examined > REPEATED_MAX;
	return r == -ENOENT ? 0 : r;
}

static int remove_folder(struct folder_update *update, uint64_t id, struct folder_record *folder)
{
	struct key key = key_number(id);
	int r = unlist(update, id, folder);

	return r < 0 ? r : store_delete(&update->w->store, TABLE_FOLDER, &key);
}

/* Updates the group and the record of a directory, which needs one. */
static int examine_needed(struct folder_update *update, uint64_t id, struct folder_record *folder)
{
	struct dir_record dir;
	bool complete;
	int r = catalog_get_dir(&update->w->store.reader, id, &dir);

	if (r < 0)
		return r;
	complete = dir.error == 0 && !(dir.flags & ~(uint32_t)DIR_PLACE) && folder->counted &&
		   folder->unequal == 0;
	if (folder->group) /* a directory that was moved has another parent */
		r = note_rank(update, folder->group);
	if (r == 0 && complete != folder->listed)
		r = complete ? list(update, id, folder) : unlist(update, id, folder);
	return r < 0 ? r : put_folder(update, id, folder);
}

static int examine(struct folder_update *update, uint64_t id)
{
	struct folder_record folder = {0};
	bool known, needed = true;
	int r = catalog_get_folder(&update->w->store.reader, id, &folder);

	known = r == 0;
	if (r < 0 && r != -ENOENT)
		return r;
	r = folder.counted ? 0 : find_witness(update, id, &folder, &needed);
	if (r == 0 && needed)
		r = examine_needed(update, id, &folder);
	if (r < 0 && r != -ENOENT)
		return r;
	return known && r == -ENOENT ? remove_folder(update, id, &folder) : 0;
}

/* Examines the directories with the greatest ids first: new directories have greater ids than their
 * parents, so subdirectories come first. */
static int examine_dirs(struct folder_update *update)
{
	CLEANUP_BYTES struct bytes dirs = update->dirs;
	uint64_t *ids = (void *)dirs.data;
	size_t count = numbers_sort_once(ids, dirs.length / sizeof(*ids));
	int r = 0;

	update->dirs = (struct bytes){0};
	while (r == 0 && count > 0) {
		r = examine(update, ids[--count]);
		if (r == 0)
			r = apply_changes(update);
	}
	return r;
}

static int dissolve_left(struct folder_update *update)
{
	CLEANUP_BYTES struct bytes left = update->left;
	const uint64_t *ids = (const void *)left.data;
	size_t count = left.length / sizeof(*ids);
	int r = 0;

	update->left = (struct bytes){0};
	for (size_t i = 0; r == 0 && i < count; i++)
		r = dissolve(update, ids[i]);
	return r < 0 ? r : apply_changes(update);
}

int folder_update_finish(struct folder_update *update)
{
	int r = apply_changes(update);

	while (r == 0 && update->dirs.length + update->left.length > 0) {
		if (update->dirs.length > 0)
			r = examine_dirs(update);
		else
			r = dissolve_left(update);
	}
	return r < 0 ? r : rank_groups(update);
}
