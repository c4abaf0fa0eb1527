/* SPDX-License-Identifier: MIT */
#include "catalog/link.h"

#include <errno.h>

#include "base/clock.h"
#include "catalog/catalog.h"
#include "catalog/copy_marks.h"
#include "catalog/group.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

static int put_place(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	struct key key = key_pair(group, name->id);

	return group ? store_put(&w->store, TABLE_PLACE, &key, encode_place(name)) : 0;
}

static int delete_place(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	struct key key = key_pair(group, name->id);

	return group ? store_delete(&w->store, TABLE_PLACE, &key) : 0;
}

int link_add(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	struct key key = key_triple(name->file, name->dir, name->cookie);
	struct file_name added = *name;
	int r;

	added.id = catalog_new_id(w->catalog);
	if (!added.id)
		return -errno;
	r = store_put(&w->store, TABLE_LINK, &key, encode_number(added.id));
	return r < 0 ? r : put_place(w, &added, group);
}

/* Gets the group of a file; 0: none, or the file is deferred and no member yet. */
static int get_group(struct catalog_writer *w, uint64_t file, uint64_t *group)
{
	struct content_record content = {0};
	int r = catalog_get_content(&w->store.reader, file, &content);

	*group = catalog_defers(&w->totals, file) ? 0 : content.group;
	return r == -ENOENT ? 0 : r;
}

int links_add(struct catalog_writer *w, const struct file_name *name)
{
	uint64_t group;
	int r = get_group(w, name->file, &group);

	if (r == 0 && group)
		r = group_judge(w, group, name->file);
	return r < 0 ? r : link_add(w, name, group);
}

int links_judge_attributes(struct catalog_writer *w, const struct file_record *file,
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

int links_note_held(struct catalog_writer *w, const struct file_record *file, bool was_held)
{
	bool is_held = file_is_held_outside(file);
	uint64_t group;
	int r;

	if (is_held == was_held)
		return 0;
	r = get_group(w, file->id, &group);
	return r < 0 || !group ? r : group_note_held(w, group, is_held);
}

int link_remove(struct catalog_writer *w, const struct file_name *name, uint64_t group)
{
	struct key key = key_triple(name->file, name->dir, name->cookie);
	struct file_name removed = *name;
	int r = store_get_number(&w->store.reader, TABLE_LINK, &key, &removed.id);

	if (r == 0)
		r = delete_place(w, &removed, group);
	return r < 0 ? r : store_delete(&w->store, TABLE_LINK, &key);
}

static struct file_name first_name(const struct file_record *file)
{
	return (struct file_name){file->name, file->id, file->dir, file->cookie};
}

int link_promote(struct catalog_writer *w, struct file_record *file, uint64_t group)
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
	return store_delete(&w->store, TABLE_LINK, &key);
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
	struct key key = key_pair(group, name->id);

	return store_forget(&w->store, TABLE_PLACE, &key);
}

int links_leave(struct catalog_writer *w, const struct file_record *file, uint64_t group)
{
	return set_places(w, file, group, forget_place);
}
