/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_KEPT_H
#define CATALOG_KEPT_H

/* Which copy of a group uniques/ keeps: by the order of sources, then the one that was found first,
 * then by path. Only catalog/ includes this; one thread at a time. */

#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;
struct known_place;

/* One choice after the other in one transaction, in which no directory moves meanwhile. All zero
 * but the reader at first. */
struct kept_choice {
	struct catalog_reader *reader;
	struct known_place *places; /* paths of directories that were asked for, by id */
};

/* The file among the members of the group; *kept is 0 where there is none. */
MUST_CHECK int kept_choose(struct kept_choice *choice, uint64_t group, uint64_t *kept);

void kept_choice_deinit(struct kept_choice *choice);

#endif
