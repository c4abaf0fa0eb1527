/* SPDX-License-Identifier: MIT */
#include "report/whole_copies.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/copies.h"
#include "report/folder_tree.h"

int whole_copies_begin(struct whole_copies *whole)
{
	whole->folders = 0;
	return folder_count_begin(&whole->count);
}

void whole_copies_free(struct whole_copies *whole)
{
	folder_count_free(&whole->count);
}

/* Returns whether something else empties the place of a folder before that of the kept one. */
static bool is_emptied_earlier(const struct copies *copies, const struct copy *copy)
{
	return copy->stays_for_place != PLACE_LASTS || copy->emptied > copies->list[0].emptied;
}

int whole_copies_add(struct whole_copies *whole, struct catalog_reader *reader,
		     const struct filter *filter, const struct copies *copies)
{
	AUTO_FREE bool *parts = calloc(copies->count + 1, sizeof(*parts));
	bool part_stays = false;
	int r = parts ? folder_tree_find_parts(reader, filter, copies, parts) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < copies->count; i++)
		part_stays |= parts[i] && !is_emptied_earlier(copies, &copies->list[i]);
	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		const struct copy *copy = &copies->list[i];
		bool goes = copy->fate == FATE_REDUNDANT ||
			    (copy->fate == FATE_KEPT && part_stays && !copies->kept_must_stay);

		if (parts[i] || !goes)
			continue;
		whole->folders++;
		r = folder_count_add(&whole->count, reader, copy->file);
	}
	return r;
}
