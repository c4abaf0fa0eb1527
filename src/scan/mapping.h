/* SPDX-License-Identifier: MIT */
#ifndef SCAN_MAPPING_H
#define SCAN_MAPPING_H

/* Maps the files of groups on their disks, and records how many bytes the removal of the redundant
 * copies would free (index/extents.h).
 *
 * A range of a disk is freed if only redundant copies hold it. The kernel says whether an extent
 * is shared, and the ranges of the other copies say with which of them (joint_ranges.h). If a copy
 * shares a range with nothing in its group, a snapshot probably holds it. Such a snapshot then
 * holds what the redundant copies share among themselves, too, so none of that counts. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog;
struct sources;

/* Adds all groups that map to the table unmapped. For a program that changed which extents files
 * share: this changes no attribute. Returns 0 or -errno. */
MUST_CHECK int mapping_begin_again(struct catalog *catalog);

/* Maps the groups of the table unmapped, each once, and commits the results step by step. If bytes
 * of a file are possibly not on the disk yet, or if the file cannot be mapped, the group stays in
 * the table with a later time. Takes memory for the extents of one group in each thread. Files are
 * opened, but not read. Must not run twice at once.
 *
 * all		also maps the groups whose time is later, in a thread for each processor
 * due		set to the earliest time of the groups that stay, in seconds since 1970; 0: none
 *
 * Returns 0, also after stop_requested(), or -errno. */
MUST_CHECK int mapping_run(struct catalog *catalog, const struct sources *sources, bool all,
			   uint64_t *due);

#endif
