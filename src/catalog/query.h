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

/* The first cookie that the name may have in any directory; names with equal hashes share it. */
uint64_t catalog_name_cookie(const struct catalog_reader *r, struct name name);

/* A name in a directory, by the cookie that it was listed with. */
MUST_CHECK int catalog_entry_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
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

/* The size in bytes from which files are compared, as the last scan was told. */
MUST_CHECK int catalog_get_min_size(struct catalog_reader *r, uint64_t *min_size);

/* The path of source number index, appended, and the id of its root directory. */
MUST_CHECK int catalog_get_source(struct catalog_reader *r, uint64_t index, struct bytes *path,
				  uint64_t *root);

/* Appends where a view of the index was mounted last; nothing where none was. */
MUST_CHECK int catalog_get_view(struct catalog_reader *r, struct bytes *mount_point);

#endif
