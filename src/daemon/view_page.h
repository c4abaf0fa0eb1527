/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_VIEW_PAGE_H
#define DAEMON_VIEW_PAGE_H

/* The report page of a view, report.html. Any thread. */

#include "base/attributes.h"
#include "base/bytes.h"

struct cancellation;
struct keep_rules;
struct view;

/* Appends the page, in snapshots of its own. All pointers are borrowed. view_root is the path of
 * the view's root from the folder of the page. Returns 0 or -errno; -EINTR if stop_requested() or
 * interrupted. */
MUST_CHECK int view_page_make(struct view *view, const struct keep_rules *keep,
			      const char *view_root, struct bytes *page,
			      const struct cancellation *cancellation);

#endif
