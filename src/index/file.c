/* SPDX-License-Identifier: MIT */
#include "index/file.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "index/catalog.h"
#include "index/change.h"
#include "index/folders.h"
#include "index/group.h"
#include "index/hashes.h"
#include "index/kept.h"
#include "index/query.h"
#include "index/redundant.h"
#include "index/scan.h"
#include "index/scan_settings.h"
#include "index/store/store.h"
#include "index/store/value.h"

/* what: enum delta_file_what, or-ed; 0: nothing is recorded. */
static int delta_add_file(struct catalog_writer *w, uint64_t file, uint64_t size, uint32_t what)
{
	return what ? delta_add(w, DELTA_FILES, &(struct delta_file){file, size, what}) : 0;
}

static int put_file(struct catalog_writer *w, const struct file_record *file)
{
	return store_put(&w->store, TABLE_FILE, key_number(file->id), encode_file(file));
}

/* add: false to subtract. */
static void count_file(struct catalog_writer *w, const struct attributes *attributes, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX;

	if (!S_ISREG(attributes->mode)) {
		w->totals.others += sign;
		return;
	}
	w->totals.files += sign;
	(add ? size_sum_add : size_sum_subtract)(&w->totals.bytes, attributes->size);
	w->totals.blocks += sign * attributes->blocks;
}

/* ---- errors ------------------------------------------------------------------------- */

/* Sets *has to whether the file exists and has a name. */
static int has_names(struct catalog_writer *w, uint64_t id, bool *has)
{
	struct file_record file = {0};
	int r = catalog_get_file(&w->store.reader, id, &file);

	*has = r == 0 && file.names > 0;
	return r == -ENOENT ? 0 : r;
}

int catalog_set_error(struct catalog_writer *w, enum error_kind kind, uint64_t id, int error)
{
	struct key key = key_pair((uint64_t)kind, id);
	bool has = true;
	int before = 0, r = 0;

	if (error && kind == ERROR_FILE)
		r = has_names(w, id, &has);
	if (r == 0 && w->totals.errors > 0)
		r = catalog_get_error(&w->store.reader, kind, id, &before);
	if (r < 0 || !has || error == before)
		return r;
	if (error)
		r = store_put(&w->store, TABLE_ERROR, key, encode_number((uint64_t)error));
	else
		r = store_delete(&w->store, TABLE_ERROR, key);
	if (r < 0)
		return r;
	w->totals.errors += !before;
	w->totals.errors -= !error;
	return delta_add(w, DELTA_ERRORS, &(struct delta_error){kind, id, error});
}

int catalog_note_dir(struct catalog_writer *w, const struct dir_record *dir)
{
	int r = catalog_set_error(w, ERROR_DIR, dir->id, dir->error);

	return r == 0 && dir->flags & DIR_NOT_ENTERED ? catalog_note_left_out(w, dir->id) : r;
}

/* ---- candidates ---------------------------------------------------------------------- */

int file_list_size(struct catalog_writer *w, uint64_t id, uint64_t size,
		   const struct content_record *content)
{
	return store_put(&w->store, TABLE_BYSIZE,
			 key_quad(size, content->prefix, content->group, id), encode_nothing());
}

int file_unlist_size(struct catalog_writer *w, uint64_t id, uint64_t size,
		     const struct content_record *content)
{
	return store_delete(&w->store, TABLE_BYSIZE,
			    key_quad(size, content->prefix, content->group, id));
}

/* Adds a file to the list by size, if it is regular and its listing is not deferred. */
static int list_size(struct catalog_writer *w, uint64_t id, const struct attributes *attributes,
		     const struct content_record *content)
{
	if (!S_ISREG(attributes->mode) || catalog_defers(&w->totals, id))
		return 0;
	return file_list_size(w, id, attributes->size, content);
}

static int unlist_size(struct catalog_writer *w, uint64_t id, const struct attributes *attributes,
		       const struct content_record *content)
{
	if (!S_ISREG(attributes->mode) || catalog_defers(&w->totals, id))
		return 0;
	return file_unlist_size(w, id, attributes->size, content);
}

static const struct content_record unread;

void catalog_set_unlisted(struct catalog_writer *w, uint64_t from)
{
	w->totals.unlisted = from;
	w->store.changed = true;
}

int catalog_defer_lists(struct catalog_writer *w)
{
	uint64_t from = w->totals.unlisted ? w->totals.unlisted : catalog_new_id(w->catalog);

	if (!from)
		return -errno;
	catalog_set_unlisted(w, from);
	return 0;
}

int catalog_forget_deferred_content(struct catalog_writer *w, uint64_t file)
{
	return store_forget(&w->store, TABLE_CONTENT, key_number(file));
}

/* ---- names beyond the first --------------------------------------------------------- */

/* Gets the content of a file. prefix is 0 if it is unknown. A deferred file is not a member of its
 * group yet, so group is 0. */
static int get_content(struct catalog_writer *w, uint64_t id, struct content_record *content)
{
	int r = catalog_get_content(&w->store.reader, id, content);

	if (r == -ENOENT) {
		*content = (struct content_record){0};
		r = 0;
	}
	if (catalog_defers(&w->totals, id))
		content->group = 0;
	return r;
}

static int put_place(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	return group ? store_put(&w->store, TABLE_PLACE, key_pair(group, name->id),
				 encode_place(name))
		     : 0;
}

static int delete_place(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	return group ? store_delete(&w->store, TABLE_PLACE, key_pair(group, name->id)) : 0;
}

int link_add(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	struct file_name added = *name;
	int r;

	added.id = catalog_new_id(w->catalog);
	if (!added.id)
		return -errno;
	r = store_put(&w->store, TABLE_LINK, key_triple(name->file, name->dir, name->cookie),
		      encode_number(added.id));
	return r < 0 ? r : put_place(w, &added, group);
}

/* As link_add(), but finds the group, and notes that the kept copy of it has to be judged again. */
static int links_add(struct catalog_writer *w, const struct file_name *name)
{
	struct content_record content;
	int r = get_content(w, name->file, &content);

	if (r == 0 && content.group)
		r = group_judge(w, content.group, name->file);
	return r < 0 ? r : link_add(w, name, content.group);
}

/* Has the kept copy of the group judged again if the file gets other attributes that matter for the
 * keep rules. */
static int links_judge_attributes(struct catalog_writer *w, const struct file_record *file,
				  const struct attributes *attributes)
{
	struct content_record content;
	int r;

	if (w->keep.count == 0 || (file->attributes.links == attributes->links &&
				   clock_equal(file->attributes.mtime, attributes->mtime)))
		return 0;
	r = catalog_get_content(&w->store.reader, file->id, &content);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return content.group ? group_judge(w, content.group, file->id) : 0;
}

/* Has the group of a file mapped again if file_is_held_outside() is not what it was. */
static int links_note_held(struct catalog_writer *w, const struct file_record *file, bool was_held)
{
	bool is_held = file_is_held_outside(file);
	struct content_record content;
	int r;

	if (is_held == was_held)
		return 0;
	r = get_content(w, file->id, &content);
	return r < 0 || !content.group ? r : group_note_held(w, content.group, is_held);
}

/* Removes a name. name->id is not used. */
static int link_remove(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	struct key key = key_triple(name->file, name->dir, name->cookie);
	struct file_name removed = *name;
	int r = store_get_number(&w->store.reader, TABLE_LINK, key, &removed.id);

	if (r == 0)
		r = delete_place(w, &removed, group);
	return r < 0 ? r : store_delete(&w->store, TABLE_LINK, key);
}

static struct file_name first_name(const struct file_record *file)
{
	return (struct file_name){file->name, file->id, file->dir, file->cookie};
}

/* Replaces the first name in *file by another name. The caller must write *file. */
static int link_promote(struct catalog_writer *w, struct file_record *file, uint64_t group)
{
	struct file_name first = first_name(file), next = {0};
	struct catalog_scan *scan = NULL;
	struct entry_record entry = {0};
	struct key key;
	int r = catalog_scan_links(&w->store.reader, file->id, &scan);

	if (r == 0)
		r = catalog_next_link(scan, &next);
	catalog_scan_end(scan);
	if (r == 0 && first.id)
		r = delete_place(w, &first, group);
	if (r == 0)
		r = catalog_entry_at(&w->store.reader, next.dir, next.cookie, &entry);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	file->copy_mark = has_copy_mark(entry.name.bytes, entry.name.length);
	file->dir = next.dir;
	file->cookie = next.cookie;
	file->name = next.id;
	key = key_triple(file->id, file->dir, file->cookie);
	return store_delete(&w->store, TABLE_LINK, key);
}

typedef int set_place_fn(struct catalog_writer *w, const struct file_name *name, uint64_t group);

static int set_places(struct catalog_writer *w, const struct file_record *file, uint64_t group,
		      set_place_fn *set)
{
	struct file_name first = first_name(file), next = {0};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	int r = first.id ? set(w, &first, group) : 0;

	if (r < 0 || file->names < 2)
		return r;
	r = catalog_scan_links(&w->store.reader, file->id, &scan);
	while (r == 0 && (r = catalog_next_link(scan, &next)) == 0)
		r = set(w, &next, group);
	return r == -ENOENT ? 0 : r;
}

int links_join(struct catalog_writer *w, const struct file_record *file, uint64_t group)
{
	return set_places(w, file, group, put_place);
}

static int forget_place(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	return store_forget(&w->store, TABLE_PLACE, key_pair(group, name->id));
}

int links_leave(struct catalog_writer *w, const struct file_record *file, uint64_t group)
{
	return set_places(w, file, group, forget_place);
}

/* ---- content ------------------------------------------------------------------------- */

/* Remembers in the record if the file was the kept copy. The caller writes the record. */
static int leave_group(struct catalog_writer *w, struct file_record *file, uint64_t group,
		       bool stays)
{
	int r = group_note_kept(w, group, file);

	if (r == 0)
		r = group_leave(w, group, file->id, stays);
	return r < 0 ? r : links_leave(w, file, group);
}

/* Deletes the content record. The caller must update the list by size and write the record of the
 * file. */
static int drop_content(struct catalog_writer *w, struct file_record *file,
			const struct content_record *content)
{
	int r = 0;

	if (content->group)
		r = leave_group(w, file, content->group, false);
	if ((r == 0 || r == -ENOENT) && content->prefix)
		r = store_delete(&w->store, TABLE_CONTENT, key_number(file->id));
	return r;
}

/* Sets *keeps to whether the content of a file stays known. It becomes unknown if the file is too
 * small to be compared, or if its group is missing, as another content has taken the name of the
 * group. */
static int keeps_content(struct catalog_writer *w, uint64_t size, uint64_t group, uint64_t min_size,
			 bool *keeps)
{
	int r = size >= min_size && group ? group_find(w, group) : 0;

	*keeps = size >= min_size && r == 0;
	return r == -ENOENT ? 0 : r;
}

int catalog_list_deferred(struct catalog_writer *w, const struct size_entry *files, size_t count)
{
	uint64_t min_size;
	int r = catalog_get_min_size(&w->store.reader, &min_size);

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct content_record content = {.prefix = files[i].prefix,
						       .group = files[i].group};
		bool keeps = false;

		if (content.prefix)
			r = keeps_content(w, files[i].size, content.group, min_size, &keeps);
		if (r == 0 && content.prefix && !keeps)
			r = catalog_forget_deferred_content(w, files[i].file);
		if (r == 0)
			r = file_list_size(w, files[i].file, files[i].size,
					   keeps ? &content : &unread);
	}
	return r;
}

static int join_deferred(struct catalog_writer *w, const struct deferred_file *deferred)
{
	struct file_record file;
	int r = group_join(w, deferred->group, deferred->file, deferred->dir, deferred->maps);

	if (r < 0 || !deferred->has_links)
		return r;
	r = catalog_get_file(&w->store.reader, deferred->file, &file);
	return r < 0 ? r : links_join(w, &file, deferred->group);
}

int catalog_join_deferred(struct catalog_writer *w, const struct deferred_file *files, size_t count)
{
	uint64_t min_size;
	bool keeps = false;
	int r = catalog_get_min_size(&w->store.reader, &min_size);

	w->joined = files;
	w->joined_count = count;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = keeps_content(w, files[i].size, files[i].group, min_size, &keeps);
		if (r == 0 && keeps)
			r = join_deferred(w, &files[i]);
	}
	return r;
}

/* Makes the content of a file in the list by size unknown. */
static int forget_listed(struct catalog_writer *w, const struct size_entry *entry)
{
	const struct content_record content = {.prefix = entry->prefix, .group = entry->group};
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, entry->file, &file);

	if (r == 0)
		r = drop_content(w, &file, &content);
	if (r == 0)
		r = put_file(w, &file);
	if (r == 0)
		r = file_unlist_size(w, entry->file, entry->size, &content);
	if (r == 0)
		r = file_list_size(w, entry->file, entry->size, &unread);
	return r < 0 ? r : delta_add_file(w, entry->file, entry->size, DELTA_FILE_UNREAD);
}

int files_forget_small_content(struct catalog_writer *w, uint64_t min_size)
{
	struct size_entry from = {.size = 0, .prefix = 1}, entry = {0};
	struct catalog_scan *scan = NULL;
	int r = 0;

	/* each change moves entries of the scanned table, so a new scan begins after it */
	while (r == 0) {
		r = catalog_scan_sizes(&w->store.reader, &from, &scan);
		while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 && entry.prefix == 0)
			continue;
		catalog_scan_end(scan);
		if (r == -ENOENT || (r == 0 && entry.size >= min_size))
			return 0;
		from = entry;
		if (r == 0)
			r = forget_listed(w, &entry);
	}
	return r;
}

/* ---- names --------------------------------------------------------------------------- */

int file_add(struct catalog_writer *w, const struct file_record *file)
{
	int r = put_file(w, file);

	if (r < 0)
		return r;
	count_file(w, &file->attributes, true);
	w->totals.names += file->names;
	return S_ISREG(file->attributes.mode)
		       ? delta_add_file(w, file->id, file->attributes.size, DELTA_FILE_UNREAD)
		       : 0;
}

/* Returns true if a file with these attributes still has its known content. flags are enum
 * file_change_flag; names is the number of names that the index has of the file after the
 * transaction. */
static bool is_same_content(const struct file_record *file, const struct attributes *attributes,
			    uint32_t flags, uint32_t names)
{
	const struct attributes *known = &file->attributes;

	if (flags & FILE_UNTRUSTED)
		return false;
	if (attributes_same_signature(known, attributes))
		return true;
	if (flags & FILE_COMPARED)
		return attributes_same_inode(known, attributes) && known->size == attributes->size;
	return flags & FILE_SAME_BYTES && attributes->links <= names &&
	       attributes_same_inode(known, attributes) && known->size == attributes->size &&
	       clock_equal(known->mtime, attributes->mtime);
}

/* Makes the content unknown, as it changed or possibly changed. The caller writes the record. */
static int renew_content(struct catalog_writer *w, struct file_record *file,
			 const struct attributes *attributes)
{
	struct content_record content;
	int r = get_content(w, file->id, &content);

	file->content_version++;
	if (r == 0)
		r = drop_content(w, file, &content);
	if (r == 0 && file->names > 0)
		r = unlist_size(w, file->id, &file->attributes, &content);
	if (r == 0 && file->names > 0)
		r = list_size(w, file->id, attributes, &unread);
	if (r == 0)
		r = catalog_set_error(w, ERROR_FILE, file->id, 0);
	if (r < 0 || file->names == 0 || !S_ISREG(attributes->mode))
		return r;
	return delta_add_file(w, file->id, attributes->size, DELTA_FILE_UNREAD);
}

/* Updates the attributes of a record in memory. The caller writes the record. */
static int change_file(struct catalog_writer *w, struct file_record *file,
		       const struct attributes *attributes, uint32_t flags, uint32_t names)
{
	int r = 0;

	if (!is_same_content(file, attributes, flags, names))
		r = renew_content(w, file, attributes);
	else
		r = links_judge_attributes(w, file, attributes);
	if (r == 0 && file->names > 0 && !attributes_equal(&file->attributes, attributes))
		r = delta_add_file(w, file->id, attributes->size, DELTA_FILE_ATTRIBUTES);
	if (r < 0)
		return r;
	if (file->names > 0) {
		count_file(w, &file->attributes, false);
		count_file(w, attributes, true);
	}
	file->attributes = *attributes;
	return folders_note_file(w, file->id);
}

int file_update(struct catalog_writer *w, const struct name_change *change)
{
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, change->id, &file);
	bool was_held;

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* the file was removed meanwhile */
	was_held = file_is_held_outside(&file);
	r = change_file(w, &file, &change->attributes, change->flags, file.names);
	if (r == 0)
		r = links_note_held(w, &file, was_held);
	return r < 0 ? r : put_file(w, &file);
}

static int forget_content(struct catalog_writer *w, uint64_t id)
{
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, id, &file);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = renew_content(w, &file, &file.attributes);
	return r < 0 ? r : put_file(w, &file);
}

int catalog_forget_contents(struct catalog_writer *w, const uint64_t *files, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = forget_content(w, files[i]);
	return r;
}

/* Sets *nothing to whether no file was compared since this file lost its last name. A comparison in
 * that time possibly found an equal file to be unique. */
static int is_nothing_missed(struct catalog_writer *w, uint64_t id, bool *nothing)
{
	uint64_t comparisons;
	int r = store_get_number(&w->store.reader, TABLE_ORPHAN, key_number(id), &comparisons);

	*nothing = r == 0 && comparisons == w->totals.comparisons;
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Sets *has to whether the group has another file. If so, that file represented the group while
 * this file was an orphan. */
static int has_representative(struct catalog_writer *w, uint64_t group, bool *has)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t member;
	int r = catalog_scan_members(&w->store.reader, group, 0, &scan);

	if (r == 0)
		r = catalog_next_member(scan, &member);
	*has = r == 0;
	return r == -ENOENT ? 0 : r;
}

/* Sets *can to whether the known content of the orphan can stay known. */
static int can_keep_content(struct catalog_writer *w, const struct file_record *file,
			    const struct content_record *content, bool *can)
{
	int r = is_nothing_missed(w, file->id, can);

	if (r == 0 && !*can && content->group)
		r = has_representative(w, content->group, can);
	return r;
}

/* Sets *content to the known content of an orphan that has a name again, or makes it unknown. */
static int adopt_content(struct catalog_writer *w, struct file_record *file,
			 const struct attributes *attributes, const struct name_run *run,
			 struct content_record *content)
{
	uint32_t flags = run->flags & (run->flags & FILE_MOVED ? UINT32_MAX : FILE_UNTRUSTED);
	bool same = is_same_content(file, attributes, flags, run->left), keep = false;
	uint64_t min_size = 0;
	int r = get_content(w, file->id, content);

	if (r == 0)
		r = catalog_get_min_size(&w->store.reader, &min_size);
	if (r == 0 && same && attributes->size >= min_size)
		r = can_keep_content(w, file, content, &keep);
	if (r == 0 && keep && content->group)
		r = group_join(w, content->group, file->id, 0,
			       catalog_maps_extents(w->catalog, attributes));
	if (r == 0 && keep && content->group && file_was_kept(file))
		r = group_keep_again(w, content->group, file);
	if (r == -ENOENT || (r == 0 && !keep)) {
		r = drop_content(w, file, content);
		*content = unread;
	}
	file->content_version += !same;
	return r;
}

/* Turns an orphan that has a name again into a file. The content stays known only if the file is
 * unchanged and not below the smallest size, which a scan can have raised meanwhile. */
static int adopt(struct catalog_writer *w, struct file_record *file,
		 const struct attributes *attributes, const struct name_run *run)
{
	struct content_record content;
	uint32_t what = attributes_equal(&file->attributes, attributes) ? 0 : DELTA_FILE_ATTRIBUTES;
	int r = adopt_content(w, file, attributes, run, &content);

	if (r == 0)
		r = store_delete(&w->store, TABLE_ORPHAN, key_number(file->id));
	if (r == 0)
		r = list_size(w, file->id, attributes, &content);
	if (r < 0)
		return r;
	count_file(w, attributes, true);
	if (was_viewed(w, file->id) && clock_equal(file->attributes.ctime, attributes->ctime)) {
		file_set_shown(file, clock_now());
		what |= DELTA_FILE_ATTRIBUTES;
	}
	file->attributes = *attributes;
	if (S_ISREG(attributes->mode))
		what |= content.prefix ? DELTA_FILE_BACK : DELTA_FILE_UNREAD;
	return delta_add_file(w, file->id, attributes->size, what);
}

int file_add_name(struct catalog_writer *w, const struct name_change *change,
		  const struct name_run *run)
{
	const struct file_name name = {.file = run->file,
				       .dir = change->dir,
				       .cookie = change->cookie};
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, run->file, &file);
	bool was_held = r == 0 && file_is_held_outside(&file);

	if (r == 0 && file.names == 0)
		r = adopt(w, &file, &change->attributes, run);
	else if (r == 0)
		r = change_file(w, &file, &change->attributes, run->flags, file.names + run->left);
	if (r < 0)
		return r;
	r = redundant_note_name(w, &file, change->dir, true);
	if (r == 0)
		r = folders_note_file(w, file.id);
	w->totals.names++;
	if (file.names++ == 0) {
		file.dir = change->dir;
		file.cookie = change->cookie;
		file.copy_mark = has_copy_mark(change->name.bytes, change->name.length);
	} else {
		r = r == 0 ? links_add(w, &name) : r;
		if (r == 0)
			r = delta_add_file(w, file.id, file.attributes.size, DELTA_FILE_NAMES);
	}
	if (r == 0)
		r = links_note_held(w, &file, was_held);
	return r < 0 ? r : put_file(w, &file);
}

static int remove_one_of_several(struct catalog_writer *w, struct file_record *file, uint64_t dir,
				 uint64_t cookie)
{
	const struct file_name name = {.file = file->id, .dir = dir, .cookie = cookie};
	struct content_record content;
	int r = get_content(w, file->id, &content);

	if (r < 0)
		return r;
	if (file->dir == dir && file->cookie == cookie)
		r = link_promote(w, file, content.group);
	else
		r = link_remove(w, &name, content.group);
	if (r == 0 && content.group)
		r = group_judge(w, content.group, file->id);
	return r < 0 ? r
		     : delta_add_file(w, file->id, file->attributes.size,
				      DELTA_FILE_NAMES | DELTA_FILE_FEWER);
}

static int make_orphan(struct catalog_writer *w, struct file_record *file)
{
	struct content_record content;
	int r = get_content(w, file->id, &content);

	if (r == 0 && content.group)
		r = leave_group(w, file, content.group, true);
	if (r == -ENOENT)
		r = 0;
	if (r == 0)
		r = unlist_size(w, file->id, &file->attributes, &content);
	if (r == 0)
		r = catalog_set_error(w, ERROR_FILE, file->id, 0);
	if (r == 0)
		r = store_put(&w->store, TABLE_ORPHAN, key_number(file->id),
			      encode_number(w->totals.comparisons));
	count_file(w, &file->attributes, false);
	return r < 0 ? r : delta_add_file(w, file->id, file->attributes.size, DELTA_FILE_GONE);
}

int file_remove_name(struct catalog_writer *w, uint64_t id, uint64_t dir, uint64_t cookie)
{
	struct file_record file;
	int r = catalog_get_file(&w->store.reader, id, &file);
	bool was_held;

	if (r < 0)
		return r;
	was_held = file_is_held_outside(&file);
	r = file.names > 1 ? remove_one_of_several(w, &file, dir, cookie) : make_orphan(w, &file);
	if (r == 0)
		r = redundant_note_name(w, &file, dir, false);
	if (r == 0)
		r = folders_note_file(w, file.id);
	if (r < 0)
		return r;
	if (--file.names == 0) {
		file.name = 0;
		file.copy_mark = false;
	} else {
		r = links_note_held(w, &file, was_held);
	}
	w->totals.names--;
	return r < 0 ? r : put_file(w, &file);
}

int file_keep_again(struct catalog_writer *w, uint64_t id, uint64_t group)
{
	struct file_record file;
	int r = catalog_get_file_name(&w->store.reader, id, &file);

	return r < 0 ? r : group_keep_again(w, group, &file);
}

int file_delete(struct catalog_writer *w, uint64_t id)
{
	struct key key = key_number(id);
	struct content_record content = {0};
	struct inode_cursor inodes = {0};
	struct file_record file;
	uint64_t *found;
	int r = catalog_get_file(&w->store.reader, id, &file);

	if (r == 0)
		r = get_content(w, id, &content);
	if (r < 0)
		return r;
	if (content.prefix)
		r = store_delete(&w->store, TABLE_CONTENT, key);
	if (r == 0 && S_ISLNK(file.attributes.mode))
		r = store_forget(&w->store, TABLE_TARGET, key);
	else if (r == 0)
		r = catalog_forget_blocks(w, id);
	if (r == 0)
		r = store_forget(&w->store, TABLE_DIGEST, key);
	if (r == 0 && content.group)
		r = group_set_stays(w, content.group, false);
	if (r == 0)
		r = inodes_seek(w, &inodes, &file.attributes, &found);
	if (r == 0 && *found == id) { /* otherwise the inode number belongs to another file now */
		*found = 0;
		inodes.changed = true;
		r = inodes_flush(w, &inodes);
	}
	if (r == 0)
		r = store_delete(&w->store, TABLE_FILE, key);
	if (r == 0)
		r = store_delete(&w->store, TABLE_ORPHAN, key);
	return r;
}

/* ---- inode numbers ------------------------------------------------------------------ */

static bool is_empty(const struct inode_block *block)
{
	for (size_t i = 0; i < INODE_BLOCK_NUMBERS; i++) {
		if (block->files[i])
			return false;
	}
	return true;
}

int inodes_flush(struct catalog_writer *w, struct inode_cursor *cursor)
{
	if (!cursor->changed)
		return 0;
	cursor->changed = false;
	if (is_empty(&cursor->block))
		return store_forget(&w->store, TABLE_BYKEY, cursor->key);
	return store_put(&w->store, TABLE_BYKEY, cursor->key, encode_inodes(&cursor->block));
}

static int load_inodes(struct catalog_writer *w, struct inode_cursor *cursor, const struct key *key)
{
	struct span fields;
	int r = inodes_flush(w, cursor);

	cursor->loaded = false;
	cursor->key = *key;
	cursor->block = (struct inode_block){0};
	if (r == 0)
		r = store_get(&w->store.reader, TABLE_BYKEY, *key, &fields);
	if (r == 0 && !decode_inodes(fields, &cursor->block))
		r = -EUCLEAN;
	if (r < 0 && r != -ENOENT)
		return r;
	cursor->loaded = true;
	return 0;
}

int inodes_seek(struct catalog_writer *w, struct inode_cursor *cursor,
		const struct attributes *attributes, uint64_t **file)
{
	struct key key = key_pair(attributes->filesystem, attributes->inode / INODE_BLOCK_NUMBERS);
	bool same = cursor->loaded && key.length == cursor->key.length &&
		    memcmp(key.data, cursor->key.data, key.length) == 0;
	int r = same ? 0 : load_inodes(w, cursor, &key);

	*file = &cursor->block.files[attributes->inode % INODE_BLOCK_NUMBERS];
	return r;
}
