/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "index/catalog.h"
#include "index/filesystem.h"
#include "index/folder_token.h"
#include "index/hashes.h"
#include "index/integrity.h"
#include "index/keep_rules.h"
#include "index/kept.h"
#include "index/meta.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/record.h"
#include "index/scan.h"
#include "index/scan_settings.h"
#include "index/store/store.h"
#include "index/store/value.h"

/* Most tables are checked through other records that refer to their records. The check of a
 * referring record looks up the other record under its only possible key, and counts it as
 * expected. Different records refer to different keys. So if a table has as many records as are
 * expected, no record is missing and none is without a reference.
 */

/* The key of a record in the table bytree. */
struct tree_key {
	struct hash128 sum;
	uint64_t group;
	uint64_t dir; /* 0: no record was read yet */
};

struct check {
	struct catalog_reader *reader;
	uint64_t met[TABLE_COUNT]; /* number of records that were read in each table */
	uint64_t expected[TABLE_COUNT]; /* number of records that other records refer to */
	struct kept_choice choice; /* for the places of files */
	uint64_t places; /* PLACES_VERSION of the index */
	struct catalog_totals stored; /* as recorded in the index */
	struct catalog_totals counted; /* from the records that were read */
	uint64_t entry_dir; /* directory whose names are being read; 0: none yet */
	struct tree_key tree; /* of the last complete directory that was read */
	uint64_t redundant; /* number of names of entry_dir so far that TABLE_REDUNDANT counts */
};

/* Converts the result of looking up a record that must exist: a missing one is damage. */
static int check_found(int r)
{
	return r == -ENOENT ? -EUCLEAN : r;
}

static int check_claim(bool holds)
{
	return holds ? 0 : -EUCLEAN;
}

/* Checks that the record with this key exists, and counts it as expected. */
static int check_expect(struct check *c, enum table table, struct key key)
{
	struct span fields;

	c->expected[table]++;
	return check_found(store_get(c->reader, table, key, &fields));
}

/* Checks one record, given its key and its fields. Returns 0, -EUCLEAN or another -errno. */
typedef int check_record_fn(struct check *c, struct span key, struct span fields);

/* ---- files --------------------------------------------------------------------------- */

/* Checks a name that has its own id. If the file is in a group, the name must have a TABLE_PLACE
 * record. */
static int check_place(struct check *c, const struct file_name *name, uint64_t group)
{
	struct key key = key_pair(group, name->id);
	struct file_name found = {0};
	struct span fields;
	int r;

	if (!group)
		return check_claim(name->id > 0);
	c->expected[TABLE_PLACE]++;
	r = check_found(store_get(c->reader, TABLE_PLACE, key, &fields));
	if (r < 0)
		return r;
	return check_claim(decode_place(fields, &found) && found.file == name->file &&
			   found.dir == name->dir && found.cookie == name->cookie);
}

/* Checks the names beyond the first, and that their number is right. check_named() expects as many
 * entries as the file has names, and check_file_entry() finds each entry among these names. So each
 * name has an entry. */
static int check_links(struct check *c, const struct file_record *file, uint64_t group)
{
	const struct file_name first = {file->name, file->id, file->dir, file->cookie};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_name name;
	uint64_t count = 1;
	int r = first.id ? check_place(c, &first, group) : 0;

	c->expected[TABLE_LINK] += file->names - 1;
	if (r == 0 && file->names > 1)
		r = catalog_scan_links(c->reader, file->id, &scan);
	while (scan && r == 0 && count <= file->names) {
		r = catalog_next_link(scan, &name);
		if (r < 0)
			break;
		count++;
		r = check_place(c, &name, group);
	}
	return r < 0 && r != -ENOENT ? r : check_claim(count == file->names);
}

static int check_membership(struct check *c, const struct file_record *file, uint64_t id)
{
	struct group_record group = {0};
	int r = check_expect(c, TABLE_MEMBER, key_pair(id, file->id));

	if (r == 0)
		r = check_found(catalog_get_group(c->reader, id, &group));
	return r < 0 ? r : check_claim(group.size == file->attributes.size);
}

static int check_candidate(struct check *c, const struct file_record *file,
			   const struct content_record *content)
{
	struct key key = key_quad(file->attributes.size, content->prefix, content->group, file->id);
	int r = catalog_defers(&c->stored, file->id) ? 0 : check_expect(c, TABLE_BYSIZE, key);

	size_sum_add(&c->counted.bytes, file->attributes.size);
	c->counted.blocks += file->attributes.blocks;
	if (r < 0 || !content->group || catalog_defers(&c->stored, file->id))
		return r;
	return check_membership(c, file, content->group);
}

static int check_named(struct check *c, const struct file_record *file,
		       const struct content_record *content)
{
	int r = check_links(c, file, content->group);

	c->counted.names += file->names;
	c->expected[TABLE_ENTRY] += file->names;
	if (!S_ISREG(file->attributes.mode)) {
		c->counted.others++;
		return r;
	}
	c->counted.files++;
	return r < 0 ? r : check_candidate(c, file, content);
}

/* Checks a file. An orphan can have a content record, but is not in the list by size. The group of
 * this record can be missing. */
static int check_file(struct check *c, struct span key, struct span fields)
{
	struct content_record content = {0};
	struct file_record file;
	int r;

	if (!key_get_number(key, &file.id) || !decode_file(fields, &file) ||
	    file.first_seen > c->stored.scans)
		return -EUCLEAN;
	c->expected[TABLE_FILE]++;
	r = catalog_get_content(c->reader, file.id, &content);
	if (r == 0) {
		c->expected[TABLE_CONTENT]++;
		r = check_claim(S_ISREG(file.attributes.mode));
	}
	if (r < 0 && r != -ENOENT)
		return r;
	if (file.names == 0 && file.name != 0)
		return -EUCLEAN;
	if (file.names == 0)
		return check_expect(c, TABLE_ORPHAN, key_number(file.id));
	return check_named(c, &file, &content);
}

static int check_inode(struct check *c, uint64_t filesystem, uint64_t inode, uint64_t id)
{
	struct file_record file;
	int r = check_found(catalog_get_file(c->reader, id, &file));

	return r < 0 ? r
		     : check_claim(file.attributes.filesystem == filesystem &&
				   file.attributes.inode == inode);
}

/* Checks inode numbers. Files whose number another inode took are not in this table. */
static int check_bykey(struct check *c, struct span key, struct span fields)
{
	struct inode_block block;
	uint64_t filesystem, number;
	int r = 0;

	if (!key_get_pair(key, &filesystem, &number) || !decode_inodes(fields, &block))
		return -EUCLEAN;
	c->expected[TABLE_BYKEY]++;
	for (uint64_t i = 0; r == 0 && i < INODE_BLOCK_NUMBERS; i++) {
		if (block.files[i])
			r = check_inode(c, filesystem, number * INODE_BLOCK_NUMBERS + i,
					block.files[i]);
	}
	return r;
}

/* Checks hashes of blocks: they belong to a regular file. A file that was not read to its end has
 * parts without a state. */
static int check_blocks(struct check *c, struct span key, struct span fields)
{
	struct blocks_state state;
	struct blocks_part part;
	struct file_record file;
	uint64_t number;
	int r;

	c->expected[TABLE_BLOCKS]++;
	if (!key_get_pair(key, &file.id, &number))
		return -EUCLEAN;
	if (number == 0 ? !decode_blocks_state(fields, &state) : !decode_blocks_part(fields, &part))
		return -EUCLEAN;
	r = check_found(catalog_get_file(c->reader, file.id, &file));
	return r < 0 ? r : check_claim(S_ISREG(file.attributes.mode));
}

/* Checks a digest: it belongs to a regular file or to a group. */
static int check_digest(struct check *c, struct span key, struct span fields)
{
	struct digest_record digest;
	struct group_record group;
	struct file_record file;
	uint64_t id;
	int r;

	c->expected[TABLE_DIGEST]++;
	if (!key_get_number(key, &id) || !decode_digest(fields, &digest))
		return -EUCLEAN;
	r = catalog_get_file(c->reader, id, &file);
	if (r != -ENOENT)
		return r < 0 ? r : check_claim(S_ISREG(file.attributes.mode));
	r = check_found(catalog_get_group(c->reader, id, &group));
	return r < 0 ? r : check_claim(digest.state == 0);
}

/* ---- groups -------------------------------------------------------------------------- */

/* Counts the members. check_membership() proves that each of them is a file of the group. */
static int check_members(struct check *c, const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file, count = 0;
	bool has_kept = false;
	int r = catalog_scan_members(c->reader, group->id, 0, &scan);

	while (r == 0 && count <= group->inodes) {
		r = catalog_next_member(scan, &file);
		if (r < 0)
			break;
		count++;
		has_kept |= file == group->kept;
	}
	if (r < 0 && r != -ENOENT)
		return r;
	return check_claim(count == group->inodes && (count ? has_kept : group->kept == 0));
}

/* Sets *most to the bytes that acts free at most. */
static int count_freed(struct check *c, const struct group_record *group, uint64_t *most)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t in[EMPTIED_PLACES] = {0}, removed = 0;
	enum emptied_place place = PLACE_LASTS, best = PLACE_MEMORY;
	struct file_record file;
	int r = catalog_scan_members(c->reader, group->id, 0, &scan);

	while (r == 0 && (r = catalog_next_member(scan, &file.id)) == 0) {
		r = check_found(catalog_get_file(c->reader, file.id, &file));
		if (r == 0)
			r = check_found(catalog_get_emptied(c->reader, &file, &place, NULL));
		if (r < 0)
			return r;
		in[place]++;
		best = place < best ? place : best;
	}
	for (place = PLACE_LASTS; place < EMPTIED_PLACES; place++)
		removed += place_stays(best, place) ? 0 : in[place];
	removed -= !place_stays(best, best); /* the kept copy */
	*most = size_multiply(removed, group->size);
	return r == -ENOENT ? 0 : r;
}

/* Checks that the figure of a group does not have the copies that stay because of their place,
 * unless the place or the group is still to be looked at. */
static int check_figure(struct check *c, const struct group_record *group)
{
	uint64_t due, most = 0;
	bool emptied;
	int r;

	if (c->places != PLACES_VERSION ||
	    (c->stored.choose_from && group->id >= c->stored.choose_from))
		return 0;
	r = kept_any_is_emptied(&c->choice, group->id, &emptied);
	if (r < 0 || !emptied)
		return r;
	if (!group->maps)
		return -EUCLEAN;
	r = store_get_number(c->reader, TABLE_UNMAPPED, key_number(group->id), &due);
	if (r != -ENOENT)
		return r;
	r = count_freed(c, group, &most);
	return r < 0 ? r : check_claim(group_reclaimable(group) <= most);
}

static int check_hash(struct check *c, const struct group_record *group)
{
	struct group_record found;
	int r = check_found(catalog_find_group(c->reader, group->hash, group->ordinal, &found));

	c->expected[TABLE_BYHASH]++;
	return r < 0 ? r : check_claim(group->ordinal > 0 && found.id == group->id);
}

static int check_group(struct check *c, struct span key, struct span fields)
{
	struct group_record group;
	int r;

	if (!key_get_number(key, &group.id) || !decode_group(fields, &group))
		return -EUCLEAN;
	c->expected[TABLE_GROUP]++;
	r = check_hash(c, &group);
	if (r == 0)
		r = check_members(c, &group);
	if (r < 0 || !group_is_visible(&group))
		return r;
	r = check_figure(c, &group);
	if (r < 0)
		return r;
	c->counted.groups++;
	c->counted.redundant_files += group.inodes - 1;
	size_sum_add(&c->counted.redundant_bytes, group_redundant(&group));
	size_sum_add(&c->counted.reclaimable_bytes, group_reclaimable(&group));
	return check_expect(c, TABLE_RANK, key_rank(group_reclaimable(&group), group.id));
}

static int check_extents(struct check *c, struct span key, struct span fields)
{
	struct extent_record extents;
	struct content_record content = {0};
	struct group_record group = {0};
	uint64_t file;
	int r;

	(void)fields; /* read through the key */
	if (!key_get_number(key, &file))
		return -EUCLEAN;
	c->expected[TABLE_EXTENT]++;
	r = check_found(catalog_get_extents(c->reader, file, &extents));
	if (r == 0)
		r = check_found(catalog_get_content(c->reader, file, &content));
	if (r == 0)
		r = check_found(catalog_get_group(c->reader, content.group, &group));
	return r < 0 ? r : check_claim(group.maps && extents.own <= group.size);
}

static int check_unmapped(struct check *c, struct span key, struct span fields)
{
	struct group_record group = {0};
	uint64_t id, due;
	int r;

	if (!key_get_number(key, &id) || !decode_number(fields, &due))
		return -EUCLEAN;
	c->expected[TABLE_UNMAPPED]++;
	r = check_found(catalog_get_group(c->reader, id, &group));
	return r < 0 ? r : check_claim(group.maps && group_is_visible(&group));
}

/* ---- symlinks ----------------------------------------------------------------------- */

static int check_target(struct check *c, struct span key, struct span fields)
{
	struct file_record file;
	int r;

	if (!key_get_number(key, &file.id) || fields.length == 0 ||
	    fields.length > TARGET_BYTES_MAX)
		return -EUCLEAN;
	r = check_found(catalog_get_file(c->reader, file.id, &file));
	c->expected[TABLE_TARGET]++;
	return r < 0 ? r : check_claim(S_ISLNK(file.attributes.mode));
}

/* ---- directories ---------------------------------------------------------------------- */

static int check_witness(struct check *c, uint64_t dir, const struct folder_record *folder)
{
	struct folder_token token;
	int r = folder_token_at(c->reader, dir, folder->witness, &token);

	return r < 0 ? check_found(r) : check_claim(token.kind == TOKEN_UNEQUAL);
}

/* Checks that the directory has a name that equals no other one. */
static int check_has_witness(struct check *c, uint64_t dir)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_token token = {0};
	struct entry_record entry;
	int r = catalog_scan_entries(c->reader, dir, 0, &scan);

	while (r == 0 && token.kind != TOKEN_UNEQUAL && (r = catalog_next_entry(scan, &entry)) == 0)
		r = check_found(folder_token_of_entry(c->reader, &entry, &token));
	return r < 0 ? check_found(r) : 0;
}

/* Checks that a directory has a record of its folder, or a name that equals no other one. */
static int check_has_folder(struct check *c, uint64_t dir)
{
	struct folder_record folder;
	int r;

	if (!c->stored.folders_known)
		return 0;
	r = catalog_get_folder(c->reader, dir, &folder);
	if (r == -ENOENT)
		return check_has_witness(c, dir);
	c->expected[TABLE_FOLDER]++;
	return r;
}

/* Counts the names of the directory again. */
static int check_counts(struct check *c, uint64_t dir, const struct folder_record *folder)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_record counted = {0};
	struct folder_token token;
	struct entry_record entry;
	int r = catalog_scan_entries(c->reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		r = check_found(folder_token_of_entry(c->reader, &entry, &token));
		folder_count(&counted, &token, true);
	}
	if (r != -ENOENT)
		return r;
	return check_claim(counted.unequal == folder->unequal &&
			   counted.subfolders == folder->subfolders &&
			   hash128_equal(counted.sum, folder->sum) &&
			   counted.files == folder->files && counted.bytes == folder->bytes);
}

/* Checks that the tables list the directory as complete, and its group. */
static int check_listed(struct check *c, uint64_t dir, const struct folder_record *folder)
{
	struct folder_group group;
	int r = check_expect(c, TABLE_BYTREE, key_tree(folder->sum, folder->group, dir));

	if (r < 0 || !folder->group)
		return r;
	r = check_found(catalog_get_folder_group(c->reader, folder->group, &group));
	if (r < 0)
		return r;
	return check_claim(hash128_equal(group.sum, folder->sum) && group.files == folder->files &&
			   group.bytes == folder->bytes);
}

static int check_folder(struct check *c, struct span key, struct span fields)
{
	struct folder_record folder;
	struct dir_record dir;
	int r;

	if (!key_get_number(key, &dir.id) || !decode_folder(fields, &folder))
		return -EUCLEAN;
	r = check_found(catalog_get_dir(c->reader, dir.id, &dir));
	if (r == 0)
		r = folder.counted ? check_counts(c, dir.id, &folder)
				   : check_witness(c, dir.id, &folder);
	if (r == 0)
		r = check_claim(folder.listed ==
				(folder.counted && folder.unequal == 0 && dir.error == 0 &&
				 !(dir.flags & ~(uint32_t)DIR_PLACE)));
	if (r == 0 && folder.listed)
		r = check_listed(c, dir.id, &folder);
	return r < 0 ? r : check_claim(folder.listed || folder.group == 0);
}

/* ---- equal directories ---------------------------------------------------------------- */

/* Compares each complete directory with the one before it, if both have the same sum: they have to
 * be equal in one group, and must not be equal otherwise. */
static int check_tree(struct check *c, struct span key, struct span fields)
{
	struct tree_key tree, last = c->tree;
	bool equal;
	int r;

	if (fields.length > 0 || !key_get_tree(key, &tree.sum, &tree.group, &tree.dir))
		return -EUCLEAN;
	c->tree = tree;
	if (!last.dir || !hash128_equal(last.sum, tree.sum))
		return 0;
	r = check_found(folder_trees_equal(c->reader, last.dir, tree.dir, &equal));
	return r < 0 ? r : check_claim(equal == (tree.group && tree.group == last.group));
}

static int check_folder_group(struct check *c, struct span key, struct span fields)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_group group;
	uint64_t dir, ranked = 0, count = 0;
	int r;

	if (!key_get_number(key, &group.id) || !decode_folder_group(fields, &group))
		return -EUCLEAN;
	c->expected[TABLE_FOLDERS]++;
	r = catalog_scan_folders(c->reader, &group, 0, &scan);
	while (r == 0 && (r = catalog_next_folder(scan, &dir)) == 0)
		count++;
	if (r == -ENOENT)
		r = check_claim(count > 1 && count == group.folders);
	if (r == 0)
		r = check_found(folder_group_rank(c->reader, &group, &ranked));
	if (r == 0)
		r = check_claim(ranked == group.ranked);
	if (r < 0 || ranked == 0)
		return r;
	c->counted.folder_groups++;
	return check_expect(c, TABLE_FOLDER_RANK, key_rank(ranked, group.id));
}

/* ---- directories --------------------------------------------------------------------- */

static int check_dir_error(struct check *c, const struct dir_record *dir)
{
	int noted;
	int r = catalog_get_error(c->reader, ERROR_DIR, dir->id, &noted);

	c->expected[TABLE_ERROR] += dir->error != 0;
	return r < 0 ? r : check_claim(noted == dir->error);
}

/* Checks a directory, except its name, which check_dir_entry() checks. Directories in a cycle would
 * not be reachable from any source. In a cycle, the directory with the lowest id has a parent with
 * a greater id. Only such directories, which are few, need a search for a cycle. */
static int check_dir(struct check *c, struct span key, struct span fields)
{
	struct dir_record dir;
	bool cycle = false;
	int r = 0;

	if (!key_get_number(key, &dir.id) || !decode_dir(fields, &dir))
		return -EUCLEAN;
	c->expected[TABLE_ENTRY] += dir.parent != 0;
	if (dir.parent >= dir.id)
		r = catalog_dir_is_in_cycle(c->reader, dir.id, &cycle);
	if (r == 0)
		r = check_claim(!cycle);
	if (r == 0)
		r = check_dir_error(c, &dir);
	return r < 0 ? check_found(r) : check_has_folder(c, dir.id);
}

/* ---- names in directories ------------------------------------------------------------ */

/* Checks the redundant count of entry_dir, after all its names were read. */
static int check_redundant(struct check *c)
{
	struct redundant_record record = {0};
	int r = c->entry_dir ? catalog_get_redundant(c->reader, c->entry_dir, &record) : 0;

	return r < 0 ? r : check_claim(record.count == c->redundant);
}

/* Checks that the record is of a directory. If it has a count, the directory has names, so that
 * check_redundant() compares the count. */
static int check_redundant_record(struct check *c, struct span key, struct span fields)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct redundant_record record;
	struct entry_record entry;
	struct dir_record dir;
	int r;

	if (!key_get_number(key, &dir.id) || !decode_redundant(fields, &record))
		return -EUCLEAN;
	c->expected[TABLE_REDUNDANT]++;
	r = catalog_get_dir(c->reader, dir.id, &dir);
	if (r == 0 && record.count > 0)
		r = catalog_scan_entries(c->reader, dir.id, 0, &scan);
	if (r == 0 && record.count > 0)
		r = catalog_next_entry(scan, &entry);
	return check_found(r);
}

static int check_entry_dir(struct check *c, uint64_t id)
{
	struct dir_record dir;
	int r;

	if (c->entry_dir == id)
		return 0;
	r = check_redundant(c);
	c->entry_dir = id;
	c->redundant = 0;
	return r < 0 ? r : check_found(catalog_get_dir(c->reader, id, &dir));
}

/* Checks that the cookie matches the hash of the name, and that no lower cookie has this name. */
static int check_cookie(struct check *c, const struct entry_record *entry)
{
	uint64_t first = catalog_name_cookie(c->reader, entry->name);
	struct entry_record other;
	int r = check_claim(entry->cookie - first < ENTRY_COOKIE_SLOTS);

	for (uint64_t cookie = first; r == 0 && cookie < entry->cookie; cookie++) {
		r = catalog_entry_at(c->reader, entry->dir, cookie, &other);
		if (r == 0)
			r = check_claim(!names_equal(other.name, entry->name));
		else if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int check_dir_entry(struct check *c, const struct entry_record *entry)
{
	struct redundant_record record = {0};
	struct dir_record dir;
	int r = check_found(catalog_get_dir(c->reader, entry->child, &dir));

	if (r == 0)
		r = catalog_get_redundant(c->reader, entry->child, &record);
	if (r < 0)
		return r;
	c->redundant += record.count > 0;
	c->expected[TABLE_DIR]++;
	return check_claim(dir.parent == entry->dir && names_equal(dir.name, entry->name));
}

/* Checks an entry of a file: it is the first name of the file, or TABLE_LINK has it. */
static int check_file_entry(struct check *c, const struct entry_record *entry)
{
	struct group_record group;
	struct file_record file;
	struct span fields;
	bool redundant = false;
	int r = check_found(catalog_get_file(c->reader, entry->child, &file));

	if (r == 0 && S_ISREG(file.attributes.mode))
		r = catalog_is_redundant(c->reader, file.id, &redundant, &group);
	if (r < 0)
		return r;
	c->redundant += redundant;
	if (file.dir == entry->dir && file.cookie == entry->cookie)
		return check_claim(file.names > 0);
	return check_found(store_get(c->reader, TABLE_LINK,
				     key_triple(entry->child, entry->dir, entry->cookie), &fields));
}

static int check_entry(struct check *c, struct span key, struct span fields)
{
	struct entry_record entry;
	int r;

	if (!key_get_pair(key, &entry.dir, &entry.cookie) || !decode_entry(fields, &entry) ||
	    entry.dir == 0)
		return -EUCLEAN;
	r = check_entry_dir(c, entry.dir);
	if (r == 0)
		r = check_cookie(c, &entry);
	if (r < 0)
		return r;
	if (entry.kind == ENTRY_DIR)
		return check_dir_entry(c, &entry);
	if (entry.kind == ENTRY_FILE)
		return check_file_entry(c, &entry);
	c->expected[TABLE_ENTRY]++; /* no other record refers to the entry */
	return check_claim(entry.child > 0 && entry.child <= INT32_MAX);
}

/* ---- errors -------------------------------------------------------------------------- */

/* Checks an error of a file. check_dir() counts errors of directories as expected. */
static int check_error(struct check *c, struct span key, struct span fields)
{
	struct file_record file;
	uint64_t kind, number;
	int r;

	if (!key_get_pair(key, &kind, &file.id) || !decode_number(fields, &number) || number == 0 ||
	    number > INT32_MAX || (kind != ERROR_DIR && kind != ERROR_FILE))
		return -EUCLEAN;
	if (kind == ERROR_DIR)
		return 0;
	r = check_found(catalog_get_file(c->reader, file.id, &file));
	c->expected[TABLE_ERROR]++;
	return r < 0 ? r : check_claim(file.names > 0);
}

/* ---- all tables --------------------------------------------------------------------- */

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
	[TABLE_REDUNDANT] = check_redundant_record,
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
		r = catalog_get_source(c->reader, source, &path, &root);
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

/* Expects the records of a text. */
static int expect_text(struct check *c, const char *name)
{
	CLEANUP_BYTES struct bytes stored = {0};
	int r = meta_get_text(c->reader, name, &stored);

	c->expected[TABLE_META] += meta_text_records(stored.length);
	return r;
}

static int check_scan_settings(struct check *c)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings settings = {0};
	int r = catalog_get_scan_settings(c->reader, &settings);

	return r < 0 ? r : expect_text(c, META_SCAN_SETTINGS);
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
	int r = catalog_get_keep_rules(c->reader, &rules);

	return r < 0 ? r : expect_text(c, META_KEEP);
}

static int check_left_out(struct check *c)
{
	CLEANUP_LEFT_OUT struct left_out list = {0};
	int r = catalog_get_left_out(c->reader, &list);

	return r < 0 ? r : expect_text(c, META_LEFT_OUT);
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
		r = expect_text(c, META_VIEW);
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
