/* SPDX-License-Identifier: MIT */
#ifndef REPORT_FOLDER_TREE_H
#define REPORT_FOLDER_TREE_H

/* Facts of folder groups that the index does not have: they are computed from the names of the
 * trees. All functions are linear in these names. Memory is bounded by the names of the directories
 * from the folder down to the current one; large directories are sorted in a file
 * (report/sorter.h). One thread at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

struct catalog_reader;
struct copies;
struct filter;

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

/* Sets parts[i] to whether folder i of a group is a part of another one that has an equal folder:
 * its parent is in a folder group, and contains no excluded name. Linear as above. Returns 0,
 * -EINTR if stop_requested(), or another -errno. */
MUST_CHECK int folder_tree_find_parts(struct catalog_reader *reader, const struct filter *filter,
				      const struct copies *copies, bool *parts);

#endif
