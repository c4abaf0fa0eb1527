/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SOURCE_PATH_H
#define VIEW_SOURCE_PATH_H

/* Paths of nodes in their source. Any thread. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "view/query.h"

/* Appends the absolute path of a directory of a source, or of a file by its first name. Returns 0,
 * -ENOENT if the node no longer exists, or another -errno. */
MUST_CHECK int source_path_of(const struct view_query *query, uint64_t node, struct bytes *path);

/* Like source_path_of, for the caller of a query, who can reach the node. Of a file with several
 * names, appends the preferred one by which the caller finds it (view/access.h). Returns -ENODATA
 * if there is no such name. */
MUST_CHECK int source_path_for(const struct view_query *query, uint64_t node, struct bytes *path);

#endif
