/* SPDX-License-Identifier: MIT */
#include "report/left.h"

#include <string.h>

#include "report/copies.h"

void left_tally_free(struct left_tally *tally)
{
	bytes_free(&tally->links);
}

/* Keeps the first paths of symlinks. */
static int add_links(struct left_tally *tally, const struct copies *copies, const struct copy *copy)
{
	const char *path = (const char *)copies->paths.data + copy->symlink_paths;
	int r = 0;

	for (size_t i = 0; r == 0 && i < copy->symlinks && tally->link_count < LEFT_LINKS_MAX;
	     i++, path += strlen(path) + 1) {
		r = bytes_append(&tally->links, path, strlen(path) + 1);
		tally->link_count++;
	}
	return r;
}

int left_tally_add(struct left_tally *tally, const struct copies *copies, bool breaks)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < copies->count; i++) {
		const struct copy *copy = &copies->list[i];
		bool is_broken = breaks && copy->fate == FATE_REDUNDANT && copy->symlinks > 0;

		tally->held += copy->stays_for_links;
		tally->led += copy->stays_for_symlinks;
		tally->broken += is_broken ? copy->symlinks : 0;
		if (is_broken || copy->stays_for_symlinks)
			r = add_links(tally, copies, copy);
	}
	return r;
}
