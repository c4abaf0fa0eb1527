/* SPDX-License-Identifier: MIT */
#include "index/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/numbers.h"
#include "index/keep_rules.h"
#include "index/meta.h"
#include "index/record.h"
#include "index/scan.h"
#include "index/store/store.h"
#include "index/store/value.h"
#include "index/writer.h"

int catalog_get_totals(struct catalog_reader *r, struct catalog_totals *totals)
{
	struct span fields;
	int result = store_get(r, TABLE_META, meta_key(META_TOTALS), &fields);

	if (result < 0)
		return result;
	return decode_totals(fields, totals) ? 0 : -EUCLEAN;
}

int catalog_get_min_size(struct catalog_reader *r, uint64_t *min_size)
{
	return meta_get_number(r, META_MIN_SIZE, min_size);
}

int catalog_get_view(struct catalog_reader *r, struct bytes *mount_point)
{
	return meta_get_text(r, META_VIEW, mount_point);
}

int catalog_is_of_operands(struct catalog_reader *r, bool *is)
{
	uint64_t number;
	int result = meta_get_number(r, META_OPERANDS, &number);

	*is = result == 0;
	return result == -ENOENT ? 0 : result;
}

int catalog_get_keep_rules(struct catalog_reader *r, struct keep_rules *rules)
{
	CLEANUP_BYTES struct bytes encoded = {0};
	int result = meta_get_text(r, META_KEEP, &encoded);

	*rules = (struct keep_rules){0};
	return result < 0 || encoded.length == 0 ? result : keep_rules_decode(rules, &encoded);
}

int catalog_get_dir(struct catalog_reader *r, uint64_t id, struct dir_record *dir)
{
	struct span fields;
	int result = store_get(r, TABLE_DIR, key_number(id), &fields);

	if (result < 0)
		return result;
	dir->id = id;
	return decode_dir(fields, dir) ? 0 : -EUCLEAN;
}

static int get_file(struct catalog_reader *r, uint64_t id,
		    bool (*decode)(struct span fields, struct file_record *file),
		    struct file_record *file)
{
	struct span fields;
	int result = store_get(r, TABLE_FILE, key_number(id), &fields);

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
	struct span fields;
	int result = store_get(r, TABLE_CONTENT, key_number(file), &fields);

	if (result < 0)
		return result;
	return decode_content(fields, content) ? 0 : -EUCLEAN;
}

int catalog_get_group(struct catalog_reader *r, uint64_t id, struct group_record *group)
{
	struct span fields;
	int result = store_get(r, TABLE_GROUP, key_number(id), &fields);

	if (result < 0)
		return result;
	group->id = id;
	return decode_group(fields, group) ? 0 : -EUCLEAN;
}

int catalog_find_group(struct catalog_reader *r, struct hash128 hash, uint32_t ordinal,
		       struct group_record *group)
{
	uint64_t id;
	int result = store_get_number(r, TABLE_BYHASH, key_hash(hash, ordinal), &id);

	return result < 0 ? result : catalog_get_group(r, id, group);
}

int catalog_entry_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
		     struct entry_record *entry)
{
	struct span fields;
	int result = store_get(r, TABLE_ENTRY, key_pair(dir, cookie), &fields);

	if (result < 0)
		return result;
	entry->dir = dir;
	entry->cookie = cookie;
	return decode_entry(fields, entry) ? 0 : -EUCLEAN;
}

uint64_t catalog_snapshot_id(const struct catalog_reader *r)
{
	return mdb_txn_id(r->txn);
}

uint64_t catalog_name_cookie(const struct catalog_reader *r, struct name name)
{
	return name_cookie(r->name_seed, name);
}

int catalog_find_inode(struct catalog_reader *r, uint32_t filesystem, uint64_t inode, uint64_t *id)
{
	struct inode_block block;
	struct span fields;
	int result = store_get(r, TABLE_BYKEY, key_pair(filesystem, inode / INODE_BLOCK_NUMBERS),
			       &fields);

	*id = 0;
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (!decode_inodes(fields, &block))
		return -EUCLEAN;
	*id = block.files[inode % INODE_BLOCK_NUMBERS];
	return 0;
}

int catalog_count_orphans(struct catalog_reader *r, uint64_t *count)
{
	return store_count(r, TABLE_ORPHAN, count);
}

int catalog_get_error(struct catalog_reader *r, enum error_kind kind, uint64_t id, int *error)
{
	uint64_t number = 0;
	int result = store_get_number(r, TABLE_ERROR, key_pair((uint64_t)kind, id), &number);

	*error = 0;
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	if (number > INT32_MAX)
		return -EUCLEAN;
	*error = (int)number;
	return 0;
}

/* A file whose lists are deferred has a group, but is no member yet. Returns 0, -ENOENT or another
 * -errno. */
static int find_member(struct catalog_reader *r, uint64_t group, uint64_t file)
{
	struct span fields;

	return store_get(r, TABLE_MEMBER, key_pair(group, file), &fields);
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
	if (result == 0 && group_is_visible(group) && group->kept != file)
		result = find_member(r, group->id, file);
	if (result == -ENOENT || (result == 0 && !group_is_visible(group))) {
		group->id = 0;
		return 0;
	}
	if (result == 0)
		*redundant = group->kept != file;
	return result;
}

int catalog_get_redundant(struct catalog_reader *r, uint64_t dir,
			  struct redundant_record *redundant)
{
	struct span fields;
	int result = store_get(r, TABLE_REDUNDANT, key_number(dir), &fields);

	*redundant = (struct redundant_record){0};
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return decode_redundant(fields, redundant) ? 0 : -EUCLEAN;
}

int catalog_get_folder(struct catalog_reader *r, uint64_t dir, struct folder_record *folder)
{
	struct span fields;
	int result = store_get(r, TABLE_FOLDER, key_number(dir), &fields);

	if (result < 0)
		return result;
	return decode_folder(fields, folder) ? 0 : -EUCLEAN;
}

int catalog_get_folder_group(struct catalog_reader *r, uint64_t id, struct folder_group *group)
{
	struct span fields;
	int result = store_get(r, TABLE_FOLDERS, key_number(id), &fields);

	if (result < 0)
		return result;
	group->id = id;
	return decode_folder_group(fields, group) ? 0 : -EUCLEAN;
}

int catalog_find_folder_group(struct catalog_reader *r, uint64_t dir, uint64_t *group)
{
	struct folder_record folder = {0};
	int result = catalog_get_folder(r, dir, &folder);

	*group = folder.group;
	return result == -ENOENT ? 0 : result;
}

int catalog_get_target(struct catalog_reader *r, uint64_t file, struct name *target)
{
	struct span fields;
	int result = store_get(r, TABLE_TARGET, key_number(file), &fields);

	if (result == 0)
		*target = (struct name){(const char *)fields.data, (uint32_t)fields.length};
	return result;
}

/* ---- windows of files ----------------------------------------------------------------- */

/* Greatest number of ids: a window takes at most 1 MiB. */
#define IDS_MAX 65536

/* Fewer files are looked up in the same time. */
#define FILES_MIN 4

/* A range that has more ids than this for each file is not read. */
#define IDS_PER_FILE 4

struct window_record {
	MDB_val value; /* no data: there is no such file */
};

void file_window_free(struct file_window *window)
{
	free(window->records);
	*window = (struct file_window){0};
}

/* Notes the record at the cursor. Returns whether the next one can be in the window. */
static bool note(struct file_window *window, const MDB_val *key, const MDB_val *value)
{
	uint64_t id;

	if (!key_get_number((struct span){key->mv_data, key->mv_size}, &id) || id < window->first ||
	    id - window->first >= window->count)
		return false; /* a damaged key is found when its file is looked up */
	window->records[id - window->first].value = *value;
	return true;
}

int file_window_fill(struct file_window *window, struct catalog_reader *r, uint64_t first,
		     uint64_t last, size_t count)
{
	struct key key = key_number(first);
	MDB_val k = store_key(&key), v;
	MDB_cursor *cursor = NULL;
	int code, result;

	window->count = 0;
	if (count < FILES_MIN || last < first || last - first >= IDS_MAX ||
	    last - first >= count * IDS_PER_FILE)
		return 0;
	result = array_reserve(&window->records, &window->capacity, (size_t)(last - first + 1),
			       sizeof(*window->records));
	if (result == 0)
		result = store_cursor(r, TABLE_FILE, &cursor);
	if (result < 0)
		return result;
	window->first = first;
	window->count = (size_t)(last - first + 1);
	memset(window->records, 0, window->count * sizeof(*window->records));
	code = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	while (code == 0 && note(window, &k, &v))
		code = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	return code == MDB_NOTFOUND ? 0 : store_result(r->store, code);
}

int file_window_get(const struct file_window *window, struct catalog_reader *r, uint64_t id,
		    struct file_record *file)
{
	struct key key = key_number(id);
	MDB_val k = store_key(&key);
	const MDB_val *value;
	struct span fields;
	int result;

	if (id < window->first || id - window->first >= window->count)
		return catalog_get_file(r, id, file);
	value = &window->records[id - window->first].value;
	if (!value->mv_data)
		return catalog_get_file(r, id, file);
	result = store_check(r->store, TABLE_FILE, &k, value, &fields);
	if (result < 0)
		return result;
	file->id = id;
	return decode_file(fields, file) ? 0 : -EUCLEAN;
}

/* ---- names of groups --------------------------------------------------------------- */

void group_name_make(char name[static GROUP_NAME_SIZE], struct hash128 hash, uint32_t ordinal)
{
	hash128_format(hash, name);
	if (ordinal > 1)
		(void)snprintf(name + HASH128_DIGITS, GROUP_NAME_SIZE - HASH128_DIGITS, "~%" PRIu32,
			       ordinal);
}

bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal)
{
	const char *at = name + HASH128_DIGITS;
	uint64_t number;
	size_t digits;

	if (!hash128_parse(name, hash))
		return false;
	*ordinal = 1;
	if (*at == '\0')
		return true;
	if (*at++ != '~' || *at == '0')
		return false;
	digits = strspn(at, "0123456789");
	if (at[digits] != '\0' || number_read(at, digits, &number) < 0)
		return false;
	*ordinal = (uint32_t)number;
	return number >= 2 && number <= UINT32_MAX;
}

/* ---- extents ----------------------------------------------------------------------- */

bool catalog_maps_extents(struct catalog *catalog, const struct attributes *attributes)
{
	return attributes->size > EXTENTS_UNMAPPED_MAX &&
	       filesystems_may_share(&catalog->filesystems, attributes);
}

bool catalog_maps_file(struct catalog *catalog, const struct file_record *file)
{
	return file_is_held_outside(file) || catalog_maps_extents(catalog, &file->attributes);
}

bool catalog_shares_extents(struct catalog *catalog, uint32_t filesystem)
{
	/* a file without holes has to be mapped only if it can share extents */
	return filesystems_may_share(&catalog->filesystems,
				     &(struct attributes){.filesystem = filesystem});
}

int catalog_next_unmapped(struct catalog_reader *r, uint64_t after, struct unmapped_group *unmapped)
{
	struct record_span found;
	int result = store_seek(r, TABLE_UNMAPPED, key_number(after + 1), 0, &found);

	*unmapped = (struct unmapped_group){0};
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return key_get_number(found.key, &unmapped->group) &&
			       decode_number(found.fields, &unmapped->due)
		       ? 0
		       : -EUCLEAN;
}

int catalog_get_extents(struct catalog_reader *r, uint64_t file, struct extent_record *extents)
{
	struct span fields;
	int result = store_get(r, TABLE_EXTENT, key_number(file), &fields);

	if (result < 0)
		return result;
	return decode_extents(fields, extents) ? 0 : -EUCLEAN;
}
