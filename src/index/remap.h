/* SPDX-License-Identifier: MIT */
#ifndef INDEX_REMAP_H
#define INDEX_REMAP_H

/* The figures of reclaimable bytes after files share other extents than before. For the main
 * thread. */

#include "base/attributes.h"

struct current_index;

/* Notes in the index, unless another process maintains it, that the extents of all groups have to
 * be mapped again. Called before files share other extents, as the process can be killed meanwhile.
 * Returns 0 or -errno, logged. */
MUST_CHECK int index_remap_begin(const struct current_index *index);

/* After index_remap_begin(), maps the extents of all groups of the index again, and has the daemons
 * of views with these sources do the same in their indexes. A view that does not answer keeps its
 * figures. Returns 0, also after stop_requested(), or -errno, logged. */
MUST_CHECK int index_remap(struct current_index *index);

#endif
