/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SHOWING_VIEW_H
#define INDEX_SHOWING_VIEW_H

/* A mounted view whose sources contain the mount point of a new view. It would show the new view as
 * files of a source. For the main thread. */

#include "base/attributes.h"
#include "base/bytes.h"

struct showing_view {
	char *view; /* its mount point; NULL: none */
	struct bytes source; /* text: the source that contains the new mount point */
};

/* Finds the first mounted view with a source that contains mount_point, which is absolute and
 * without symlinks. Skips a view whose status cannot be read, and waits two seconds for a view that
 * hangs. Returns 0 or -errno. The caller must call showing_view_free() in either case. */
MUST_CHECK int showing_view_find(const char *mount_point, struct showing_view *showing);
void showing_view_free(struct showing_view *showing); /* accepts {0} */

#endif
