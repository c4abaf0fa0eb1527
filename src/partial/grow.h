/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_GROW_H
#define PARTIAL_GROW_H

/* Extends a run into the blocks beside it, of which a part can be equal, too. Any thread. */

struct block_run;
struct block_table;
struct dedupe_range;

/* Extends the range of a run in both directions, in steps of the block size of the file system, as
 * long as the bytes of both files are equal. Ends at the first step that differs or cannot be read.
 * Enters only blocks that equal no other block, so no source of another run changes its place.
 * Usually reads one step of each file at each end. */
void run_grow(const struct block_table *table, const struct block_run *run,
	      struct dedupe_range *range);

#endif
