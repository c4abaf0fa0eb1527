/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_CONTROL_H
#define VIEW_TREE_CONTROL_H

/* Content of README.txt and of the files in .twinfs/, these from one snapshot of the catalog. Each
 * function appends to content and returns 0 or -errno. Any thread. */

#include "base/attributes.h"
#include "base/bytes.h"
#include "view/tree/query.h"

/* status.json: one object. */
MUST_CHECK int control_status(const struct view_query *query, struct bytes *content);

/* errors: a line with a JSON object for each file or directory that could not be read. */
MUST_CHECK int control_errors(const struct view_query *query, struct bytes *content);

/* pending: a line with a JSON object for each file that waits for comparison. */
MUST_CHECK int control_pending(const struct view_query *query, struct bytes *content);

/* metrics: Prometheus' text format, version 0.0.4. */
MUST_CHECK int control_metrics(const struct view_query *query, struct bytes *content);

/* sync: the number of the last commit in the snapshot. */
MUST_CHECK int control_sync(const struct view_query *query, struct bytes *content);

/* README.txt: what the folders of a view are, for a person. */
extern const char control_readme[];

#endif
