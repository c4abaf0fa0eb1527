/* SPDX-License-Identifier: MIT */
#include "catalog/check.h"

#include <errno.h>
#include <string.h>

#include "catalog/check_tables.h"
#include "catalog/filesystem.h"
#include "catalog/keep_rules.h"
#include "catalog/meta.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "catalog/scan_settings.h"
#include "catalog/source_identity.h"
#include "store/store.h"
#include "store/value.h"

/* Minimum page size of LMDB. All pages start at multiples of this size. */
#define PAGE_BYTES_MIN 4096

/* Format, name seed, smallest size and totals. */
#define META_SINGLE_RECORDS 4

/* Checks a record of a table whose records have no fields. */
static int check_nothing(struct check *c, struct span key, struct span fields)
{
	(void)c;
	(void)key;
	return check_claim(fields.length == 0);
}

static int check_orphan(struct check *c, struct span key, struct span fields)
{
	uint64_t comparisons;

	(void)key;
	return check_claim(decode_number(fields, &comparisons) &&
			   comparisons <= c->stored.comparisons);
}

/* ---- every record of a table --------------------------------------------------------- */

/* A table without a check function is checked through other tables, whose checks look up and decode
 * its records. */
static check_record_fn *const record_checks[TABLE_COUNT] = {
	[TABLE_DIR] = check_dir,
	[TABLE_ENTRY] = check_entry,
	[TABLE_FILE] = check_file,
	[TABLE_BYKEY] = check_bykey,
	[TABLE_BYSIZE] = check_nothing,
	[TABLE_GROUP] = check_group,
	[TABLE_MEMBER] = check_nothing,
	[TABLE_RANK] = check_nothing,
	[TABLE_ERROR] = check_error,
	[TABLE_ORPHAN] = check_orphan,
	[TABLE_TARGET] = check_target,
	[TABLE_FOLDER] = check_folder,
	[TABLE_BYTREE] = check_tree,
	[TABLE_FOLDERS] = check_folder_group,
	[TABLE_FOLDER_RANK] = check_nothing,
	[TABLE_EXTENT] = check_extents,
	[TABLE_UNMAPPED] = check_unmapped,
	[TABLE_BLOCKS] = check_blocks,
	[TABLE_DIGEST] = check_digest,
};

/* An iteration over all records of a table. It has its own cursor, as lookups move the reader's
 * cursor. */
struct table_walk {
	struct check *check;
	enum table table;
	MDB_cursor *cursor;
	uint64_t entries; /* number of records that LMDB reports for the table */
	struct key last; /* key of the last record; length 0: none yet */
	const void *last_value;
	uintptr_t page; /* address of the last key, in units of PAGE_BYTES_MIN */
};

static bool is_ascending(const struct key *last, const MDB_val *key)
{
	size_t common = last->length < key->mv_size ? last->length : key->mv_size;
	int order = memcmp(last->data, key->mv_data, common);

	return order ? order < 0 : last->length < key->mv_size;
}

/* Checks that a lookup from the root of the tree finds the last record. */
static int find_last(const struct table_walk *walk)
{
	struct catalog_reader *r = walk->check->reader;
	MDB_val k = store_key(&walk->last), v = {0};
	int code = mdb_get(r->txn, r->store->tables[walk->table], &k, &v);

	if (code)
		return check_found(store_error(code));
	return check_claim(v.mv_data == walk->last_value);
}

/* Checks the order of the next record, and at each new page that lookups from the root find the
 * last record of the old page and the first of the new one. Then they find all records between,
 * too. */
static int walk_to(struct table_walk *walk, const MDB_val *key, const MDB_val *value)
{
	uintptr_t page = (uintptr_t)key->mv_data / PAGE_BYTES_MIN;
	bool first = walk->last.length == 0, new_page = first || page != walk->page;
	int r = 0;

	/* if damaged pages form a cycle, the cursor returns the same key again */
	if (walk->check->met[walk->table]++ == walk->entries || key->mv_size == 0 ||
	    key->mv_size > sizeof(walk->last.data) || (!first && !is_ascending(&walk->last, key)))
		return -EUCLEAN;
	if (new_page && !first)
		r = find_last(walk);
	walk->last.length = key->mv_size;
	memcpy(walk->last.data, key->mv_data, key->mv_size);
	walk->last_value = value->mv_data;
	walk->page = page;
	if (r == 0 && new_page)
		r = find_last(walk);
	return r;
}

static bool is_format_record(enum table table, const MDB_val *key)
{
	return table == TABLE_META && key->mv_size == strlen(META_FORMAT) &&
	       memcmp(key->mv_data, META_FORMAT, key->mv_size) == 0;
}

static int check_record(struct table_walk *walk, const MDB_val *key, const MDB_val *value)
{
	check_record_fn *check = record_checks[walk->table];
	struct span fields;
	int r = walk_to(walk, key, value);

	if (r < 0 || is_format_record(walk->table, key))
		return r;
	r = store_check(walk->check->reader->store, walk->table, key, value, &fields);
	if (r < 0 || !check)
		return r;
	return check(walk->check, (struct span){key->mv_data, key->mv_size}, fields);
}

static int check_records(struct table_walk *walk)
{
	MDB_val k, v;
	int r;

	while ((r = store_error(mdb_cursor_get(walk->cursor, &k, &v, MDB_NEXT))) == 0) {
		r = check_record(walk, &k, &v);
		if (r < 0)
			return r;
	}
	if (r != -ENOENT)
		return r;
	if (walk->check->met[walk->table] != walk->entries)
		return -EUCLEAN;
	return walk->last.length ? find_last(walk) : 0;
}

/* Checks a table. Tables of twinfs have no flags of LMDB, which would change the order of keys. */
static int check_table(struct check *c, enum table table)
{
	struct catalog_reader *reader = c->reader;
	MDB_dbi dbi = reader->store->tables[table];
	struct table_walk walk = {.check = c, .table = table};
	unsigned int flags;
	MDB_stat stat = {0};
	int r = store_error(mdb_dbi_flags(reader->txn, dbi, &flags));

	if (r == 0)
		r = store_error(mdb_stat(reader->txn, dbi, &stat));
	if (r == 0)
		r = check_claim(flags == 0);
	if (r == 0)
		r = store_error(mdb_cursor_open(reader->txn, dbi, &walk.cursor));
	if (r < 0)
		return r;
	walk.entries = stat.ms_entries;
	r = check_records(&walk);
	mdb_cursor_close(walk.cursor);
	return r;
}

/* ---- the records about the index itself ---------------------------------------------- */

static int check_root(struct check *c, uint64_t source, uint64_t id)
{
	struct dir_record root;
	int r = check_found(catalog_get_dir(c->reader, id, &root));

	if (r < 0)
		return r;
	c->expected[TABLE_DIR]++;
	return check_claim(root.parent == 0 && root.source == source && root.name.length == 0);
}

static int check_sources(struct check *c)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct source_identity identity;
	uint64_t source, root = 0;
	int r = 0;

	for (source = 0; r == 0; source++) {
		path.length = 0;
		r = meta_get_source(c->reader, source, &path, &root);
		if (r == -ENOENT)
			return 0;
		if (r == 0)
			r = check_claim(path.length > 0 && path.data[0] == '/');
		if (r == 0)
			r = check_root(c, source, root);
		c->expected[TABLE_META] += 1 + meta_text_records(path.length);
		if (r == 0)
			r = source_identity_get(c->reader, source, &identity,
						&c->expected[TABLE_META]);
	}
	return r;
}

static int check_filesystems(struct check *c)
{
	struct filesystems filesystems;
	int r;

	filesystems_init(&filesystems);
	r = filesystems_load(&filesystems, c->reader);
	c->expected[TABLE_META] += filesystems.count;
	filesystems_deinit(&filesystems);
	return r;
}

static int check_scan_settings(struct check *c)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings settings = {0};
	CLEANUP_BYTES struct bytes stored = {0};
	int r = catalog_get_scan_settings(c->reader, &settings);

	if (r == 0)
		r = meta_get_text(c->reader, META_SCAN_SETTINGS, &stored);
	c->expected[TABLE_META] += meta_text_records(stored.length);
	return r;
}

static int check_view(struct check *c)
{
	CLEANUP_BYTES struct bytes mount_point = {0};
	int r = catalog_get_view(c->reader, &mount_point);

	c->expected[TABLE_META] += meta_text_records(mount_point.length);
	return r;
}

static int check_operands(struct check *c)
{
	bool is = false;
	int r = catalog_is_of_operands(c->reader, &is);

	c->expected[TABLE_META] += is;
	return r;
}

static int check_keep_rules(struct check *c)
{
	CLEANUP_KEEP_RULES struct keep_rules rules = {0};
	CLEANUP_BYTES struct bytes stored = {0};
	int r = catalog_get_keep_rules(c->reader, &rules);

	if (r == 0)
		r = meta_get_text(c->reader, META_KEEP, &stored);
	c->expected[TABLE_META] += meta_text_records(stored.length);
	return r;
}

static int check_left_out(struct check *c)
{
	CLEANUP_LEFT_OUT struct left_out list = {0};
	CLEANUP_BYTES struct bytes stored = {0};
	int r = catalog_get_left_out(c->reader, &list);

	if (r == 0)
		r = meta_get_text(c->reader, META_LEFT_OUT, &stored);
	c->expected[TABLE_META] += meta_text_records(stored.length);
	return r;
}

static int check_places(struct check *c)
{
	int r = meta_get_number(c->reader, META_PLACES, &c->places);

	c->expected[TABLE_META] += r == 0;
	return r == -ENOENT ? 0 : r; /* indexes of earlier versions have none */
}

static int check_meta(struct check *c)
{
	uint64_t min_size;
	int r = meta_get_number(c->reader, META_NAME_SEED, &c->reader->name_seed);

	if (r == 0)
		r = meta_get_number(c->reader, META_MIN_SIZE, &min_size);
	if (r == 0)
		r = catalog_get_totals(c->reader, &c->stored);
	c->expected[TABLE_META] += META_SINGLE_RECORDS;
	if (r == 0)
		r = check_places(c);
	if (r == 0)
		r = check_scan_settings(c);
	if (r == 0)
		r = check_view(c);
	if (r == 0)
		r = check_operands(c);
	if (r == 0)
		r = check_keep_rules(c);
	if (r == 0)
		r = check_left_out(c);
	if (r == 0)
		r = check_sources(c);
	return r < 0 ? check_found(r) : check_filesystems(c);
}

static bool totals_agree(const struct catalog_totals *a, const struct catalog_totals *b)
{
	return a->directories == b->directories && a->files == b->files && a->others == b->others &&
	       size_sum_equals(&a->bytes, &b->bytes) && a->blocks == b->blocks &&
	       a->names == b->names && a->groups == b->groups &&
	       a->redundant_files == b->redundant_files &&
	       size_sum_equals(&a->redundant_bytes, &b->redundant_bytes) &&
	       size_sum_equals(&a->reclaimable_bytes, &b->reclaimable_bytes) &&
	       a->folder_groups == b->folder_groups && a->errors == b->errors;
}

/* Checks the claim of the totals that no file is pending. */
static int check_pending(struct check *c)
{
	uint64_t files, bytes;
	int r;

	if (!c->stored.none_pending)
		return 0;
	r = catalog_count_pending_again(c->reader, &files, &bytes);
	return r < 0 ? check_found(r) : check_claim(files == 0);
}

static int compare_counts(struct check *c)
{
	c->counted.directories = c->met[TABLE_DIR];
	c->counted.errors = c->met[TABLE_ERROR];
	for (int table = 0; table < TABLE_COUNT; table++) {
		if (c->met[table] != c->expected[table])
			return -EUCLEAN;
	}
	return check_claim(c->stored.unended <= c->stored.scans &&
			   totals_agree(&c->stored, &c->counted));
}

int check_catalog(struct catalog_reader *r)
{
	static const struct keep_rules no_rules;
	struct check c = {.reader = r, .choice = {.reader = r, .rules = &no_rules}};
	unsigned int format;
	int result = meta_get_format(r, &format);

	/* Format 0: an empty index, in which no record is expected. */
	if (result == 0 && format > 0)
		result = check_meta(&c);
	for (int table = 0; result == 0 && table < TABLE_COUNT; table++)
		result = check_table(&c, (enum table)table);
	if (result == 0)
		result = check_redundant(&c);
	if (result == 0)
		result = check_pending(&c);
	kept_choice_deinit(&c.choice);
	return result < 0 ? result : compare_counts(&c);
}
