/* SPDX-License-Identifier: MIT */
#ifndef VIEW_CONTROL_H
#define VIEW_CONTROL_H

/* What the files in .twinfs/ say, in one snapshot of the catalog. Each appends to content; 0 or
 * -errno. Any thread. */

#include "base/attributes.h"
#include "base/bytes.h"
#include "view/query.h"

/* status.json: one object. */
MUST_CHECK int control_status(const struct view_query *query, struct bytes *content);

/* errors: a JSON object per line for everything that could not be read. */
MUST_CHECK int control_errors(const struct view_query *query, struct bytes *content);

/* pending: a JSON object per line for each file that waits to be compared. */
MUST_CHECK int control_pending(const struct view_query *query, struct bytes *content);

/* metrics: Prometheus' text format, version 0.0.4. */
MUST_CHECK int control_metrics(const struct view_query *query, struct bytes *content);

/* sync: the number of the last commit in the view. */
MUST_CHECK int control_sync(const struct view_query *query, struct bytes *content);

/* What the state is called; all of them, up to NULL, are control_state_names. */
const char *control_state_name(enum view_state state);
extern const char *const control_state_names[];

#endif
