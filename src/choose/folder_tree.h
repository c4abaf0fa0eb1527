/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_FOLDER_TREE_H
#define CHOOSE_FOLDER_TREE_H

/* Facts of folder groups that the index does not have: they are computed from the names of the
 * trees. All functions are linear in these names. Memory is bounded by the names of the directories
 * from the folder down to the current one; large directories are sorted in a file
 * (choose/sorter.h). One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

struct catalog_reader;
struct copies;
struct filter;
struct sorter;

/* Outcome: the content, target or kind of a name in the tree is unknown. */
enum {
	FOLDER_TREE_UNREAD = 1,
};

/* Computes the tree hash of a directory, as twinfs(5) describes it: XXH3-128 of an entry for each
 * name in it, sorted by bytes. An entry is the letter of the type as of `find -type`, a space, 32
 * hexadecimal digits, a space, the name and a NUL. The digits are the XXH3-128 of
 *
 * - the content of a regular file (f), or the target of a symlink (l);
 * - "MAJOR:MINOR" of a device (b, c), or nothing for a FIFO or socket (p, s);
 *
 * or, of a directory (d), its tree hash. Equal trees have equal hashes; the reverse is not proved.
 *
 * Returns 0, FOLDER_TREE_UNREAD, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_tree_hash(struct catalog_reader *reader, uint64_t dir, struct hash128 *hash);

/* Sets the mtime of each folder of a group to that of the file in its tree that was written last.
 * That of the directory itself also changes when a name in it comes and goes, so it says little
 * about which folder is the original. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_tree_set_times(struct catalog_reader *reader, struct copies *copies);

/* Sets *bytes to what removing the redundant folders of a group would free: the sizes of the inodes
 * all of whose names are in these folders. Returns 0, -EINTR if stop_requested(), or another
 * -errno. */
MUST_CHECK int folder_tree_reclaimable(struct catalog_reader *reader, const struct copies *copies,
				       uint64_t *bytes);

/* Removes the folders of a group that are another mount of a folder that stays. Returns 0 or
 * -errno. */
MUST_CHECK int folder_tree_remove_mounts(struct catalog_reader *reader, struct copies *copies);

/* Removes the folders of a group that contain an excluded name, as the index does not compare a
 * folder with such a name. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_tree_remove_excluded(struct catalog_reader *reader,
					   const struct filter *filter, struct copies *copies);

/* Sets *implied to whether the parents of all folders are in one folder group, and contain no
 * excluded name. Then the folders are equal because their parents are. Linear in the folders; with
 * excluded names, in the names of the parents. Returns 0, -EINTR if stop_requested(), or another
 * -errno. */
MUST_CHECK int folder_tree_is_implied(struct catalog_reader *reader, const struct filter *filter,
				      const struct copies *copies, bool *implied);

/* ---- counting ------------------------------------------------------------------------------- */

/* A count of files in whole folders, of which no file counts twice, and of what removing the
 * folders would free. Linear in names. Takes 2 MiB; more inodes with several names, or with extents
 * of other files, are sorted in a file. A count of zeros may be freed. */
struct folder_count {
	struct sorter *links; /* an entry for each visited name of an inode that has several */
	/* an entry for each inode that shares extents with others, by struct extent_record.sharing
	 */
	struct sorter *sharers;
	uint64_t folders;
	uint64_t files; /* names of regular files */
	uint64_t bytes; /* that removing the counted inodes would free */
};

/* Returns 0 or -ENOMEM. */
MUST_CHECK int folder_count_begin(struct folder_count *count);

void folder_count_free(struct folder_count *count);
#define CLEANUP_FOLDER_COUNT CLEANUP(folder_count_free)

/* Adds the redundant folders of a group. They neither contain an added folder nor are in one.
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_count_add_redundant(struct folder_count *count, struct catalog_reader *reader,
					  const struct copies *copies);

/* Adds the folders of a group that are whole copies, each byte once although groups contain each
 * other. Must be called after rules_apply(). The folders with names that the filter excludes must
 * have been removed.
 *
 * A folder is a part if the folder that contains it has an equal folder, too. Parts are not
 * counted: they go or stay with the folders that contain them. Of the other folders of a group,
 * those that the rules make redundant are whole copies. So is the kept one if it need not stay and
 * the group has a part in a place that lasts as long. So no counted folder contains another one. Of
 * each group a folder stays: the kept one, or a part of one that stays.
 *
 * Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_count_add_whole(struct folder_count *count, struct catalog_reader *reader,
				      const struct filter *filter, const struct copies *copies);

/* Sets *bytes to what removing the inodes would free all of whose names are in the folders. Extents
 * that several of them hold count if these are all that share them. No folder can be added after
 * that. Returns 0, -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_count_finish(struct folder_count *count, struct catalog_reader *reader,
				   uint64_t *bytes);

#endif
