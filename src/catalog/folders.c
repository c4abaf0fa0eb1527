/* SPDX-License-Identifier: MIT */
#include "catalog/folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "catalog/change.h"
#include "catalog/folder_groups.h"
#include "catalog/folder_token.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

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
		r = store_forget(&w->store, TABLE_TARGET, &key);
	else
		r = store_put(&w->store, TABLE_TARGET, &key,
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

static int add_dirs(struct catalog_writer *w, struct folder_update *update)
{
	const uint64_t *dirs = (const void *)w->folders.dirs.data;
	size_t count = w->folders.dirs.length / sizeof(*dirs);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = folder_update_add_dir(update, dirs[i]);
	return r;
}

static int flush(struct catalog_writer *w, struct catalog_reader *before)
{
	struct folder_update update = {.w = w, .before = before};
	int r = note_files(w, before);

	if (r == 0)
		r = add_names(w, before, &update);
	if (r == 0)
		r = add_dirs(w, &update);
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
	struct dir_record dir;
	int r;

	if (w->totals.folders_known || w->totals.unlisted)
		return 0;
	r = catalog_scan_dirs(&w->store.reader, &scan);
	while (r == 0 && (r = catalog_next_dir(scan, &dir)) == 0)
		r = folder_update_add_dir(&update, dir.id);
	if (r == -ENOENT)
		r = folder_update_finish(&update);
	folder_update_free(&update);
	w->totals.folders_known = true;
	w->store.changed = true;
	return r;
}
