/* SPDX-License-Identifier: MIT */
#ifndef REPORT_LEFT_H
#define REPORT_LEFT_H

/* Counts the copies that an act leaves for another reason than a rule of the user or a bundle. One
 * thread at a time. */

#include <stdint.h>

struct copies;

/* All zero is empty. */
struct left_tally {
	uint64_t held; /* inodes with hard links elsewhere (rules.spare_held) */
};

/* Counts the copies of a group, after rules_apply(). */
void left_tally_add(struct left_tally *tally, const struct copies *copies);

#endif
