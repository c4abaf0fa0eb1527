/* SPDX-License-Identifier: MIT */
#ifndef ACT_RESCUE_H
#define ACT_RESCUE_H

/* The bytes of a copy that an act saved in a rescue folder (act/one_act.c). One thread. */

#include <stdbool.h>

#include "act/journal.h"
#include "act/place.h"
#include "base/attributes.h"

/* Returns whether the rescue folder possibly has the bytes: also if it cannot be examined, or its
 * disk is not mounted. */
bool rescue_has_bytes(const struct intent *intent);

/* Outcomes of rescue_restore(). */
enum {
	RESCUE_RESTORED = 1,
	RESCUE_ABSENT = 2, /* the disk of the rescue folder is not mounted */
	RESCUE_MISSING = 3, /* the rescue folder does not have the bytes */
};

/* Restores the copy from the rescue folder, syncs it, and removes the bytes in the rescue folder.
 * If they are missing and a file has the name of the copy, there is nothing to restore.
 *
 * leftover	see place_restore()
 *
 * Returns an outcome, 0 if there is nothing to restore, or -errno. */
MUST_CHECK int rescue_restore(const struct intent *intent, const struct place *place,
			      struct bytes *leftover);

/* Removes the bytes in a rescue folder, and the private folder if one was made for them. */
void rescue_forget(const struct intent *intent);

/* Removes the leftover of an interrupted file_copy_save() with this name. */
void rescue_forget_part(int directory, const char *name);

#endif
