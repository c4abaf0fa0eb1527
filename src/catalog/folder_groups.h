/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_FOLDER_GROUPS_H
#define CATALOG_FOLDER_GROUPS_H

/* Updates the tables of folders.h from changes of names. Only catalog/ includes this.
 *
 * The changes are applied in two alternating steps. First, each change adds the difference of its
 * tokens to the count of its directory; a complete directory leaves its folder group. Then each
 * directory that changed is examined: it searches another witness, or an equal directory. When a
 * directory enters or leaves a folder group, its name in the parent has another token, which is one
 * more change. A directory is examined only while no change is left, so that it reads the tokens
 * that all counts contain. At the end, each group whose folders, or their parents' groups, changed
 * gets its rank. */

#include "base/bytes.h"
#include "catalog/folder_token.h"
#include "catalog/writer.h"

/* A name got another token. */
struct folder_change {
	uint64_t dir;
	uint64_t cookie;
	struct folder_token before, now;
};

/* Zero, except w and before, at the beginning. */
struct folder_update {
	struct catalog_writer *w;
	/* the last snapshot before the transaction; NULL: it had no folder groups */
	struct catalog_reader *before;
	struct bytes changes; /* of struct folder_change, from change_next on */
	size_t change_next;
	struct bytes dirs; /* ids of directories to examine */
	struct bytes left; /* ids of folder groups that a directory left */
	struct bytes unranked; /* ids of folder groups whose rank possibly changes */
};

/* Each function returns 0 or -errno. Tokens must be those at the beginning of the update. */
MUST_CHECK int folder_update_add_change(struct folder_update *update,
					const struct folder_change *change);
/* Adds a directory that is new, was removed, or has another error or other flags. */
MUST_CHECK int folder_update_add_dir(struct folder_update *update, uint64_t dir);
MUST_CHECK int folder_update_finish(struct folder_update *update);

void folder_update_free(struct folder_update *update);

#endif
