/* SPDX-License-Identifier: MIT */
#ifndef INDEX_EXTENTS_H
#define INDEX_EXTENTS_H

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

#include "index/catalog.h"

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
