/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_MOVE_H
#define CATALOG_MOVE_H

/* Moves directories within a write transaction. First all moving directories are removed from their
 * old parents, so that directories can exchange their names. Then all are added to their new
 * parents. The records of their trees do not change. Only catalog/ includes this. */

#include "catalog/change.h"
#include "catalog/writer.h"

struct moves {
	const struct name_change **list; /* the last move of each directory; borrowed */
	uint64_t *places; /* kept_get_place() of each directory before its move */
	size_t count;
};

/* Collects the moves of changes, which must stay valid, and removes the directories from their old
 * parents. The caller must call moves_free(), even after a failure. Returns 0, -ESTALE as
 * catalog_apply(), or another -errno. */
MUST_CHECK int moves_detach(struct catalog_writer *w, const struct name_change *changes,
			    size_t count, struct moves *moves);

/* Adds the moving directories to their new parents. Returns 0, -ESTALE or -ELOOP as
 * catalog_apply(), or another -errno. */
MUST_CHECK int moves_attach(struct catalog_writer *w, const struct moves *moves);
void moves_free(struct moves *moves);

#endif
