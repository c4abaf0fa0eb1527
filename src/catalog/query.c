/* SPDX-License-Identifier: MIT */
#include "catalog/query.h"

#include <errno.h>
#include <string.h>

#include "catalog/meta.h"
#include "catalog/record.h"
#include "store/key.h"
#include "store/store.h"

int catalog_get_totals(struct catalog_reader *r, struct catalog_totals *totals)
{
	struct key key = meta_key(META_TOTALS);
	struct span fields;
	int result = store_get(r, TABLE_META, &key, &fields);

	if (result < 0)
		return result;
	return decode_totals(fields, totals) ? 0 : -EUCLEAN;
}

int catalog_get_source(struct catalog_reader *r, uint64_t index, struct bytes *path, uint64_t *root)
{
	return meta_get_source(r, index, path, root);
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

static int get_file(struct catalog_reader *r, uint64_t id,
		    bool (*decode)(struct span fields, struct file_record *file),
		    struct file_record *file)
{
	struct key key = key_number(id);
	struct span fields;
	int result = store_get(r, TABLE_FILE, &key, &fields);

	if (result < 0)
		return result;
	file->id = id;
	return decode(fields, file) ? 0 : -EUCLEAN;
}

int catalog_get_file(struct catalog_reader *r, uint64_t id, struct file_record *file)
{
	return get_file(r, id, decode_file, file);
}

int catalog_get_file_name(struct catalog_reader *r, uint64_t id, struct file_record *file)
{
	return get_file(r, id, decode_file_name, file);
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
	uint64_t id;
	int result = store_get_number(r, TABLE_BYHASH, &key, &id);

	return result < 0 ? result : catalog_get_group(r, id, group);
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

uint64_t catalog_snapshot_id(const struct catalog_reader *r)
{
	return store_snapshot_id(r);
}

uint64_t catalog_name_cookie(const struct catalog_reader *r, struct name name)
{
	return name_cookie(r->name_seed, name);
}

int catalog_find_inode(struct catalog_reader *r, uint32_t filesystem, uint64_t inode, uint64_t *id)
{
	struct key key = key_pair(filesystem, inode / INODE_BLOCK_NUMBERS);
	struct inode_block block;
	struct span fields;
	int result = store_get(r, TABLE_BYKEY, &key, &fields);

	*id = 0;
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (!decode_inodes(fields, &block))
		return -EUCLEAN;
	*id = block.files[inode % INODE_BLOCK_NUMBERS];
	return 0;
}

int catalog_get_error(struct catalog_reader *r, enum error_kind kind, uint64_t id, int *error)
{
	struct key key = key_pair((uint64_t)kind, id);
	uint64_t number = 0;
	int result = store_get_number(r, TABLE_ERROR, &key, &number);

	*error = 0;
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (number > INT32_MAX)
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
	int result;

	*count = 0;
	result = store_get_number(r, TABLE_REDUNDANT, &key, count);
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return *count > 0 ? 0 : -EUCLEAN;
}
