/* SPDX-License-Identifier: MIT */
#ifndef PLAN_JOINT_H
#define PLAN_JOINT_H

/* The bytes that several copies hold together (struct act_joint), as cp --reflink makes them. What
 * an act or a trial finds for each copy does not have these bytes: as long as one of the copies is
 * open or has a name, the file system shows them as shared. One thread. */

#include <stddef.h>
#include <stdint.h>

#include "act/act.h"
#include "base/attributes.h"

struct catalog_reader;

/* Sets what a file shares with members of its group, as the index knows it. Returns 0 or -errno. */
MUST_CHECK int joint_find(struct act_joint *joint, struct catalog_reader *reader, uint64_t file);

/* The copies that are gone, of those that hold bytes together with others. All zeros is empty. */
struct joint_tally {
	struct joint_part *list;
	size_t count, capacity;
};

void joint_tally_free(struct joint_tally *tally);

/* Notes that a copy is gone, and that freed bytes were found for it. Returns how many bytes are
 * free in addition, because it was the last of the files that held them. Returns 0 if memory is
 * short. */
uint64_t joint_tally_add(struct joint_tally *tally, const struct act_joint *joint, uint64_t freed);

#endif
