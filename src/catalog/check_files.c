/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "catalog/blocks.h"
#include "catalog/check_tables.h"
#include "catalog/digests.h"
#include "catalog/extents.h"
#include "catalog/meta.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

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
	r = check_found(store_get(c->reader, TABLE_PLACE, &key, &fields));
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
int check_file(struct check *c, struct span key, struct span fields)
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
int check_bykey(struct check *c, struct span key, struct span fields)
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
int check_blocks(struct check *c, struct span key, struct span fields)
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
int check_digest(struct check *c, struct span key, struct span fields)
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
	struct key key = key_number(group->id);
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
	r = store_get_number(c->reader, TABLE_UNMAPPED, &key, &due);
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

int check_group(struct check *c, struct span key, struct span fields)
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

int check_extents(struct check *c, struct span key, struct span fields)
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

int check_unmapped(struct check *c, struct span key, struct span fields)
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
