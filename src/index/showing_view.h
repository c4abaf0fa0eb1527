/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SHOWING_VIEW_H
#define INDEX_SHOWING_VIEW_H

/* A view whose sources contain the mount point of a new view: each of the two views can show the
 * other. For the main thread. */

#include "base/attributes.h"
#include "base/bytes.h"

struct showing_view {
	char *view; /* its mount point; NULL: none */
	struct bytes source; /* text: the source that contains the new mount point */
};

/* Searches for such a view. A view whose status cannot be read is skipped; each view that hangs
 * takes two seconds. mount_point is absolute and without symlinks. Returns 0 or -errno; the caller
 * frees showing in any case. */
MUST_CHECK int showing_view_find(const char *mount_point, struct showing_view *showing);
void showing_view_free(struct showing_view *showing); /* accepts {0} */

#endif
