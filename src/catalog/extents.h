/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_EXTENTS_H
#define CATALOG_EXTENTS_H

/* What is known of the extents of the files in a group: how many bytes the removal of its redundant
 * copies would free.
 *
 * A group maps if one of its files can share extents, has holes, or has hard links that the index
 * does not know. Removing the known names of such a file frees nothing, so its record has no own
 * bytes, and it counts as the kept copy if no rule prevents this. All other groups have no records
 * here, and all bytes of their redundant copies are reclaimable. If the members or the kept copy of
 * a group that maps change, the same transaction adds the group to the table unmapped. The layer
 * sharing then reads the extents of its files (FIEMAP) and records the result. Until then the group
 * has its last figure.
 *
 * change.h has the functions that write. */

#include "catalog/catalog.h"

/* Files of at most this size are not mapped. File systems keep smaller files in one block, or in
 * their metadata. */
#define EXTENTS_UNMAPPED_MAX 4096

/* Returns whether the extents of a regular file with these attributes have to be mapped if it is in
 * a group. Any thread. */
bool catalog_maps_extents(struct catalog *catalog, const struct attributes *attributes);

/* Returns whether the group of a file has to be mapped. Any thread. */
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
