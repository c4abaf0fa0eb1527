/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SHOWING_VIEW_H
#define INDEX_SHOWING_VIEW_H

/* A view whose sources hold the place where another one is to be mounted: it would show that one,
 * and might be shown by it. For the first thread. */

#include "base/attributes.h"
#include "base/bytes.h"

struct showing_view {
	char *view; /* its mount point; NULL: there is none */
	struct bytes source; /* text */
};

/* Looks for one. A view that does not tell its sources is passed over; each that hangs takes two
 * seconds. mount_point is absolute and without symlinks. 0 or -errno; to be freed in either
 * case. */
MUST_CHECK int showing_view_find(const char *mount_point, struct showing_view *showing);
void showing_view_free(struct showing_view *showing); /* accepts {0} */

#endif
