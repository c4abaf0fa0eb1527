/* SPDX-License-Identifier: MIT */
#ifndef REPORT_RETAINED_H
#define REPORT_RETAINED_H

/* The bytes that stay allocated, or never were, if the redundant copies of a group are removed.
 * Copies with hard links that are not among the copies stay whole. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/size.h"
#include "catalog/record.h"
#include "report/copies.h"

struct catalog_reader;

/* Sets group->retained for the copies that are redundant by their fates. The result is exact if the
 * index chooses the same copies. For another choice, a range of the disk that several copies hold
 * counts as freed if all copies that share anything with these are redundant, so the result can be
 * too high.
 *
 * group	a group of files; its other fields can differ from those in the index
 *
 * Takes n log n steps for the copies. Returns 0 or -errno. */
MUST_CHECK int retained_find(struct catalog_reader *reader, struct group_record *group,
			     const struct copies *copies);

/* Returns the bytes of the redundant copies. */
static inline uint64_t copies_redundant_bytes(const struct copies *copies,
					      const struct group_record *group)
{
	return size_multiply(copies->redundant, group->size);
}

/* Returns what their removal would free. Must be called after retained_find(). */
static inline uint64_t copies_reclaimable_bytes(const struct copies *copies,
						const struct group_record *group)
{
	return size_subtract(copies_redundant_bytes(copies, group), group->retained);
}

#endif
