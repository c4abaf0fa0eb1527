/* SPDX-License-Identifier: MIT */
#include "index/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/sort.h"
#include "index/catalog.h"
#include "index/change.h"
#include "index/folder_token.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

/* ---- folder groups -------------------------------------------------------------------------- */

/* Updates the tables of folders.h from changes of names.
 *
 * The changes are applied in two alternating steps. First, each change adds the difference of its
 * tokens to the count of its directory; a complete directory leaves its folder group. Then each
 * directory that changed is examined: it searches another witness, or an equal directory. When a
 * directory enters or leaves a folder group, its name in the parent has another token, which is one
 * more change. A directory is examined only while no change is left, so that it reads the tokens
 * that all counts contain. At the end, each group whose folders, or their parents' groups, changed
 * gets its rank. */

/* A name got another token. */
struct folder_change {
	uint64_t dir;
	uint64_t cookie;
	struct folder_token before, now;
};

/* Zero, except w and before, at the beginning. */
struct folder_update {
	struct catalog_writer *w;
	/* the last snapshot before the transaction; NULL: it had no folder groups */
	struct catalog_reader *before;
	struct bytes changes; /* of struct folder_change, from change_next on */
	size_t change_next;
	struct bytes dirs; /* ids of directories to examine */
	struct bytes left; /* ids of folder groups that a directory left */
	struct bytes unranked; /* ids of folder groups whose rank possibly changes */
};

/* Maximum number of entries that a search for a witness examines, unless it counts all. */
#define SEARCHED_MAX 256

/* A witness that is found after so few entries has no record: to search again costs less. */
#define REPEATED_MAX 16

/* Each function returns 0 or -errno. Tokens must be those at the beginning of the update. */
static int folder_update_add_change(struct folder_update *update,
				    const struct folder_change *change)
{
	if (folder_tokens_same(&change->before, &change->now) &&
	    hash128_equal(change->before.hash, change->now.hash))
		return 0;
	return bytes_append(&update->changes, change, sizeof(*change));
}

/* Adds a directory that is new, was removed, or has another error or other flags. */
static int folder_update_add_dir(struct folder_update *update, uint64_t dir)
{
	return bytes_append(&update->dirs, &dir, sizeof(dir));
}

static void folder_update_free(struct folder_update *update)
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
	return store_put(&update->w->store, TABLE_FOLDER, key_number(dir), encode_folder(folder));
}

static int put_group(struct folder_update *update, const struct folder_group *group)
{
	update->w->totals.folder_changes++;
	return store_put(&update->w->store, TABLE_FOLDERS, key_number(group->id),
			 encode_folder_group(group));
}

static int put_tree(struct folder_update *update, const struct folder_record *folder, uint64_t dir)
{
	return store_put(&update->w->store, TABLE_BYTREE, key_tree(folder->sum, folder->group, dir),
			 encode_nothing());
}

static int delete_tree(struct folder_update *update, const struct folder_record *folder,
		       uint64_t dir)
{
	int r = store_delete(&update->w->store, TABLE_BYTREE,
			     key_tree(folder->sum, folder->group, dir));

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
	int r = 0;

	if (ranked == group->ranked)
		return 0;
	w->totals.folder_order++;
	if (group->ranked) {
		w->totals.folder_groups--;
		r = store_delete(&w->store, TABLE_FOLDER_RANK, key_rank(group->ranked, group->id));
	}
	if (r == 0 && ranked) {
		w->totals.folder_groups++;
		r = store_put(&w->store, TABLE_FOLDER_RANK, key_rank(ranked, group->id),
			      encode_nothing());
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
	size_t length = update->unranked.length / sizeof(*ids);
	size_t count = ids ? numbers_sort_once(ids, length) : 0;
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
		r = store_delete(&update->w->store, TABLE_FOLDERS, key_number(id));
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
	int r = unlist(update, id, folder);

	return r < 0 ? r : store_delete(&update->w->store, TABLE_FOLDER, key_number(id));
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

static int folder_update_finish(struct folder_update *update)
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

/* ---- folders -------------------------------------------------------------------------------- */

/* A name that changed, or whose child did. */
struct name_note {
	uint64_t dir;
	uint64_t cookie;
};

int folders_note_name(struct catalog_writer *w, uint64_t dir, uint64_t cookie)
{
	const struct name_note note = {.dir = dir, .cookie = cookie};

	if (!w->totals.folders_known)
		return 0;
	return bytes_append(&w->folders.names, &note, sizeof(note));
}

int folders_note_file(struct catalog_writer *w, uint64_t file)
{
	return w->totals.folders_known ? bytes_append(&w->folders.files, &file, sizeof(file)) : 0;
}

int folders_note_dir(struct catalog_writer *w, uint64_t dir)
{
	return w->totals.folders_known ? bytes_append(&w->folders.dirs, &dir, sizeof(dir)) : 0;
}

int folders_put_target(struct catalog_writer *w, uint64_t file, struct name target)
{
	struct key key = key_number(file);
	int r;

	if (target.length == 0)
		r = store_forget(&w->store, TABLE_TARGET, key);
	else
		r = store_put(&w->store, TABLE_TARGET, key,
			      encode_text(target.bytes, target.length));
	return r < 0 ? r : folders_note_file(w, file);
}

void folders_discard(struct catalog_writer *w)
{
	bytes_free(&w->folders.names);
	bytes_free(&w->folders.files);
	bytes_free(&w->folders.dirs);
}

/* ---- files that changed -------------------------------------------------------------- */

/* Notes the members of a group that became visible, or is not visible any more. Those that left it
 * are among the changed members. */
static int note_group(struct catalog_writer *w, const struct delta_group *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file;
	int r;

	if (group_is_visible(&group->before) == group_is_visible(&group->now))
		return 0;
	r = catalog_scan_members(&w->store.reader, group->now.id, 0, &scan);
	while (r == 0 && (r = catalog_next_member(scan, &file)) == 0)
		r = folders_note_file(w, file);
	return r == -ENOENT ? 0 : r;
}

static int note_groups(struct catalog_writer *w)
{
	const struct member_delta *members = (const void *)w->members.data;
	size_t group_count, member_count = w->members.length / sizeof(*members);
	const struct delta_group *groups = commit_delta_list(&w->delta, DELTA_GROUPS, &group_count);
	int r = 0;

	for (size_t i = 0; r == 0 && i < member_count; i++)
		r = folders_note_file(w, members[i].file);
	for (size_t i = 0; r == 0 && i < group_count; i++)
		r = note_group(w, &groups[i]);
	return r;
}

/* Notes all present names of a file if its token changed. Former names are among the changed names.
 */
static int note_names(struct catalog_writer *w, struct catalog_reader *before, uint64_t id)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_token old = {0}, now = {0};
	struct file_record file;
	uint64_t dir, cookie;
	int r = folder_token_of_file(&w->store.reader, id, &now);

	if (r < 0 || now.kind == TOKEN_NONE)
		return r;
	r = folder_token_of_file(before, id, &old);
	if (r < 0)
		return r;
	if (folder_tokens_same(&old, &now) && now.kind != TOKEN_TARGET)
		return 0;
	r = catalog_get_file(&w->store.reader, id, &file);
	if (r == 0)
		r = catalog_scan_names(&w->store.reader, &file, &scan);
	while (r == 0 && (r = catalog_next_name(scan, &dir, &cookie)) == 0)
		r = folders_note_name(w, dir, cookie);
	return r == -ENOENT ? 0 : r;
}

static int note_files(struct catalog_writer *w, struct catalog_reader *before)
{
	uint64_t *files = (void *)w->folders.files.data;
	size_t count = w->folders.files.length / sizeof(*files);
	int r = 0;

	count = numbers_sort_once(files, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = note_names(w, before, files[i]);
	return r;
}

/* ---- names that changed -------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	const struct name_note *x = a, *y = b;
	int order = numbers_compare(x->dir, y->dir);

	return order ? order : numbers_compare(x->cookie, y->cookie);
}

/* A directory whose names changed. */
struct noted_dir {
	uint64_t id;
	struct folder_record folder;
	bool known; /* it has a folder record */
	bool removed;
	bool changed; /* a change was added */
};

static int get_noted_dir(struct catalog_writer *w, uint64_t id, struct noted_dir *noted)
{
	struct dir_record dir;
	int r;

	*noted = (struct noted_dir){.id = id};
	r = catalog_get_folder(&w->store.reader, id, &noted->folder);
	noted->known = r == 0;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = catalog_get_dir(&w->store.reader, id, &dir);
	noted->removed = r == -ENOENT;
	return noted->removed ? 0 : r;
}

/* Returns whether the change of a name can have an effect. A directory without a record is examined
 * as a whole. One change of a removed directory takes it from the table bytree. So the tokens of
 * large trees that are added or removed take no time and no memory. */
static bool is_relevant(const struct noted_dir *dir, uint64_t cookie)
{
	if (!dir->known)
		return false;
	if (!dir->folder.counted)
		return cookie == dir->folder.witness;
	return !dir->removed || !dir->changed;
}

static int add_name(struct folder_update *update, struct catalog_reader *before,
		    struct noted_dir *dir, uint64_t cookie)
{
	struct folder_change change = {.dir = dir->id, .cookie = cookie};
	size_t length = update->changes.length;
	int r = folder_token_at(before, change.dir, change.cookie, &change.before);

	if (r == 0)
		r = folder_token_at(&update->w->store.reader, change.dir, change.cookie,
				    &change.now);
	if (r == 0)
		r = folder_update_add_change(update, &change);
	dir->changed |= update->changes.length > length;
	return r;
}

/* Adds the change of each noted name. All tokens are read before a folder group changes. */
static int add_names(struct catalog_writer *w, struct catalog_reader *before,
		     struct folder_update *update)
{
	struct name_note *notes = (void *)w->folders.names.data;
	size_t count = w->folders.names.length / sizeof(*notes);
	struct noted_dir dir = {0};
	int r = 0;

	sort_unless_sorted(notes, count, sizeof(*notes), compare_names);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (i > 0 && compare_names(&notes[i], &notes[i - 1]) == 0)
			continue;
		if (notes[i].dir != dir.id) {
			r = get_noted_dir(w, notes[i].dir, &dir);
			if (r == 0 && !dir.known)
				r = folder_update_add_dir(update, dir.id);
		}
		if (r == 0 && is_relevant(&dir, notes[i].cookie))
			r = add_name(update, before, &dir, notes[i].cookie);
	}
	return r;
}

static int flush(struct catalog_writer *w, struct catalog_reader *before)
{
	struct folder_update update = {.w = w, .before = before};
	int r = note_files(w, before);

	if (r == 0)
		r = add_names(w, before, &update);
	if (r == 0)
		r = bytes_append(&update.dirs, w->folders.dirs.data, w->folders.dirs.length);
	if (r == 0)
		r = folder_update_finish(&update);
	folder_update_free(&update);
	return r;
}

int folders_flush(struct catalog_writer *w)
{
	CLEANUP_READER struct catalog_reader *before = NULL;
	int r;

	if (!w->totals.folders_known)
		return 0;
	r = note_groups(w);
	if (r < 0 ||
	    (w->folders.names.length | w->folders.files.length | w->folders.dirs.length) == 0)
		return r;
	r = store_read_last_commit(w->store.reader.store, &before);
	if (r < 0)
		return r;
	before->name_seed = w->store.reader.name_seed;
	return flush(w, before);
}

/* ---- the first time ------------------------------------------------------------------ */

int catalog_know_folders(struct catalog_writer *w)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_update update = {.w = w};
	struct group_tokens *tokens = NULL;
	struct dir_record dir;
	int r;

	if (w->totals.folders_known || w->totals.unlisted)
		return 0;
	r = group_tokens_read(&w->store.reader, &tokens);
	if (r == 0)
		r = catalog_scan_dirs(&w->store.reader, 0, &scan);
	while (r == 0 && (r = catalog_next_dir(scan, &dir)) == 0)
		r = folder_update_add_dir(&update, dir.id);
	if (r == -ENOENT)
		r = folder_update_finish(&update);
	folder_update_free(&update);
	group_tokens_free(&w->store.reader, tokens);
	w->totals.folders_known = true;
	w->store.changed = true;
	return r;
}
