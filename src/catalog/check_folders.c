/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "catalog/check_tables.h"
#include "catalog/folder_token.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "store/store.h"
#include "store/value.h"

int check_target(struct check *c, struct span key, struct span fields)
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

int check_has_folder(struct check *c, uint64_t dir)
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

int check_folder(struct check *c, struct span key, struct span fields)
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
int check_tree(struct check *c, struct span key, struct span fields)
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

int check_folder_group(struct check *c, struct span key, struct span fields)
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
