/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_AUDIT_H
#define TESTS_CATALOG_AUDIT_H

/* Reads all tables of an index and checks that they agree with each other and with the totals.
 * Each record is referenced by exactly the records that must reference it. */

#include "base/hash.h"
#include "index/fixture.h"
#include "index/paths.h"
#include "index/record.h"
#include "index/store/store.h"
#include "index/store/value.h"

/* The hash of all records but those of inode numbers. An older page of that table can lack files,
 * which the check cannot know: a file whose number another inode took is missing there, too. Such a
 * file is then found by its name only. Returns 0, -ENOMEM, or -EIO if LMDB cannot read them. */
static inline int hash_records(struct catalog_reader *reader, struct hash128 *hash)
{
	struct hash_state *state = hash_state_new();
	MDB_cursor *cursor = NULL;
	MDB_val k, v;
	int r = state ? 0 : -ENOMEM;

	for (int table = 0; r == 0 && table < TABLE_COUNT; table++) {
		if (table == TABLE_BYKEY)
			continue;
		r = mdb_cursor_open(reader->txn, reader->store->tables[table], &cursor);
		while (r == 0 && (r = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0) {
			hash_state_update(state, &k.mv_size, sizeof(k.mv_size));
			hash_state_update(state, k.mv_data, k.mv_size);
			hash_state_update(state, v.mv_data, v.mv_size);
		}
		mdb_cursor_close(cursor);
		r = r == MDB_NOTFOUND ? 0 : -EIO;
	}
	if (r == 0)
		*hash = hash_state_digest(state);
	hash_state_free(state);
	return r;
}

struct audit {
	struct catalog_reader *reader;
	struct catalog_totals counted;
	uint64_t counts[TABLE_COUNT];
	bool choosing; /* places are still to be looked at */
	uint64_t redundant_links, visible, holders, places;
};

/* Returns whether the record exists. */
static inline bool audit_has(struct audit *a, enum table table, struct key key)
{
	struct span fields;
	int r = store_get(a->reader, table, key, &fields);

	assert_true(r == 0 || r == -ENOENT);
	return r == 0;
}

static inline uint64_t audit_number(struct audit *a, enum table table, struct key key)
{
	struct span fields;
	uint64_t number = 0;

	assert_int_equal(store_get(a->reader, table, key, &fields), 0);
	assert_true(decode_number(fields, &number));
	return number;
}

/* Returns the redundant count of a directory. */
static inline uint64_t audit_count(struct audit *a, uint64_t dir)
{
	struct redundant_record record;

	assert_int_equal(catalog_get_redundant(a->reader, dir, &record), 0);
	return record.count;
}

/* Returns whether the file is in a group of several inodes and is not the kept copy. */
static inline bool audit_is_redundant(struct audit *a, uint64_t file)
{
	struct content_record content;
	struct group_record group;

	return catalog_get_content(a->reader, file, &content) == 0 && content.group &&
	       catalog_get_group(a->reader, content.group, &group) == 0 && group.inodes > 1 &&
	       group.kept != file;
}

/* Checks the record of TABLE_REDUNDANT of a directory: the number of its redundant names and of its
 * subdirectories with such a number. */
static inline void audit_redundant(struct audit *a, uint64_t dir)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct entry_record entry;
	uint64_t count = 0;

	assert_int_equal(catalog_scan_entries(a->reader, dir, 0, &scan), 0);
	while (catalog_next_entry(scan, &entry) == 0) {
		if (entry.kind == ENTRY_FILE)
			count += audit_is_redundant(a, entry.child);
		else if (entry.kind == ENTRY_DIR)
			count += audit_count(a, entry.child) > 0;
	}
	a->holders +=
		audit_has(a, TABLE_REDUNDANT, key_number(dir)); /* also those with times only */
	assert_int_equal(audit_count(a, dir), count);
}

static inline void audit_dir(struct audit *a, struct span key, struct span fields)
{
	struct dir_record dir;
	struct entry_record entry;

	assert_true(key_get_number(key, &dir.id) && decode_dir(fields, &dir));
	audit_redundant(a, dir.id);
	if (dir.parent == 0)
		return;
	assert_int_equal(catalog_find_entry(a->reader, dir.parent, dir.name, &entry), 0);
	assert_int_equal(entry.kind, ENTRY_DIR);
	assert_int_equal(entry.child, dir.id);
}

static inline void audit_entry(struct audit *a, struct span key, struct span fields)
{
	struct entry_record entry, found;
	struct file_record file;
	struct dir_record dir;
	uint64_t first;

	assert_true(key_get_pair(key, &entry.dir, &entry.cookie) && decode_entry(fields, &entry));
	first = name_cookie(a->reader->name_seed, entry.name);
	assert_in_range(entry.cookie - first, 0, ENTRY_COOKIE_SLOTS - 1);
	assert_int_equal(catalog_find_entry(a->reader, entry.dir, entry.name, &found), 0);
	assert_int_equal(found.cookie, entry.cookie); /* no name exists twice */
	assert_int_equal(catalog_get_dir(a->reader, entry.dir, &dir), 0);
	if (entry.kind == ENTRY_DIR) {
		assert_int_equal(catalog_get_dir(a->reader, entry.child, &dir), 0);
		assert_int_equal(dir.parent, entry.dir);
	} else if (entry.kind == ENTRY_FILE) {
		assert_int_equal(catalog_get_file(a->reader, entry.child, &file), 0);
		assert_true((file.dir == entry.dir && file.cookie == entry.cookie) ||
			    audit_has(a, TABLE_LINK, key_triple(file.id, entry.dir, entry.cookie)));
		a->counted.names++;
	}
}

/* Checks that the name has an id. If its file is in a group, the name must have a record in
 * TABLE_PLACE. */
static inline void audit_place(struct audit *a, const struct file_name *name, uint64_t group)
{
	struct file_name found = {0};
	struct span fields;

	assert_true(name->id > 0);
	if (!group)
		return;
	a->places++;
	assert_int_equal(store_get(a->reader, TABLE_PLACE, key_pair(group, name->id), &fields), 0);
	assert_true(decode_place(fields, &found));
	assert_true(found.file == name->file && found.dir == name->dir &&
		    found.cookie == name->cookie);
}

static inline void audit_places(struct audit *a, const struct file_record *file)
{
	const struct file_name first = {file->name, file->id, file->dir, file->cookie};
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct content_record content = {0};
	struct file_name name;

	(void)!catalog_get_content(a->reader, file->id, &content);
	if (first.id)
		audit_place(a, &first, content.group);
	assert_true(file->names > 0 || first.id == 0);
	assert_int_equal(catalog_scan_links(a->reader, file->id, &scan), 0);
	while (catalog_next_link(scan, &name) == 0)
		audit_place(a, &name, content.group);
}

/* Checks that each name of the file is an entry that refers to the file. */
static inline void audit_names(struct audit *a, const struct file_record *file)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct entry_record entry;
	uint64_t dir, cookie, count = 0;

	audit_places(a, file);
	assert_int_equal(catalog_scan_names(a->reader, file, &scan), 0);
	for (; catalog_next_name(scan, &dir, &cookie) == 0; count++) {
		assert_int_equal(catalog_entry_at(a->reader, dir, cookie, &entry), 0);
		assert_int_equal(entry.kind, ENTRY_FILE);
		assert_int_equal(entry.child, file->id);
	}
	assert_int_equal(count, file->names);
	if (count > 1)
		a->redundant_links += count - 1;
}

static inline void audit_file(struct audit *a, struct span key, struct span fields)
{
	struct content_record content = {0};
	struct file_record file;

	assert_true(key_get_number(key, &file.id) && decode_file(fields, &file));
	(void)!catalog_get_content(a->reader, file.id, &content);
	audit_names(a, &file);
	assert_int_equal(file.names == 0, audit_has(a, TABLE_ORPHAN, key_number(file.id)));
	if (file.names == 0)
		return;
	if (!S_ISREG(file.attributes.mode)) {
		a->counted.others++;
		return;
	}
	a->counted.files++;
	size_sum_add(&a->counted.bytes, file.attributes.size);
	a->counted.blocks += file.attributes.blocks;
	assert_true(
		audit_has(a, TABLE_BYSIZE,
			  key_quad(file.attributes.size, content.prefix, content.group, file.id)));
}

static inline void audit_content(struct audit *a, struct span key, struct span fields)
{
	struct content_record content;
	struct group_record group;
	struct file_record file;

	assert_true(key_get_number(key, &file.id) && decode_content(fields, &content));
	assert_int_equal(catalog_get_file(a->reader, file.id, &file), 0);
	if (!content.group)
		return;
	assert_int_equal(audit_has(a, TABLE_MEMBER, key_pair(content.group, file.id)),
			 file.names > 0);
	if (file.names == 0)
		return;
	assert_int_equal(catalog_get_group(a->reader, content.group, &group), 0);
	assert_int_equal(group.size, file.attributes.size);
}

/* Returns whether a file without names has a content of this group. */
static inline bool audit_is_awaited(struct audit *a, uint64_t group)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct content_record content;
	struct file_record file;

	assert_int_equal(catalog_scan_files(a->reader, 0, &scan), 0);
	while (catalog_next_file(scan, &file) == 0) {
		if (file.names == 0 && catalog_get_content(a->reader, file.id, &content) == 0 &&
		    content.group == group)
			return true;
	}
	return false;
}

/* Checks that the group maps if a member is in a place that something else empties, and that its
 * figure has no copy that stays there. */
static inline void audit_figure(struct audit *a, const struct group_record *group)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	uint64_t in[EMPTIED_PLACES] = {0}, removed = 0;
	enum emptied_place place, best = PLACE_MEMORY;
	struct file_record file;

	if (a->choosing)
		return;
	assert_int_equal(catalog_scan_members(a->reader, group->id, 0, &scan), 0);
	while (catalog_next_member(scan, &file.id) == 0) {
		assert_int_equal(catalog_get_file(a->reader, file.id, &file), 0);
		assert_int_equal(catalog_get_emptied(a->reader, &file, &place, NULL), 0);
		in[place]++;
		best = place < best ? place : best;
	}
	if (in[PLACE_LASTS] == group->inodes)
		return;
	assert_true(group->maps);
	for (place = PLACE_LASTS; place < EMPTIED_PLACES; place++)
		removed += place_stays(best, place) ? 0 : in[place];
	removed -= best != PLACE_SNAPSHOT;
	if (!audit_has(a, TABLE_UNMAPPED, key_number(group->id)))
		assert_true(group_reclaimable(group) <= removed * group->size);
}

static inline void audit_group(struct audit *a, struct span key, struct span fields)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct content_record content;
	struct group_record group;
	uint64_t file, members = 0;
	bool kept_is_member = false;

	assert_true(key_get_number(key, &group.id) && decode_group(fields, &group));
	assert_int_equal(catalog_scan_members(a->reader, group.id, 0, &scan), 0);
	for (; catalog_next_member(scan, &file) == 0; members++) {
		kept_is_member |= file == group.kept;
		assert_int_equal(catalog_get_content(a->reader, file, &content), 0);
		assert_int_equal(content.group, group.id);
	}
	assert_int_equal(members, group.inodes);
	assert_true(members ? kept_is_member : group.kept == 0);
	assert_true(members || audit_is_awaited(a, group.id));
	assert_int_equal(audit_number(a, TABLE_BYHASH, key_hash(group.hash, group.ordinal)),
			 group.id);
	assert_int_equal(audit_has(a, TABLE_RANK, key_rank(group_reclaimable(&group), group.id)),
			 group_is_visible(&group));
	if (!group_is_visible(&group))
		return;
	audit_figure(a, &group);
	a->visible++;
	a->counted.redundant_files += group.inodes - 1;
	size_sum_add(&a->counted.redundant_bytes, group_redundant(&group));
	size_sum_add(&a->counted.reclaimable_bytes, group_reclaimable(&group));
}

static inline void audit_error(struct audit *a, struct span key, struct span fields)
{
	struct file_record file;
	struct dir_record dir;
	uint64_t kind, id, number;

	assert_true(key_get_pair(key, &kind, &id) && decode_number(fields, &number));
	assert_in_range(number, 1, 4095);
	if (kind == ERROR_DIR) {
		assert_int_equal(catalog_get_dir(a->reader, id, &dir), 0);
		return;
	}
	assert_int_equal(kind, ERROR_FILE);
	assert_int_equal(catalog_get_file(a->reader, id, &file), 0);
	assert_true(file.names > 0);
}

static inline void audit_bykey(struct audit *a, struct span key, struct span fields)
{
	uint64_t filesystem, number;
	struct inode_block block;
	struct file_record file;

	assert_true(key_get_pair(key, &filesystem, &number) && decode_inodes(fields, &block));
	for (uint64_t i = 0; i < INODE_BLOCK_NUMBERS; i++) {
		if (block.files[i] == 0)
			continue;
		assert_int_equal(catalog_get_file(a->reader, block.files[i], &file), 0);
		assert_int_equal(file.attributes.filesystem, filesystem);
		assert_int_equal(file.attributes.inode, number * INODE_BLOCK_NUMBERS + i);
	}
}

static inline void audit_record(struct audit *a, enum table table, struct span key,
				struct span fields)
{
	static void (*const audits[TABLE_COUNT])(struct audit *, struct span, struct span) = {
		[TABLE_DIR] = audit_dir,         [TABLE_ENTRY] = audit_entry,
		[TABLE_FILE] = audit_file,       [TABLE_BYKEY] = audit_bykey,
		[TABLE_CONTENT] = audit_content, [TABLE_GROUP] = audit_group,
		[TABLE_ERROR] = audit_error,
	};

	if (audits[table])
		audits[table](a, key, fields);
}

/* Checks all records of a table. Uses a separate cursor, because the checks move the cursors of the
 * reader. */
static inline void audit_table(struct audit *a, enum table table)
{
	struct span key, fields;
	MDB_cursor *cursor;
	MDB_val k, v;

	assert_int_equal(mdb_cursor_open(a->reader->txn, a->reader->store->tables[table], &cursor),
			 0);
	while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
		a->counts[table]++;
		if (table == TABLE_META)
			continue;
		key = (struct span){k.mv_data, k.mv_size};
		assert_true(value_open((struct span){v.mv_data, v.mv_size}, table, key, &fields));
		audit_record(a, table, key, fields);
	}
	mdb_cursor_close(cursor);
}

static inline void audit_index(struct catalog *catalog)
{
	struct audit a = {0};
	struct catalog_totals totals;
	uint64_t members;

	assert_int_equal(catalog_read_begin(catalog, &a.reader), 0);
	assert_int_equal(catalog_get_totals(a.reader, &totals), 0);
	a.choosing = totals.choose_from > 0;
	for (int table = 0; table < TABLE_COUNT; table++)
		audit_table(&a, (enum table)table);
	catalog_read_end(a.reader);
	/* the checks above found each required record; equal counts exclude further records */
	assert_int_equal(a.counts[TABLE_BYSIZE], a.counted.files);
	assert_int_equal(a.counts[TABLE_LINK], a.redundant_links);
	assert_int_equal(a.counts[TABLE_PLACE], a.places);
	assert_int_equal(a.counts[TABLE_FILE],
			 a.counts[TABLE_ORPHAN] + a.counted.files + a.counted.others);
	assert_int_equal(a.counts[TABLE_BYHASH], a.counts[TABLE_GROUP]);
	assert_int_equal(a.counts[TABLE_RANK], a.visible);
	assert_int_equal(a.counts[TABLE_REDUNDANT], a.holders);
	members = a.visible + a.counted.redundant_files;
	assert_in_range(a.counts[TABLE_MEMBER], members, members + a.counts[TABLE_GROUP]);
	assert_int_equal(totals.directories, a.counts[TABLE_DIR]);
	assert_int_equal(totals.files, a.counted.files);
	assert_int_equal(totals.others, a.counted.others);
	assert_int_equal(totals.names, a.counted.names);
	assert_true(size_sum_equals(&totals.bytes, &a.counted.bytes));
	assert_int_equal(totals.blocks, a.counted.blocks);
	assert_int_equal(totals.groups, a.visible);
	assert_int_equal(totals.redundant_files, a.counted.redundant_files);
	assert_true(size_sum_equals(&totals.redundant_bytes, &a.counted.redundant_bytes));
	assert_int_equal(totals.errors, a.counts[TABLE_ERROR]);
}

#endif
