/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_MOVE_H
#define CATALOG_MOVE_H

/* Directories that change their places within a write transaction: first all of them are taken
 * out, so that they may change places with each other, then all are put in. What is below them is
 * not touched. Only catalog/ includes this. */

#include "catalog/change.h"
#include "catalog/writer.h"

struct moves {
	const struct name_change **list; /* one for each directory */
	size_t count;
};

/* Takes the directories that move away from their old places. moves_free may be called after a
 * failure. -ESTALE: one is not there or not movable, see catalog_apply. */
MUST_CHECK int moves_detach(struct catalog_writer *w, const struct name_change *changes,
			    size_t count, struct moves *moves);

/* Puts them in their new places. -ESTALE and -ELOOP as catalog_apply says. */
MUST_CHECK int moves_attach(struct catalog_writer *w, const struct moves *moves);
void moves_free(struct moves *moves);

#endif
