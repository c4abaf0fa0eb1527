/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FLIPS_H
#define VIEW_FLIPS_H

/* Which files became redundant or unique by a commit. Pure code, any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/news.h"

struct flip {
	uint64_t file;
	const struct group_record
		*group; /* where it is redundant now, or was; borrowed from the news */
	bool redundant; /* now; before it was the opposite */
};

/* Gives them in the order of files; *flips is the caller's array of *count (NULL: none), freed with
 * free(3). 0 or -ENOMEM. */
MUST_CHECK int flips_of_news(const struct catalog_news *news, struct flip **flips, size_t *count);

#endif
