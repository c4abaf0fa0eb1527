/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_SHARED_EXTENTS_H
#define PARTIAL_SHARED_EXTENTS_H

/* Which blocks of a run are shared already, by FIEMAP (Documentation/filesystems/fiemap.rst in
 * Linux). One thread at a time for each struct open_files. */

#include "base/attributes.h"

struct block_run;
struct open_files;
struct partial;
struct run_list;

/* Appends the parts of a run that have to be shared: the blocks for which both places have not the
 * same extents. If the extents of a file are unknown, appends the whole run. Writes recent bytes of
 * both files back first, as they have no extents yet. Returns 0, -ESTALE if a file changed, or
 * another -errno. */
MUST_CHECK int shared_extents_split(struct open_files *files, const struct block_run *run,
				    struct run_list *parts);

#endif
