/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_VIEW_PAGE_H
#define DAEMON_VIEW_PAGE_H

/* The report page of a view, .twinfs/report.html. Any thread. */

#include "base/attributes.h"
#include "base/bytes.h"

struct cancellation;
struct keep_rules;
struct view;

/* Appends the page, in snapshots of its own. All pointers are borrowed. Returns 0 or -errno;
 * -EINTR if stop_requested() or interrupted. */
MUST_CHECK int view_page_make(struct view *view, const struct keep_rules *keep, struct bytes *page,
			      const struct cancellation *cancellation);

#endif
