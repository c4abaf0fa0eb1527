/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SOURCE_PATH_H
#define VIEW_SOURCE_PATH_H

/* Where a node is in its source. Any thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "view/query.h"

/* Appends the absolute path of a directory or file of a source, of a file under its first name.
 * -ENOENT when it is gone. */
MUST_CHECK int source_path_of(const struct view_query *query, uint64_t node, struct bytes *path);

/* The same for the caller of a query, who may reach the node: of a file with several names, the
 * first one by which he finds it (view/access.h). -ENODATA: he may not know any of them. */
MUST_CHECK int source_path_for(const struct view_query *query, uint64_t node, struct bytes *path);

#endif
