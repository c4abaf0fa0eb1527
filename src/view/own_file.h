/* SPDX-License-Identifier: MIT */
#ifndef VIEW_OWN_FILE_H
#define VIEW_OWN_FILE_H

/* What the files in .twinfs/ say, in one snapshot of the catalog. Each appends to content; 0 or
 * -errno. Any thread. */

#include "base/attributes.h"
#include "base/bytes.h"
#include "view/query.h"

/* status.json: one object. */
MUST_CHECK int own_file_status(const struct view_query *query, struct bytes *content);

/* errors: a JSON object per line for everything that could not be read. */
MUST_CHECK int own_file_errors(const struct view_query *query, struct bytes *content);

#endif
