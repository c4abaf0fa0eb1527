/* SPDX-License-Identifier: MIT */
#include "index/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "index/hashes.h"
#include "index/query.h"
#include "index/store/store.h"
#include "index/store/value.h"

struct catalog_scan {
	struct catalog_reader *reader;
	MDB_cursor *cursor;
	enum table table;
	struct key from; /* the iteration begins at this key or the next one */
	size_t prefix; /* number of leading bytes of from that every key must have */
	bool begun;
	/* in an iteration over names: directory and cookie of the first name */
	uint64_t first_dir, first_cookie;
	bool first_pending; /* the first name was not returned yet */
};

static int scan_begin(struct catalog_reader *r, enum table table, struct key from, size_t prefix,
		      struct catalog_scan **scan)
{
	struct catalog_scan *begun = calloc(1, sizeof(*begun));
	int result;

	*scan = NULL;
	if (!begun)
		return -ENOMEM;
	*begun = (struct catalog_scan){.reader = r, .table = table, .from = from, .prefix = prefix};
	result = store_cursor_take(r, table, &begun->cursor);
	if (result < 0) {
		free(begun);
		return result;
	}
	*scan = begun;
	return 0;
}

void catalog_scan_end(struct catalog_scan *scan)
{
	if (!scan)
		return;
	store_cursor_release(scan->reader, scan->table, scan->cursor);
	free(scan);
}

/* Gets the next record in the range: its key and checked fields. */
static int scan_next(struct catalog_scan *scan, struct span *key, struct span *fields)
{
	MDB_val k = {.mv_size = scan->from.length, .mv_data = scan->from.data}, v;
	MDB_cursor_op op = scan->begun ? MDB_NEXT : scan->from.length ? MDB_SET_RANGE : MDB_FIRST;
	int r = store_result(scan->reader->store, mdb_cursor_get(scan->cursor, &k, &v, op));

	scan->begun = true;
	if (r < 0)
		return r;
	if (k.mv_size < scan->prefix || memcmp(k.mv_data, scan->from.data, scan->prefix) != 0)
		return -ENOENT;
	*key = (struct span){k.mv_data, k.mv_size};
	return store_check(scan->reader->store, scan->table, &k, &v, fields);
}

int catalog_next_of_hash(struct catalog_reader *r, struct hash128 hash, uint32_t after,
			 struct group_record *group)
{
	struct record_span found;
	uint64_t id;
	int result = store_seek(r, TABLE_BYHASH, key_hash(hash, after + 1), HASH_BYTES, &found);

	if (result < 0)
		return result;
	return decode_number(found.fields, &id) ? catalog_get_group(r, id, group) : -EUCLEAN;
}

int catalog_scan_entries(struct catalog_reader *r, uint64_t dir, uint64_t after,
			 struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_ENTRY, key_pair(dir, after + 1), key_number(dir).length, scan);
}

int catalog_next_entry(struct catalog_scan *scan, struct entry_record *entry)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	if (!key_get_pair(key, &entry->dir, &entry->cookie) || !decode_entry(fields, entry))
		return -EUCLEAN;
	return 0;
}

int catalog_scan_members(struct catalog_reader *r, uint64_t group, uint64_t after,
			 struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_MEMBER, key_pair(group, after + 1), key_number(group).length,
			  scan);
}

int catalog_next_member(struct catalog_scan *scan, uint64_t *file)
{
	struct span key, fields;
	uint64_t group;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_pair(key, &group, file) ? 0 : -EUCLEAN;
}

int catalog_scan_names(struct catalog_reader *r, const struct file_record *file,
		       struct catalog_scan **scan)
{
	int result = catalog_scan_links(r, file->id, scan);

	if (result < 0)
		return result;
	(*scan)->first_dir = file->dir;
	(*scan)->first_cookie = file->cookie;
	(*scan)->first_pending = file->names > 0;
	return 0;
}

int catalog_scan_links(struct catalog_reader *r, uint64_t file, struct catalog_scan **scan)
{
	struct key prefix = key_number(file);

	return scan_begin(r, TABLE_LINK, prefix, prefix.length, scan);
}

int catalog_next_link(struct catalog_scan *scan, struct file_name *name)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_triple(key, &name->file, &name->dir, &name->cookie) &&
			       decode_number(fields, &name->id)
		       ? 0
		       : -EUCLEAN;
}

int catalog_scan_places(struct catalog_reader *r, uint64_t group, uint64_t after,
			struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_PLACE, key_pair(group, after + 1), key_number(group).length,
			  scan);
}

int catalog_next_place(struct catalog_scan *scan, struct file_name *name)
{
	struct span key, fields;
	uint64_t group;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_pair(key, &group, &name->id) && decode_place(fields, name) ? 0 : -EUCLEAN;
}

int catalog_next_name(struct catalog_scan *scan, uint64_t *dir, uint64_t *cookie)
{
	struct file_name name;
	int r;

	if (scan->first_pending) {
		scan->first_pending = false;
		*dir = scan->first_dir;
		*cookie = scan->first_cookie;
		return 0;
	}
	r = catalog_next_link(scan, &name);
	if (r < 0)
		return r;
	*dir = name.dir;
	*cookie = name.cookie;
	return 0;
}

int catalog_scan_groups(struct catalog_reader *r, uint64_t after, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_GROUP, key_number(after + 1), 0, scan);
}

int catalog_next_group(struct catalog_scan *scan, struct group_record *group)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_number(key, &group->id) && decode_group(fields, group) ? 0 : -EUCLEAN;
}

int catalog_scan_contents(struct catalog_reader *r, uint64_t after, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_CONTENT, key_number(after + 1), 0, scan);
}

int catalog_next_content(struct catalog_scan *scan, uint64_t *file, struct content_record *content)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_number(key, file) && decode_content(fields, content) ? 0 : -EUCLEAN;
}

int catalog_scan_targets(struct catalog_reader *r, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_TARGET, key_number(1), 0, scan);
}

int catalog_next_target(struct catalog_scan *scan, uint64_t *file, struct name *target)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	*target = (struct name){(const char *)fields.data, (uint32_t)fields.length};
	return key_get_number(key, file) ? 0 : -EUCLEAN;
}

static int scan_ranks(struct catalog_reader *r, enum table table, const struct rank_entry *from,
		      struct catalog_scan **scan)
{
	struct key key = from ? key_rank(from->reclaimable, from->group) : (struct key){0};

	return scan_begin(r, table, key, 0, scan);
}

int catalog_scan_ranks(struct catalog_reader *r, const struct rank_entry *from,
		       struct catalog_scan **scan)
{
	return scan_ranks(r, TABLE_RANK, from, scan);
}

int catalog_scan_folder_ranks(struct catalog_reader *r, const struct rank_entry *from,
			      struct catalog_scan **scan)
{
	return scan_ranks(r, TABLE_FOLDER_RANK, from, scan);
}

int catalog_next_rank_entry(struct catalog_scan *scan, struct rank_entry *entry)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_rank(key, &entry->reclaimable, &entry->group) ? 0 : -EUCLEAN;
}

int catalog_next_rank(struct catalog_scan *scan, struct group_record *group)
{
	struct rank_entry entry;
	int r = catalog_next_rank_entry(scan, &entry);

	if (r < 0)
		return r;
	r = catalog_get_group(scan->reader, entry.group, group);
	return r == -ENOENT ? -EUCLEAN : r;
}

int catalog_scan_sizes(struct catalog_reader *r, const struct size_entry *from,
		       struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_BYSIZE,
			  key_quad(from->size, from->prefix, from->group, from->file), 0, scan);
}

int catalog_next_size(struct catalog_scan *scan, struct size_entry *entry)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_quad(key, &entry->size, &entry->prefix, &entry->group, &entry->file)
		       ? 0
		       : -EUCLEAN;
}

int catalog_scan_dirs(struct catalog_reader *r, uint64_t after, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_DIR, key_number(after + 1), 0, scan);
}

int catalog_next_dir(struct catalog_scan *scan, struct dir_record *dir)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_number(key, &dir->id) && decode_dir(fields, dir) ? 0 : -EUCLEAN;
}

int catalog_scan_files(struct catalog_reader *r, uint64_t after, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_FILE, key_number(after + 1), 0, scan);
}

int catalog_next_file(struct catalog_scan *scan, struct file_record *file)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_number(key, &file->id) && decode_file(fields, file) ? 0 : -EUCLEAN;
}

int catalog_scan_folder_groups(struct catalog_reader *r, uint64_t after, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_FOLDERS, key_number(after + 1), 0, scan);
}

int catalog_next_folder_group(struct catalog_scan *scan, struct folder_group *group)
{
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_number(key, &group->id) && decode_folder_group(fields, group) ? 0 : -EUCLEAN;
}

int catalog_scan_trees(struct catalog_reader *r, struct hash128 sum, uint64_t group,
		       struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_BYTREE, key_tree(sum, group, 0), HASH_BYTES, scan);
}

int catalog_next_tree(struct catalog_scan *scan, uint64_t *group, uint64_t *dir)
{
	struct hash128 sum;
	struct span key, fields;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	return key_get_tree(key, &sum, group, dir) ? 0 : -EUCLEAN;
}

int catalog_scan_folders(struct catalog_reader *r, const struct folder_group *group, uint64_t after,
			 struct catalog_scan **scan)
{
	struct key from = key_tree(group->sum, group->id, after + 1);

	return scan_begin(r, TABLE_BYTREE, from, HASH_BYTES + key_number(group->id).length, scan);
}

int catalog_next_folder(struct catalog_scan *scan, uint64_t *dir)
{
	uint64_t group;

	return catalog_next_tree(scan, &group, dir);
}

int catalog_scan_errors(struct catalog_reader *r, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_ERROR, (struct key){0}, 0, scan);
}

int catalog_next_error(struct catalog_scan *scan, struct error_entry *error)
{
	struct span key, fields;
	uint64_t kind, number;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	if (!key_get_pair(key, &kind, &error->id) || kind < ERROR_DIR || kind > ERROR_FILE ||
	    !decode_number(fields, &number) || number > INT32_MAX)
		return -EUCLEAN;
	error->kind = (enum error_kind)kind;
	error->error = (int)number;
	return 0;
}

/* Files of one size, counted until the next size begins. */
struct size_count {
	uint64_t size;
	uint64_t files;
	uint64_t waiting;
};

static void add_size(const struct size_count *count, uint64_t *files, uint64_t *bytes)
{
	if (count->files < 2)
		return;
	*files += count->waiting;
	*bytes = size_add(*bytes, size_multiply(count->waiting, count->size));
}

/* Sets *waiting to whether the file waits to be compared. Files that could not be read do not
 * wait. */
static int is_waiting(struct catalog_reader *r, const struct size_entry *entry, bool errors,
		      bool *waiting)
{
	int error = 0, result = 0;

	*waiting = entry->prefix == 0;
	if (*waiting && errors)
		result = catalog_get_error(r, ERROR_FILE, entry->file, &error);
	*waiting = *waiting && !error;
	return result;
}

int catalog_count_pending_again(struct catalog_reader *r, uint64_t *files, uint64_t *bytes)
{
	struct size_entry entry, from = {0};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_count count = {0};
	struct catalog_totals totals;
	bool waiting;
	int result = catalog_get_min_size(r, &from.size);

	*files = *bytes = 0;
	if (result == 0)
		result = catalog_get_totals(r, &totals);
	if (result == 0)
		result = catalog_scan_sizes(r, &from, &scan);
	while (result == 0 && (result = catalog_next_size(scan, &entry)) == 0) {
		if (entry.size != count.size) {
			add_size(&count, files, bytes);
			count = (struct size_count){.size = entry.size};
		}
		result = is_waiting(r, &entry, totals.errors > 0, &waiting);
		count.files++;
		count.waiting += waiting;
	}
	add_size(&count, files, bytes);
	return result == -ENOENT ? 0 : result;
}

int catalog_count_pending(struct catalog_reader *r, uint64_t *files, uint64_t *bytes)
{
	struct catalog_totals totals;
	int result = catalog_get_totals(r, &totals);

	*files = *bytes = 0;
	if (result < 0 || totals.none_pending)
		return result;
	return catalog_count_pending_again(r, files, bytes);
}

int catalog_scan_blocks(struct catalog_reader *r, uint64_t file, struct catalog_scan **scan)
{
	return scan_begin(r, TABLE_BLOCKS, key_pair(file, 1), key_number(file).length, scan);
}

int catalog_next_blocks(struct catalog_scan *scan, struct blocks_part *part)
{
	struct span key, fields;
	uint64_t file, number;
	int r = scan_next(scan, &key, &fields);

	if (r < 0)
		return r;
	if (!key_get_pair(key, &file, &number) || !decode_blocks_part(fields, part))
		return -EUCLEAN;
	part->first = (number - 1) * BLOCKS_PART;
	return 0;
}
