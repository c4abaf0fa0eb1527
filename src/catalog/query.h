/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_QUERY_H
#define CATALOG_QUERY_H

/* Questions to the index. Each runs in a reader's snapshot (catalog_read_begin, or
 * catalog_writer_reader inside a transaction) and makes no system call.
 *
 * All return 0 when found, -ENOENT when there is none, -EUCLEAN for a damaged record (logged), or
 * another -errno. Names in records are borrowed from the snapshot until it ends.
 */

#include "base/bytes.h"
#include "catalog/catalog.h"

MUST_CHECK int catalog_get_totals(struct catalog_reader *r, struct catalog_totals *totals);
/* The same, in a snapshot of its own. */
MUST_CHECK int catalog_totals_now(struct catalog *catalog, struct catalog_totals *totals);
MUST_CHECK int catalog_get_dir(struct catalog_reader *r, uint64_t id, struct dir_record *dir);
MUST_CHECK int catalog_get_file(struct catalog_reader *r, uint64_t id, struct file_record *file);
MUST_CHECK int catalog_get_content(struct catalog_reader *r, uint64_t file,
				   struct content_record *content);
MUST_CHECK int catalog_get_group(struct catalog_reader *r, uint64_t id, struct group_record *group);

/* The group of this content; it may have too few inodes to be visible. */
MUST_CHECK int catalog_find_group(struct catalog_reader *r, struct hash128 hash, uint32_t ordinal,
				  struct group_record *group);

/* The group of a content with this hash that has the lowest ordinal above after. */
MUST_CHECK int catalog_next_of_hash(struct catalog_reader *r, struct hash128 hash, uint32_t after,
				    struct group_record *group);

/* The first cookie that the name may have in any directory; names with equal hashes share it. */
uint64_t catalog_name_cookie(const struct catalog_reader *r, struct name name);

/* A name in a directory: by name, and by the cookie that it was listed with. */
MUST_CHECK int catalog_find_entry(struct catalog_reader *r, uint64_t dir, struct name name,
				  struct entry_record *entry);
MUST_CHECK int catalog_entry_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
				struct entry_record *entry);

/* What is at a path relative to a directory: names with a slash between, not "". */
MUST_CHECK int catalog_find_path(struct catalog_reader *r, uint64_t dir, const char *relative,
				 struct entry_record *entry);

/* The file with this inode number; *id is 0 where it is not known. */
MUST_CHECK int catalog_find_inode(struct catalog_reader *r, uint32_t filesystem, uint64_t inode,
				  uint64_t *id);

/* The error noted for a directory or file; *error is 0 where there is none. */
MUST_CHECK int catalog_get_error(struct catalog_reader *r, enum error_kind kind, uint64_t id,
				 int *error);

/* Is the file a redundant copy: another inode of its visible group is the kept one? Then and
 * else, *group is the visible group that it is a copy in (id 0: it is in none). */
MUST_CHECK int catalog_is_redundant(struct catalog_reader *r, uint64_t file, bool *redundant,
				    struct group_record *group);

/* How many names in a directory are of redundant copies, and how many of its subdirectories have
 * such names in them, at any depth; together, 0 for none. */
MUST_CHECK int catalog_count_redundant(struct catalog_reader *r, uint64_t dir, uint64_t *count);

/* Appends the path of a directory, or of a name in it, relative to its source ("" for the root
 * itself), and tells which source that is. */
MUST_CHECK int catalog_dir_path(struct catalog_reader *r, uint64_t dir, struct bytes *path,
				uint32_t *source);
MUST_CHECK int catalog_entry_path(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
				  struct bytes *path, uint32_t *source);

/* Appends the path of a file: of its names the one that comes first by source and path. -ENOENT
 * for an orphan. */
MUST_CHECK int catalog_file_path(struct catalog_reader *r, const struct file_record *file,
				 struct bytes *path, uint32_t *source);

/* ---- listings ------------------------------------------------------------------------ */

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
	uint64_t head;
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

/* The size in bytes from which files are compared, as the last scan was told. */
MUST_CHECK int catalog_get_min_size(struct catalog_reader *r, uint64_t *min_size);

/* Appends where a view of the index was mounted last; nothing where none was. */
MUST_CHECK int catalog_get_view(struct catalog_reader *r, struct bytes *mount_point);

/* How many files of at least that size wait to be compared, and how many bytes they have: their
 * size is not theirs alone and they were not read. Linear in the number of files (about 50 ns
 * each). */
MUST_CHECK int catalog_count_pending(struct catalog_reader *r, uint64_t *files, uint64_t *bytes);

#endif
