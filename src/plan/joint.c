/* SPDX-License-Identifier: MIT */
#include "plan/joint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/size.h"
#include "catalog/extents.h"

struct joint_part {
	uint64_t group;
	uint64_t gone; /* files */
	uint64_t own; /* bytes that only one of these files held, by the index */
	uint64_t freed; /* bytes that were found for them */
};

int joint_find(struct act_joint *joint, struct catalog_reader *reader, uint64_t file)
{
	struct extent_record extents;
	int r = catalog_get_extents(reader, file, &extents);

	*joint = (struct act_joint){0};
	if (r == 0 && extents.sharing)
		*joint = (struct act_joint){extents.sharing, extents.sharers, extents.joint,
					    extents.own};
	return r == -ENOENT ? 0 : r;
}

void joint_tally_free(struct joint_tally *tally)
{
	free(tally->list);
	*tally = (struct joint_tally){0};
}

/* Returns the part of these files, which is new if none of them is gone yet; NULL if memory is
 * short. */
static struct joint_part *find_part(struct joint_tally *tally, uint64_t group)
{
	for (size_t i = tally->count; i-- > 0;) {
		if (tally->list[i].group == group)
			return &tally->list[i];
	}
	if (array_reserve(&tally->list, &tally->capacity, tally->count + 1, sizeof(*tally->list)) <
	    0)
		return NULL;
	tally->list[tally->count] = (struct joint_part){.group = group};
	return &tally->list[tally->count++];
}

uint64_t joint_tally_add(struct joint_tally *tally, const struct act_joint *joint, uint64_t freed)
{
	struct joint_part *part = joint->group ? find_part(tally, joint->group) : NULL;
	uint64_t more;

	if (!part)
		return 0;
	part->gone++;
	part->own = size_add(part->own, joint->own);
	part->freed = size_add(part->freed, freed);
	if (part->gone < joint->files)
		return 0;
	/* some of it was found already, if blocks were freed between two copies */
	more = size_subtract(size_add(part->own, joint->bytes), part->freed);
	*part = tally->list[--tally->count];
	return more < joint->bytes ? more : joint->bytes;
}
