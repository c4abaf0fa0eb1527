/* SPDX-License-Identifier: MIT */
#ifndef SCAN_MAPPING_H
#define SCAN_MAPPING_H

/* Maps the files of groups on their disks, and records how many bytes the removal of the redundant
 * copies would free (index/query.h).
 *
 * A range of a disk is freed if only redundant copies hold it. The kernel says whether an extent
 * is shared, and the ranges of the other copies say with which of them. If a copy shares a range
 * with nothing in its group, a snapshot probably holds it. Such a snapshot then holds what the
 * redundant copies share among themselves, too, so none of that counts. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog;
struct sources;

/* ---- joint ranges --------------------------------------------------------------------------- */

/* Which ranges of a disk the files of one group hold together. Pure code, any thread.
 *
 * The kernel says of an extent that it is shared, but not by which files. If two ranges of the
 * group overlap, they explain each other. If a shared range overlaps no other one, something
 * outside of the group holds it: a snapshot, or a file with other bytes. */

/* A range of a disk that the kernel reports as shared. */
struct shared_range {
	uint64_t space; /* ranges of different spaces do not overlap */
	uint64_t start, length; /* bytes; their sum is below 2^64 */
	uint32_t member; /* index of the file that holds the range */
};

/* The shared ranges of a group. */
struct joint_group {
	const struct shared_range *ranges; /* borrowed */
	size_t count; /* of ranges */
	uint32_t member_count;
	uint32_t kept; /* index of the kept member */
};

struct joint_member {
	/* Index of the member that stands for all members with which this one shares ranges,
	 * directly or through others. Its own index if it shares none, or if it stands for them. */
	uint32_t leader;
	bool shares; /* it shares a range with another member, or has a range twice */
	uint32_t sharers; /* of a leader: number of its members */
	bool stays; /* of a leader; for the caller: one of its members is not removed */
	uint64_t joint; /* of a leader: bytes that two or more ranges of its members hold */
};

struct joint_result {
	uint64_t without_kept; /* bytes that two or more ranges hold, but none of the kept member */
	bool outside; /* a range is shared with something outside of the group */
};

/* Sets members[], which has an element for each member of the group, and *result. Takes n log n
 * steps and 24 bytes for each end of a range. Returns 0 or -ENOMEM. */
MUST_CHECK int joint_ranges_find(const struct joint_group *group, struct joint_member *members,
				 struct joint_result *result);

/* ---- mapping -------------------------------------------------------------------------------- */

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
