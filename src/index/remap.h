/* SPDX-License-Identifier: MIT */
#ifndef INDEX_REMAP_H
#define INDEX_REMAP_H

/* The figures of reclaimable bytes after files share other extents than before. For the main
 * thread. */

#include "base/attributes.h"

struct current_index;

/* Notes that all groups of the index have to be mapped again. To be called before files begin to
 * share other extents: if the program is killed then, the next scan maps them. Does nothing if a
 * view maintains the index. Returns 0 or -errno, logged. */
MUST_CHECK int index_expect_remap(struct current_index *index);

/* Maps the extents of all groups of the index again, and has the daemons of views with these
 * sources do the same in their indexes. A view that does not answer keeps its figures. Returns 0,
 * also after stop_requested(), or -errno, logged. */
MUST_CHECK int index_remap(struct current_index *index);

#endif
