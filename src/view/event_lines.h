/* SPDX-License-Identifier: MIT */
#ifndef VIEW_EVENT_LINES_H
#define VIEW_EVENT_LINES_H

/* Invalidations as lines of .twinfs/events. Any thread. */

#include "view/invalidation.h"

/* Appends the changes of an invalidation to .twinfs/events, if that file has readers. Returns 0, or
 * -errno and appends nothing. */
MUST_CHECK int event_lines_add(struct view *view, const struct invalidation *invalidation);

#endif
