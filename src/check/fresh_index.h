/* SPDX-License-Identifier: MIT */
#ifndef CHECK_FRESH_INDEX_H
#define CHECK_FRESH_INDEX_H

/* A second index of the same sources, made from nothing to hold the first one against: what it says
 * is what the disk has now. It lies in a folder within that of the first one, is gone afterwards,
 * and nothing in it is known to the first one but the numbers of file systems, so that records of
 * both can be compared. For the first thread.
 */

#include <stdbool.h>

#include "base/attributes.h"
#include "index/current_index.h"
#include "index/indexing.h"

/* All zero is none. */
struct fresh_index {
	struct indexing indexing;
	char *folder; /* made by us; NULL: it is not ours to remove */
};

/* Makes it: walks the sources, and reads what has to be compared, which may take as long as a first
 * scan does. Shows how far it is.
 *
 * index	borrowed, as long as the fresh one is open; its catalog and sources are opened
 * settings	borrowed: how sources are scanned
 * contents	false: only names
 *
 * 0 or -errno, said; -EINTR when that was interrupted. */
MUST_CHECK int fresh_index_make(struct fresh_index *fresh, const struct current_index *index,
				const struct index_settings *settings, bool contents);

/* Removes it. */
void fresh_index_remove(struct fresh_index *fresh);
#define CLEANUP_FRESH_INDEX CLEANUP(fresh_index_remove)

#endif
