/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_SCAN_H
#define CATALOG_SCAN_H

/* Walks over ranges of the tables, in a reader's snapshot.
 *
 * All return 0 when found, -ENOENT when there is none, -EUCLEAN for a damaged record (logged), or
 * another -errno. Names in records are borrowed from the snapshot until it ends.
 */

#include "catalog/catalog.h"

/* A walk over one range of a table, in the order of its keys. Ends before its reader does; ten
 * at a time at most per reader. */
struct catalog_scan;

void catalog_scan_end(struct catalog_scan *scan); /* accepts NULL */
static inline void catalog_scan_endp(struct catalog_scan **scan)
{
	catalog_scan_end(*scan);
}
#define CLEANUP_SCAN CLEANUP(catalog_scan_endp)

/* Each begins a walk; the matching _next gives 0 and the next one, or -ENOENT at the end. */

/* Names in a directory with a cookie above after (0: all). */
MUST_CHECK int catalog_scan_entries(struct catalog_reader *r, uint64_t dir, uint64_t after,
				    struct catalog_scan **scan);
MUST_CHECK int catalog_next_entry(struct catalog_scan *scan, struct entry_record *entry);

/* Inodes of a group with an id above after. */
MUST_CHECK int catalog_scan_members(struct catalog_reader *r, uint64_t group, uint64_t after,
				    struct catalog_scan **scan);
MUST_CHECK int catalog_next_member(struct catalog_scan *scan, uint64_t *file);

/* Names of a file: all of them, the first one first. */
MUST_CHECK int catalog_scan_names(struct catalog_reader *r, const struct file_record *file,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_name(struct catalog_scan *scan, uint64_t *dir, uint64_t *cookie);

/* Names of a file beyond the first. */
MUST_CHECK int catalog_scan_links(struct catalog_reader *r, uint64_t file,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_link(struct catalog_scan *scan, struct file_name *name);

/* Names of a group's inodes that have an id of their own, with an id above after. */
MUST_CHECK int catalog_scan_places(struct catalog_reader *r, uint64_t group, uint64_t after,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_place(struct catalog_scan *scan, struct file_name *name);

/* Groups with an id above after, visible or not. */
MUST_CHECK int catalog_scan_groups(struct catalog_reader *r, uint64_t after,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_group(struct catalog_scan *scan, struct group_record *group);

/* Visible groups by what they would give back, most first, from the place of one of them on (NULL:
 * all of them): the groups, or only their places. */
struct rank_entry {
	uint64_t reclaimable;
	uint64_t group;
};
MUST_CHECK int catalog_scan_ranks(struct catalog_reader *r, const struct rank_entry *from,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_rank(struct catalog_scan *scan, struct group_record *group);
MUST_CHECK int catalog_next_rank_entry(struct catalog_scan *scan, struct rank_entry *entry);

/* Regular files by size, from at least min_size up, then by head (0: not read), then by group (0:
 * in none), then by id. So the members of a group stand together, and can be passed over by going
 * on from {size, head, group, UINT64_MAX}. */
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

/* All files by id, above after. */
MUST_CHECK int catalog_scan_files(struct catalog_reader *r, uint64_t after,
				  struct catalog_scan **scan);
MUST_CHECK int catalog_next_file(struct catalog_scan *scan, struct file_record *file);

/* Everything that could not be read. */
struct error_entry {
	enum error_kind kind;
	uint64_t id;
	int error; /* positive */
};
MUST_CHECK int catalog_scan_errors(struct catalog_reader *r, struct catalog_scan **scan);
MUST_CHECK int catalog_next_error(struct catalog_scan *scan, struct error_entry *error);

/* The group of a content with this hash that has the lowest ordinal above after. */
MUST_CHECK int catalog_next_of_hash(struct catalog_reader *r, struct hash128 hash, uint32_t after,
				    struct group_record *group);

/* How many files of at least that size wait to be compared, and how many bytes they have: their
 * size is not theirs alone and they were not read. Linear in the number of files (about 50 ns
 * each). */
MUST_CHECK int catalog_count_pending(struct catalog_reader *r, uint64_t *files, uint64_t *bytes);

#endif
