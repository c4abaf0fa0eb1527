/* SPDX-License-Identifier: MIT */
#include "catalog/file.h"

#include <errno.h>

#include "catalog/change.h"
#include "catalog/group.h"
#include "catalog/query.h"

static int put_file(struct catalog_writer *w, const struct file_record *file)
{
	struct key key = key_number(file->id);

	return writer_put(w, TABLE_FILE, &key, encode_file(file));
}

/* add is false to subtract. */
static void count_file(struct catalog_writer *w, const struct attributes *attributes, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX;

	w->totals.files += sign;
	if (!S_ISREG(attributes->mode))
		return;
	w->totals.bytes += sign * attributes->size;
	w->totals.blocks += sign * attributes->blocks;
}

/* ---- candidates ---------------------------------------------------------------------- */

int file_list_size(struct catalog_writer *w, uint64_t id, const struct attributes *attributes,
		   uint64_t head)
{
	struct key key = key_triple(attributes->size, head, id);

	if (!S_ISREG(attributes->mode))
		return 0;
	return writer_put(w, TABLE_BYSIZE, &key, encode_nothing());
}

static int unlist_size(struct catalog_writer *w, uint64_t id, const struct attributes *attributes,
		       uint64_t head)
{
	struct key key = key_triple(attributes->size, head, id);

	if (!S_ISREG(attributes->mode))
		return 0;
	return writer_delete(w, TABLE_BYSIZE, &key);
}

/* ---- content ------------------------------------------------------------------------- */

/* What is known of a file's content; head 0: nothing. */
static int get_content(struct catalog_writer *w, uint64_t id, struct content_record *content)
{
	int r = catalog_get_content(&w->reader, id, content);

	if (r == -ENOENT) {
		*content = (struct content_record){0};
		r = 0;
	}
	return r;
}

/* Forgets it; the file must be listed by size again with head 0 if it stays a candidate. */
static int drop_content(struct catalog_writer *w, uint64_t id, const struct content_record *content)
{
	struct key key = key_number(id);
	int r = 0;

	if (content->group)
		r = group_leave(w, content->group, id, false);
	if ((r == 0 || r == -ENOENT) && content->head)
		r = writer_delete(w, TABLE_CONTENT, &key);
	return r;
}

int catalog_set_content(struct catalog_writer *w, const struct content_change *change)
{
	struct content_record before, now = {.head = change->head, .group = change->group};
	struct key key = key_number(change->file);
	struct file_record file;
	int r = catalog_get_file(&w->reader, change->file, &file);

	if (r == -ENOENT)
		return CONTENT_STALE;
	if (r < 0)
		return r;
	if (file.names == 0 || attributes_digest(&file.attributes) != change->signature)
		return CONTENT_STALE;
	r = get_content(w, change->file, &before);
	if (r == 0 && now.group) {
		r = group_join(w, now.group, change->file);
		if (r == -ENOENT)
			return CONTENT_STALE; /* its last member went meanwhile */
	}
	if (r == 0 && before.head != now.head) {
		r = unlist_size(w, change->file, &file.attributes, before.head);
		if (r == 0)
			r = file_list_size(w, change->file, &file.attributes, now.head);
	}
	if (r == 0 && before.group && before.group != now.group)
		r = group_leave(w, before.group, change->file, false);
	if (r == 0)
		r = writer_put(w, TABLE_CONTENT, &key, encode_content(&now));
	return r;
}

int files_forget_small_content(struct catalog_writer *w, uint64_t min_size)
{
	struct size_entry from = {.size = 0, .head = 1}, entry = {0};
	struct catalog_scan *scan = NULL;
	struct content_record content;
	struct attributes attributes = {.mode = S_IFREG};
	int r = 0;

	/* a fresh walk after each change: entries move under the cursor */
	while (r == 0) {
		r = catalog_scan_sizes(&w->reader, &from, &scan);
		while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0 && entry.head == 0)
			continue;
		catalog_scan_end(scan);
		if (r == -ENOENT || (r == 0 && entry.size >= min_size))
			return 0;
		attributes.size = entry.size;
		from = entry;
		if (r == 0)
			r = get_content(w, entry.file, &content);
		if (r == 0)
			r = drop_content(w, entry.file, &content);
		if (r == 0)
			r = unlist_size(w, entry.file, &attributes, entry.head);
		if (r == 0)
			r = file_list_size(w, entry.file, &attributes, 0);
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
	return 0;
}

int file_update(struct catalog_writer *w, uint64_t id, const struct attributes *attributes)
{
	struct content_record content;
	struct file_record file;
	int r = catalog_get_file(&w->reader, id, &file);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* it was removed since */
	if (!attributes_same_signature(&file.attributes, attributes)) {
		r = get_content(w, id, &content);
		if (r == 0)
			r = drop_content(w, id, &content);
		if (r == 0 && file.names > 0)
			r = unlist_size(w, id, &file.attributes, content.head);
		if (r == 0 && file.names > 0)
			r = file_list_size(w, id, attributes, 0);
		if (r == 0)
			r = catalog_set_error(w, ERROR_FILE, id, 0);
	}
	if (r < 0)
		return r;
	if (file.names > 0) {
		count_file(w, &file.attributes, false);
		count_file(w, attributes, true);
	}
	file.attributes = *attributes;
	return put_file(w, &file);
}

/* An orphan has a name again: what was known of its content is true if it is unchanged, and wanted
 * if the smallest size was not raised meanwhile. */
static int adopt(struct catalog_writer *w, struct file_record *file,
		 const struct attributes *attributes)
{
	struct key key = key_number(file->id);
	struct content_record content;
	uint64_t min_size = 0;
	int r = get_content(w, file->id, &content);

	if (r == 0)
		r = catalog_get_min_size(&w->reader, &min_size);
	if (r == 0 && content.group)
		r = group_join(w, content.group, file->id);
	if (r == -ENOENT || attributes->size < min_size ||
	    !attributes_same_signature(&file->attributes, attributes)) {
		r = drop_content(w, file->id, &content);
		content.head = 0;
	}
	if (r == 0)
		r = writer_delete(w, TABLE_ORPHAN, &key);
	if (r < 0)
		return r;
	count_file(w, attributes, true);
	file->attributes = *attributes;
	return file_list_size(w, file->id, attributes, content.head);
}

int file_add_name(struct catalog_writer *w, uint64_t id, const struct attributes *attributes,
		  uint64_t dir, uint64_t cookie)
{
	struct key link = key_triple(id, dir, cookie);
	struct file_record file;
	int r = catalog_get_file(&w->reader, id, &file);

	if (r == 0 && file.names == 0)
		r = adopt(w, &file, attributes);
	else if (r == 0 && !attributes_equal(&file.attributes, attributes))
		r = file_update(w, id, attributes);
	if (r < 0)
		return r;
	file.attributes = *attributes;
	w->totals.names++;
	if (file.names++ == 0) {
		file.dir = dir;
		file.cookie = cookie;
	} else {
		r = writer_put(w, TABLE_LINK, &link, encode_nothing());
	}
	return r < 0 ? r : put_file(w, &file);
}

/* The first name went: another one takes its place in the record. */
static int promote_name(struct catalog_writer *w, struct file_record *file)
{
	struct catalog_scan *scan = NULL;
	struct file_record others = *file;
	struct key link;
	int r;

	r = catalog_scan_names(&w->reader, &others, &scan);
	if (r == 0)
		r = catalog_next_name(scan, &file->dir, &file->cookie); /* the one that went */
	if (r == 0)
		r = catalog_next_name(scan, &file->dir, &file->cookie);
	catalog_scan_end(scan);
	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	link = key_triple(file->id, file->dir, file->cookie);
	return writer_delete(w, TABLE_LINK, &link);
}

static int make_orphan(struct catalog_writer *w, const struct file_record *file)
{
	struct key key = key_number(file->id);
	struct content_record content;
	int r = get_content(w, file->id, &content);

	if (r == 0 && content.group)
		r = group_leave(w, content.group, file->id, true);
	if (r == -ENOENT)
		r = 0;
	if (r == 0)
		r = unlist_size(w, file->id, &file->attributes, content.head);
	if (r == 0)
		r = catalog_set_error(w, ERROR_FILE, file->id, 0);
	if (r == 0)
		r = writer_put(w, TABLE_ORPHAN, &key, encode_nothing());
	count_file(w, &file->attributes, false);
	return r;
}

int file_remove_name(struct catalog_writer *w, uint64_t id, uint64_t dir, uint64_t cookie)
{
	struct key link = key_triple(id, dir, cookie);
	struct file_record file;
	int r = catalog_get_file(&w->reader, id, &file);

	if (r < 0)
		return r;
	if (file.names > 1 && file.dir == dir && file.cookie == cookie)
		r = promote_name(w, &file);
	else if (file.names > 1)
		r = writer_delete(w, TABLE_LINK, &link);
	else
		r = make_orphan(w, &file);
	if (r < 0)
		return r;
	file.names--;
	w->totals.names--;
	return put_file(w, &file);
}

int file_delete(struct catalog_writer *w, uint64_t id)
{
	struct key key = key_number(id), bykey;
	struct content_record content = {0};
	struct file_record file;
	uint64_t found;
	int r = catalog_get_file(&w->reader, id, &file);

	if (r == 0)
		r = get_content(w, id, &content);
	if (r < 0)
		return r;
	if (content.head)
		r = writer_delete(w, TABLE_CONTENT, &key);
	if (r == 0 && content.group)
		r = group_sweep(w, content.group);
	if (r == 0)
		r = catalog_find_inode(&w->reader, file.attributes.filesystem,
				       file.attributes.inode, &found);
	if (r == 0 && found == id) { /* else the inode number stands for another file now */
		bykey = key_pair(file.attributes.filesystem, file.attributes.inode);
		r = writer_delete(w, TABLE_BYKEY, &bykey);
	}
	if (r == 0)
		r = writer_delete(w, TABLE_FILE, &key);
	if (r == 0)
		r = writer_delete(w, TABLE_ORPHAN, &key);
	return r;
}
