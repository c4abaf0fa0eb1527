/* SPDX-License-Identifier: MIT */
#include "report/left.h"

#include "report/copies.h"

void left_tally_add(struct left_tally *tally, const struct copies *copies)
{
	for (size_t i = 0; i < copies->count; i++)
		tally->held += copies->list[i].stays_for_links;
}
