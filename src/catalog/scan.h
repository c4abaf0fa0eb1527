/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_SCAN_H
#define CATALOG_SCAN_H

/* Iteration over ranges of tables, in a reader's snapshot.
 *
 * All functions return 0, -ENOENT if nothing is found, -EUCLEAN for a damaged record (logged), or
 * another -errno. Names in records are borrowed from the snapshot until it ends.
 */

#include "catalog/catalog.h"

/* An iteration over a range of a table, in the order of its keys. It must end before its reader
 * does. A reader has at most ten at a time. */
struct catalog_scan;

void catalog_scan_end(struct catalog_scan *scan); /* accepts NULL */
static inline void catalog_scan_endp(struct catalog_scan **scan)
{
	catalog_scan_end(*scan);
}
#define CLEANUP_SCAN CLEANUP(catalog_scan_endp)

/* Each catalog_scan_ function begins an iteration. The matching catalog_next_ function gets the
 * next record and returns 0, or returns -ENOENT at the end. */

/* Names in a directory with a cookie greater than after (0: all). */
MUST_CHECK int catalog_scan_entries(struct catalog_reader *r, uint64_t dir, uint64_t after,
				    struct catalog_scan **scan);
MUST_CHECK int catalog_next_entry(struct catalog_scan *scan, struct entry_record *entry);

/* Inodes of a group with an id greater than after. */
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

/* Names of a group's inodes that have their own id, with an id greater than after. */
MUST_CHECK int catalog_scan_places(struct catalog_reader *r, uint64_t group, uint64_t after,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_place(struct catalog_scan *scan, struct file_name *name);

/* Groups with an id greater than after, visible or not. */
MUST_CHECK int catalog_scan_groups(struct catalog_reader *r, uint64_t after,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_group(struct catalog_scan *scan, struct group_record *group);

/* Visible groups by reclaimable bytes, largest first, beginning at from (NULL: all). The two next
 * functions get whole groups or only their keys. */
struct rank_entry {
	uint64_t reclaimable;
	uint64_t group;
};
MUST_CHECK int catalog_scan_ranks(struct catalog_reader *r, const struct rank_entry *from,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_rank(struct catalog_scan *scan, struct group_record *group);
MUST_CHECK int catalog_next_rank_entry(struct catalog_scan *scan, struct rank_entry *entry);

/* Regular files, by size from at least from->size, then by prefix hash (0: not read), then by group
 * (0: none), then by id. So the members of a group are adjacent, and can be skipped by continuing
 * from {size, prefix, group, UINT64_MAX}. */
struct size_entry {
	uint64_t size;
	uint64_t prefix;
	uint64_t group;
	uint64_t file;
};
MUST_CHECK int catalog_scan_sizes(struct catalog_reader *r, const struct size_entry *from,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_size(struct catalog_scan *scan, struct size_entry *entry);

/* All directories by id. */
MUST_CHECK int catalog_scan_dirs(struct catalog_reader *r, struct catalog_scan **scan);
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

/* Finds the group with this hash that has the lowest ordinal greater than after. */
MUST_CHECK int catalog_next_of_hash(struct catalog_reader *r, struct hash128 hash, uint32_t after,
				    struct group_record *group);

/* Counts files of at least the smallest size that wait to be compared, and their bytes: unread
 * files whose size is not unique. Linear in the number of files (about 50 ns each). */
MUST_CHECK int catalog_count_pending(struct catalog_reader *r, uint64_t *files, uint64_t *bytes);

#endif
