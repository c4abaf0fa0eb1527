/* SPDX-License-Identifier: MIT */
#ifndef SHARING_MAPPING_H
#define SHARING_MAPPING_H

/* Maps the files of groups on their disks, and records how many bytes the removal of the redundant
 * copies would free (catalog/extents.h).
 *
 * A range of a disk is freed if only redundant copies hold it. The kernel says whether an extent
 * is shared, and the ranges of the other copies say with which of them (joint_ranges.h). If a copy
 * shares a range with nothing in its group, a snapshot probably holds it. Such a snapshot then
 * holds what the redundant copies share among themselves, too, so none of that counts. */

#include <stdbool.h>

#include "base/attributes.h"

struct catalog;
struct sources;

/* Adds all groups that map to the table unmapped. For a program that changed which extents files
 * share: this changes no attribute. Returns 0 or -errno. */
MUST_CHECK int mapping_begin_again(struct catalog *catalog);

/* Maps the groups of the table unmapped, each once, and commits the results step by step. Takes
 * memory for the extents of one group. Files are opened, but not read. Must not run in two threads
 * at once.
 *
 * incomplete	set to whether files have bytes that are not on the disk yet, or could not be
 *		mapped: their groups stay in the table
 *
 * Returns 0, also after stop_requested(), or -errno. */
MUST_CHECK int mapping_run(struct catalog *catalog, const struct sources *sources,
			   bool *incomplete);

#endif
