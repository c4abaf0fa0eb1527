/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SCAN_H
#define INDEX_SCAN_H

/* Iteration over ranges of tables, in a reader's snapshot.
 *
 * All functions return 0, -ENOENT if nothing is found, -EUCLEAN if a record is damaged, or another
 * -errno. Names in records are borrowed until the snapshot ends; in a transaction, until its next
 * change.
 */

#include "index/catalog.h"

/* An iteration over a range of a table, in the order of its keys. The caller must end it before its
 * reader. */
struct catalog_scan;

void catalog_scan_end(struct catalog_scan *scan); /* accepts NULL */
static inline void catalog_scan_endp(struct catalog_scan **scan)
{
	catalog_scan_end(*scan);
}
#define CLEANUP_SCAN CLEANUP(catalog_scan_endp)

/* Each catalog_scan_ function begins an iteration and sets *scan, to NULL after a failure. The
 * catalog_next_ function below it gets the next record, or returns -ENOENT at the end. */

/* Names in a directory with a cookie greater than after (0: all). */
MUST_CHECK int catalog_scan_entries(struct catalog_reader *r, uint64_t dir, uint64_t after,
				    struct catalog_scan **scan);
MUST_CHECK int catalog_next_entry(struct catalog_scan *scan, struct entry_record *entry);

/* Files of a group with an id greater than after. */
MUST_CHECK int catalog_scan_members(struct catalog_reader *r, uint64_t group, uint64_t after,
				    struct catalog_scan **scan);
MUST_CHECK int catalog_next_member(struct catalog_scan *scan, uint64_t *file);

/* All names of a file, the first one first. */
MUST_CHECK int catalog_scan_names(struct catalog_reader *r, const struct file_record *file,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_name(struct catalog_scan *scan, uint64_t *dir, uint64_t *cookie);

/* Names of a file beyond the first. */
MUST_CHECK int catalog_scan_links(struct catalog_reader *r, uint64_t file,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_link(struct catalog_scan *scan, struct file_name *name);

/* Names of a group's files that have an id of their own (file.h) greater than after. */
MUST_CHECK int catalog_scan_places(struct catalog_reader *r, uint64_t group, uint64_t after,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_place(struct catalog_scan *scan, struct file_name *name);

/* Known contents of files with an id greater than after. */
MUST_CHECK int catalog_scan_contents(struct catalog_reader *r, uint64_t after,
				     struct catalog_scan **scan);
MUST_CHECK int catalog_next_content(struct catalog_scan *scan, uint64_t *file,
				    struct content_record *content);

/* Symlinks with a known target, by file id. The target is borrowed until the next call. */
MUST_CHECK int catalog_scan_targets(struct catalog_reader *r, struct catalog_scan **scan);
MUST_CHECK int catalog_next_target(struct catalog_scan *scan, uint64_t *file, struct name *target);

/* Groups with an id greater than after, visible or not. */
MUST_CHECK int catalog_scan_groups(struct catalog_reader *r, uint64_t after,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_group(struct catalog_scan *scan, struct group_record *group);

/* Visible groups by reclaimable bytes, largest first, then by id. The first group is that at from,
 * or the next one if from has no group; NULL: all groups. The two next functions get whole groups
 * or only their keys. */
struct rank_entry {
	uint64_t reclaimable;
	uint64_t group;
};
MUST_CHECK int catalog_scan_ranks(struct catalog_reader *r, const struct rank_entry *from,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_rank(struct catalog_scan *scan, struct group_record *group);
MUST_CHECK int catalog_next_rank_entry(struct catalog_scan *scan, struct rank_entry *entry);

/* Folder groups with a rank, in the same way. catalog_next_rank_entry() gets the keys; an entry's
 * group is the id of a folder group. */
MUST_CHECK int catalog_scan_folder_ranks(struct catalog_reader *r, const struct rank_entry *from,
					 struct catalog_scan **scan);

/* Files in the list by size (table bysize): by size, then by prefix hash (0: unknown), then by
 * group (0: none), then by id. The first one is that at from, or the next one if from has no file.
 * So the members of a group are adjacent, and an iteration from {size, prefix, group, UINT64_MAX}
 * begins after them. */
struct size_entry {
	uint64_t size;
	uint64_t prefix;
	uint64_t group;
	uint64_t file;
};
MUST_CHECK int catalog_scan_sizes(struct catalog_reader *r, const struct size_entry *from,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_size(struct catalog_scan *scan, struct size_entry *entry);

/* All directories with an id greater than after. */
MUST_CHECK int catalog_scan_dirs(struct catalog_reader *r, uint64_t after,
				 struct catalog_scan **scan);
MUST_CHECK int catalog_next_dir(struct catalog_scan *scan, struct dir_record *dir);

/* All files with an id greater than after. */
MUST_CHECK int catalog_scan_files(struct catalog_reader *r, uint64_t after,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_file(struct catalog_scan *scan, struct file_record *file);

/* A recorded error of a directory or file. */
struct error_entry {
	enum error_kind kind;
	uint64_t id;
	int error; /* positive */
};
MUST_CHECK int catalog_scan_errors(struct catalog_reader *r, struct catalog_scan **scan);
MUST_CHECK int catalog_next_error(struct catalog_scan *scan, struct error_entry *error);

/* Folder groups with an id greater than after. */
MUST_CHECK int catalog_scan_folder_groups(struct catalog_reader *r, uint64_t after,
					  struct catalog_scan **scan);
MUST_CHECK int catalog_next_folder_group(struct catalog_scan *scan, struct folder_group *group);

/* Complete directories whose trees have this sum, from the first one in a folder group with an id
 * of at least group on (0: directories without a group are first). */
MUST_CHECK int catalog_scan_trees(struct catalog_reader *r, struct hash128 sum, uint64_t group,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_tree(struct catalog_scan *scan, uint64_t *group, uint64_t *dir);

/* Directories of a folder group with an id greater than after. */
MUST_CHECK int catalog_scan_folders(struct catalog_reader *r, const struct folder_group *group,
				    uint64_t after, struct catalog_scan **scan);
MUST_CHECK int catalog_next_folder(struct catalog_scan *scan, uint64_t *dir);

/* Finds the group with this hash that has the lowest ordinal greater than after. */
MUST_CHECK int catalog_next_of_hash(struct catalog_reader *r, struct hash128 hash, uint32_t after,
				    struct group_record *group);

/* Counts files that wait to be compared, and their bytes. These are files of unknown content, of at
 * least the smallest size, whose size is not unique and for which no error is recorded. Linear in
 * the number of files (about 50 ns each), unless the totals know that there are none. */
MUST_CHECK int catalog_count_pending(struct catalog_reader *r, uint64_t *files, uint64_t *bytes);
/* As catalog_count_pending(), but always counts. For checks of the totals. */
MUST_CHECK int catalog_count_pending_again(struct catalog_reader *r, uint64_t *files,
					   uint64_t *bytes);

#endif
