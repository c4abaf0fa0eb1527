/* SPDX-License-Identifier: MIT */
#ifndef REPORT_LEFT_H
#define REPORT_LEFT_H

/* Counts the copies that an act leaves for another reason than a rule of the user or a bundle, and
 * the symlinks that it breaks. One thread at a time. */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct copies;

/* Highest number of symlinks whose paths are kept. */
#define LEFT_LINKS_MAX 10

/* All zero is empty. */
struct left_tally {
	uint64_t held; /* inodes with hard links elsewhere (rules.links) */
	uint64_t led; /* copies that stay because symlinks lead to them */
	uint64_t broken; /* symlinks to redundant copies, which would lead nowhere */
	/* Absolute paths of symlinks to copies that stay, or of broken ones; each ends with a NUL.
	 */
	struct bytes links;
	size_t link_count;
};

void left_tally_free(struct left_tally *tally);
#define CLEANUP_LEFT_TALLY CLEANUP(left_tally_free)

/* Counts the copies of a group, after rules_apply().
 *
 * breaks	the act removes the names of redundant copies
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int left_tally_add(struct left_tally *tally, const struct copies *copies, bool breaks);

#endif
