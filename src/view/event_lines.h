/* SPDX-License-Identifier: MIT */
#ifndef VIEW_EVENT_LINES_H
#define VIEW_EVENT_LINES_H

/* Notices as lines of .twinfs/events. Any thread. */

#include "view/invalidation.h"

/* Appends to the view's events what a notice means, if somebody reads them. 0 or -errno: nothing
 * was appended then. */
MUST_CHECK int event_lines_add(struct view *view, const struct invalidation *invalidation);

#endif
