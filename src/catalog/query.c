/* SPDX-License-Identifier: MIT */
#include "catalog/query.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "catalog/meta.h"
#include "catalog/name.h"
#include "catalog/store.h"

/* A path deeper than this means a cycle in a damaged index. */
#define DEPTH_MAX 1000000

int catalog_get_totals(struct catalog_reader *r, struct catalog_totals *totals)
{
	return meta_get_totals(r, totals);
}

int catalog_totals_now(struct catalog *catalog, struct catalog_totals *totals)
{
	struct catalog_reader *reader CLEANUP_READER = NULL;
	int r = catalog_read_begin(catalog, &reader);

	return r < 0 ? r : catalog_get_totals(reader, totals);
}

int catalog_get_min_size(struct catalog_reader *r, uint64_t *min_size)
{
	return meta_get_number(r, META_MIN_SIZE, min_size);
}

int catalog_get_view(struct catalog_reader *r, struct bytes *mount_point)
{
	return meta_get_text(r, META_VIEW, mount_point);
}

int catalog_get_dir(struct catalog_reader *r, uint64_t id, struct dir_record *dir)
{
	struct key key = key_number(id);
	struct span fields;
	int result = store_get(r, TABLE_DIR, &key, &fields);

	if (result < 0)
		return result;
	dir->id = id;
	return decode_dir(fields, dir) ? 0 : -EUCLEAN;
}

int catalog_get_file(struct catalog_reader *r, uint64_t id, struct file_record *file)
{
	struct key key = key_number(id);
	struct span fields;
	int result = store_get(r, TABLE_FILE, &key, &fields);

	if (result < 0)
		return result;
	file->id = id;
	return decode_file(fields, file) ? 0 : -EUCLEAN;
}

int catalog_get_content(struct catalog_reader *r, uint64_t file, struct content_record *content)
{
	struct key key = key_number(file);
	struct span fields;
	int result = store_get(r, TABLE_CONTENT, &key, &fields);

	if (result < 0)
		return result;
	return decode_content(fields, content) ? 0 : -EUCLEAN;
}

int catalog_get_group(struct catalog_reader *r, uint64_t id, struct group_record *group)
{
	struct key key = key_number(id);
	struct span fields;
	int result = store_get(r, TABLE_GROUP, &key, &fields);

	if (result < 0)
		return result;
	group->id = id;
	return decode_group(fields, group) ? 0 : -EUCLEAN;
}

int catalog_find_group(struct catalog_reader *r, struct hash128 hash, uint32_t ordinal,
		       struct group_record *group)
{
	struct key key = key_hash(hash, ordinal);
	struct span fields;
	uint64_t id;
	int result = store_get(r, TABLE_BYHASH, &key, &fields);

	if (result < 0)
		return result;
	if (!decode_number(fields, &id))
		return -EUCLEAN;
	return catalog_get_group(r, id, group);
}

int catalog_entry_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
		     struct entry_record *entry)
{
	struct key key = key_pair(dir, cookie);
	struct span fields;
	int result = store_get(r, TABLE_ENTRY, &key, &fields);

	if (result < 0)
		return result;
	entry->dir = dir;
	entry->cookie = cookie;
	return decode_entry(fields, entry) ? 0 : -EUCLEAN;
}

uint64_t catalog_name_cookie(const struct catalog_reader *r, struct name name)
{
	return name_cookie(r->name_seed, name);
}

int catalog_find_entry(struct catalog_reader *r, uint64_t dir, struct name name,
		       struct entry_record *entry)
{
	uint64_t first = name_cookie(r->name_seed, name);
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	int result = catalog_entry_at(r, dir, first, entry);

	if (result == 0 && names_equal(entry->name, name))
		return 0;
	if (result < 0 && result != -ENOENT)
		return result;
	result = catalog_scan_entries(r, dir, first, &scan); /* names with the same hash */
	while (result == 0 && (result = catalog_next_entry(scan, entry)) == 0) {
		if (entry->cookie >= first + ENTRY_COOKIE_SLOTS)
			return -ENOENT;
		if (names_equal(entry->name, name))
			return 0;
	}
	return result;
}

int catalog_find_path(struct catalog_reader *r, uint64_t dir, const char *relative,
		      struct entry_record *entry)
{
	for (;;) {
		size_t length = strcspn(relative, "/");
		struct name name = {relative, (uint32_t)length};
		int result = catalog_find_entry(r, dir, name, entry);

		if (result < 0 || relative[length] == '\0')
			return result;
		if (entry->kind != ENTRY_DIR)
			return -ENOENT;
		dir = entry->child;
		relative += length + 1;
	}
}

int catalog_find_inode(struct catalog_reader *r, uint32_t filesystem, uint64_t inode, uint64_t *id)
{
	struct key key = key_pair(filesystem, inode);
	struct span fields;
	int result = store_get(r, TABLE_BYKEY, &key, &fields);

	*id = 0;
	if (result == -ENOENT)
		return 0;
	if (result < 0)
		return result;
	return decode_number(fields, id) ? 0 : -EUCLEAN;
}

int catalog_get_error(struct catalog_reader *r, enum error_kind kind, uint64_t id, int *error)
{
	struct key key = key_pair((uint64_t)kind, id);
	struct span fields;
	uint64_t number;
	int result = store_get(r, TABLE_ERROR, &key, &fields);

	*error = 0;
	if (result == -ENOENT)
		return 0;
	if (result < 0)
		return result;
	if (!decode_number(fields, &number) || number > INT32_MAX)
		return -EUCLEAN;
	*error = (int)number;
	return 0;
}

int catalog_is_redundant(struct catalog_reader *r, uint64_t file, bool *redundant,
			 struct group_record *group)
{
	struct content_record content;
	int result = catalog_get_content(r, file, &content);

	*redundant = false;
	group->id = 0;
	if (result == -ENOENT || (result == 0 && content.group == 0))
		return 0;
	if (result == 0)
		result = catalog_get_group(r, content.group, group);
	if (result == -ENOENT || (result == 0 && !group_is_visible(group))) {
		group->id = 0;
		return 0;
	}
	if (result == 0)
		*redundant = group->kept != file;
	return result;
}

int catalog_count_redundant(struct catalog_reader *r, uint64_t dir, uint64_t *count)
{
	struct key key = key_number(dir);
	struct span fields;
	int result = store_get(r, TABLE_REDUNDANT, &key, &fields);

	*count = 0;
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return decode_number(fields, count) && *count > 0 ? 0 : -EUCLEAN;
}

/* ---- paths --------------------------------------------------------------------------- */

static void reverse(uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length / 2; i++) {
		uint8_t swap = data[i];

		data[i] = data[length - 1 - i];
		data[length - 1 - i] = swap;
	}
}

/* Paths are gathered from the end, each name backwards, and turned round once. */
static int append_backwards(struct bytes *path, struct name name)
{
	int r = bytes_append(path, name.bytes, name.length);

	if (r == 0)
		reverse(path->data + path->length - name.length, name.length);
	return r;
}

static int gather_path(struct catalog_reader *r, uint64_t dir, struct name name, struct bytes *path,
		       uint32_t *source)
{
	size_t start = path->length;
	struct dir_record record = {0};
	int result = append_backwards(path, name);

	for (unsigned int depth = 0; result == 0; depth++) {
		result = catalog_get_dir(r, dir, &record);
		if (result < 0 || record.parent == 0)
			break;
		if (depth == DEPTH_MAX)
			return -EUCLEAN;
		if (path->length > start)
			result = bytes_append(path, "/", 1);
		if (result == 0)
			result = append_backwards(path, record.name);
		dir = record.parent;
	}
	if (result < 0)
		return result;
	if (path->length > start)
		reverse(path->data + start, path->length - start);
	*source = record.source;
	return 0;
}

int catalog_dir_path(struct catalog_reader *r, uint64_t dir, struct bytes *path, uint32_t *source)
{
	return gather_path(r, dir, (struct name){"", 0}, path, source);
}

int catalog_entry_path(struct catalog_reader *r, uint64_t dir, uint64_t cookie, struct bytes *path,
		       uint32_t *source)
{
	struct entry_record entry;
	int result = catalog_entry_at(r, dir, cookie, &entry);

	return result < 0 ? result : gather_path(r, dir, entry.name, path, source);
}

static bool path_goes_before(const struct bytes *path, size_t start, size_t middle)
{
	size_t old = middle - start, new = path->length - middle;
	int order = memcmp(path->data + middle, path->data + start, new < old ? new : old);

	return order ? order < 0 : new < old;
}

int catalog_file_path(struct catalog_reader *r, const struct file_record *file, struct bytes *path,
		      uint32_t *source)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	size_t start = path->length, middle;
	uint64_t dir, cookie;
	uint32_t next_source;
	int result;

	if (file->names == 0)
		return -ENOENT;
	result = catalog_entry_path(r, file->dir, file->cookie, path, source);
	if (result < 0 || file->names == 1)
		return result;
	result = catalog_scan_names(r, file, &scan);
	while (result == 0 && (result = catalog_next_name(scan, &dir, &cookie)) == 0) {
		middle = path->length;
		result = catalog_entry_path(r, dir, cookie, path, &next_source);
		if (result < 0)
			break;
		if (next_source < *source ||
		    (next_source == *source && path_goes_before(path, start, middle))) {
			memmove(path->data + start, path->data + middle, path->length - middle);
			path->length = start + path->length - middle;
			*source = next_source;
		} else {
			path->length = middle;
		}
	}
	return result == -ENOENT ? 0 : result;
}
