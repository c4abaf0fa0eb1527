/* SPDX-License-Identifier: MIT */
#ifndef INDEX_QUERY_H
#define INDEX_QUERY_H

/* Queries of the index. Each query runs in a reader's snapshot (catalog_read_begin(), or
 * catalog_writer_reader() inside a transaction) and makes no system call.
 *
 * All functions return 0, -ENOENT if the object does not exist, -EUCLEAN if a record is damaged, or
 * another -errno. Names in records are borrowed until the snapshot ends; in a transaction, until
 * its next change.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "index/catalog.h"
#include "index/emptied_place.h"

MUST_CHECK int catalog_get_totals(struct catalog_reader *r, struct catalog_totals *totals);
/* Gets the totals in a snapshot of its own. The thread must have no reader. */
MUST_CHECK int catalog_totals_now(struct catalog *catalog, struct catalog_totals *totals);
MUST_CHECK int catalog_get_dir(struct catalog_reader *r, uint64_t id, struct dir_record *dir);
MUST_CHECK int catalog_get_file(struct catalog_reader *r, uint64_t id, struct file_record *file);
/* As catalog_get_file(), without the attributes, which are undefined. */
MUST_CHECK int catalog_get_file_name(struct catalog_reader *r, uint64_t id,
				     struct file_record *file);
MUST_CHECK int catalog_get_content(struct catalog_reader *r, uint64_t file,
				   struct content_record *content);
MUST_CHECK int catalog_get_group(struct catalog_reader *r, uint64_t id, struct group_record *group);

/* Finds the group with this hash and ordinal, visible or not. */
MUST_CHECK int catalog_find_group(struct catalog_reader *r, struct hash128 hash, uint32_t ordinal,
				  struct group_record *group);

/* Returns a number that snapshots of the same state share, and those of other states do not. What
 * was read from one of them is valid for the others. */
uint64_t catalog_snapshot_id(const struct catalog_reader *r);

/* Returns the first cookie that the name can have in any directory. Names with equal hashes have
 * the same first cookie. */
uint64_t catalog_name_cookie(const struct catalog_reader *r, struct name name);

/* Finds a name in a directory by its cookie. */
MUST_CHECK int catalog_entry_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
				struct entry_record *entry);

/* Finds the file with this inode number. *id is 0 if the number is unknown. */
MUST_CHECK int catalog_find_inode(struct catalog_reader *r, uint32_t filesystem, uint64_t inode,
				  uint64_t *id);

/* Counts the files that have no name: they were removed, or renamed at this moment. */
MUST_CHECK int catalog_count_orphans(struct catalog_reader *r, uint64_t *count);

/* Gets the error recorded for a directory or file. *error is 0 if no error is recorded. */
MUST_CHECK int catalog_get_error(struct catalog_reader *r, enum error_kind kind, uint64_t id,
				 int *error);

/* Sets *redundant to whether the file, which must have a name, is a redundant copy: another inode
 * of its visible group is the kept copy. Sets *group to the visible group of the file, even if the
 * file is not redundant; group->id is 0 if there is none. */
MUST_CHECK int catalog_is_redundant(struct catalog_reader *r, uint64_t file, bool *redundant,
				    struct group_record *group);

/* Gets what a directory contributes to redundant/, and the times of its listings in the view. Its
 * count is the number of names in it that are redundant copies, plus the number of its
 * subdirectories that have such names at any depth. */
MUST_CHECK int catalog_get_redundant(struct catalog_reader *r, uint64_t dir,
				     struct redundant_record *redundant);

/* Gets what is known of the tree of a directory. Returns -ENOENT while the folder groups are not
 * known (catalog_totals.folders_known). */
MUST_CHECK int catalog_get_folder(struct catalog_reader *r, uint64_t dir,
				  struct folder_record *folder);
MUST_CHECK int catalog_get_folder_group(struct catalog_reader *r, uint64_t id,
					struct folder_group *group);

/* Sets *group to the folder group of a directory; 0: no equal directory is known. */
MUST_CHECK int catalog_find_folder_group(struct catalog_reader *r, uint64_t dir, uint64_t *group);

/* Gets the target of a symlink; borrowed like names. Returns -ENOENT if it is unknown. */
MUST_CHECK int catalog_get_target(struct catalog_reader *r, uint64_t file, struct name *target);

/* Gets the smallest size of files that are compared, in bytes, as set by the last scan. */
MUST_CHECK int catalog_get_min_size(struct catalog_reader *r, uint64_t *min_size);

/* Appends the path of source number index, and sets *root to the id of its root directory. */
MUST_CHECK int catalog_get_source(struct catalog_reader *r, uint64_t index, struct bytes *path,
				  uint64_t *root);

/* Appends the last mount point of a view of the index, or nothing if none was recorded. */
MUST_CHECK int catalog_get_view(struct catalog_reader *r, struct bytes *mount_point);

/* Sets *is to whether catalog_mark_operands() marked the index. */
MUST_CHECK int catalog_is_of_operands(struct catalog_reader *r, bool *is);

/* Gets the rules that choose kept copies; no rule if the user gave none. The caller frees the
 * rules, even after a failure. */
struct keep_rules;
MUST_CHECK int catalog_get_keep_rules(struct catalog_reader *r, struct keep_rules *rules);

/* Finds the member of a group that has to be the kept copy instead of the recorded one, by the
 * trash and the keep rules. *file is 0 if there is none, or if catalog_choose_kept() has yet to
 * check the group. Linear in the members. */
MUST_CHECK int catalog_find_displacing(struct catalog_reader *r, const struct group_record *group,
				       uint64_t *file);

/* Sets *may to whether a member of a group can be the kept copy of an act: the trash and the keep
 * rules do not prefer the recorded kept copy. Returns 0, -ENOENT if a file has no name, or another
 * -errno. */
MUST_CHECK int catalog_may_keep(struct catalog_reader *r, const struct group_record *group,
				uint64_t file, bool *may);

/* Sets *best to the place of a file: the first of the places of its names. Sets *several, which can
 * be NULL, to whether its names are in several places. Returns 0, -ENOENT if the file has no name,
 * or another -errno. */
MUST_CHECK int catalog_get_emptied(struct catalog_reader *r, const struct file_record *file,
				   enum emptied_place *best, bool *several);

/* ---- windows of files ----------------------------------------------------------------- */

/* The records of files whose ids are near each other, as those of one directory usually are.
 * Reading them in the order of their ids takes a third of the time of looking up each.
 *
 * A window of zeros is empty. It belongs to the snapshot of the reader that filled it, and to one
 * thread. */
struct file_window {
	struct window_record *records; /* of the ids from first on */
	size_t capacity;
	uint64_t first;
	size_t count;
};

void file_window_free(struct file_window *window);

/* Fills the window with the records of the ids from first to last that exist, if the range is not
 * too large. count: number of these files that will be got; a range with many others is not read.
 * The window of an earlier snapshot may be passed. Returns 0 or -errno. */
MUST_CHECK int file_window_fill(struct file_window *window, struct catalog_reader *r,
				uint64_t first, uint64_t last, size_t count);

/* Works like catalog_get_file(), in the snapshot that filled the window. The file can be outside of
 * the window. */
MUST_CHECK int file_window_get(const struct file_window *window, struct catalog_reader *r,
			       uint64_t id, struct file_record *file);

/* ---- names of groups --------------------------------------------------------------- */

/* The name of the folder of a group: the 32 digits of the hash of its content. Further contents
 * with the same hash get the suffix "~2", "~3" ... Pure code, any thread. */

/* Buffer size for a name, including the NUL. */
#define GROUP_NAME_SIZE (HASH128_DIGITS + 1 + 10 + 1)

void group_name_make(char name[static GROUP_NAME_SIZE], struct hash128 hash, uint32_t ordinal);

/* Parses a name. Returns false if group_name_make() never makes such a name. */
MUST_CHECK bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal);

/* ---- extents ----------------------------------------------------------------------- */

/* What is known of the extents of the files in a group: how many bytes the removal of its redundant
 * copies would free.
 *
 * A group maps if one of its files can share extents, has holes, has hard links that the index
 * does not know, or is in a place that something else empties. All other groups have no records
 * here, and all bytes of their redundant copies are reclaimable.
 *
 * Removing the known names of a file with unknown links frees nothing, so its record has no own
 * bytes, and it counts as the kept copy if no rule prevents this. The figure of the group does not
 * have copies that acts leave because of their place (place_stays()). Their records have own bytes,
 * as dedupe shares these copies.
 *
 * If the members, their places or the kept copy of a group that maps change, the same transaction
 * adds the group to the table unmapped. The layer sharing then reads the extents of its files
 * (FIEMAP) and records the result. Until then the group has its last figure.
 * If the place of a folder changes, catalog_choose_kept() looks at the places of all files.
 *
 * change.h has the functions that write. */

/* Files of at most this size are not mapped. File systems keep smaller files in one block, or in
 * their metadata. */
#define EXTENTS_UNMAPPED_MAX 4096

/* Returns whether the extents of a regular file with these attributes have to be mapped if it is in
 * a group. Any thread. */
bool catalog_maps_extents(struct catalog *catalog, const struct attributes *attributes);

/* Returns whether the group of a file has to be mapped, wherever the file is. Any thread. */
bool catalog_maps_file(struct catalog *catalog, const struct file_record *file);

/* Returns whether files on a file system can share extents. True if the file system is not known to
 * this process. Any thread. */
bool catalog_shares_extents(struct catalog *catalog, uint32_t filesystem);

/* A group whose extents have to be mapped. */
struct unmapped_group {
	uint64_t group; /* 0: none */
	uint64_t due; /* time at which to map it, in seconds since 1970; 0: now */
};

/* Sets *unmapped to the first group of the table unmapped with an id greater than after. Returns 0
 * or -errno. */
MUST_CHECK int catalog_next_unmapped(struct catalog_reader *r, uint64_t after,
				     struct unmapped_group *unmapped);

/* Gets the record of a file in a group that maps. Returns 0, -ENOENT if it has none, or -errno. */
MUST_CHECK int catalog_get_extents(struct catalog_reader *r, uint64_t file,
				   struct extent_record *extents);

#endif
