/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_BLOCK_HASHES_H
#define PARTIAL_BLOCK_HASHES_H

/* Fills the table with the hashes of all selected files. For the main thread, which starts further
 * threads.
 *
 *	main thread: selects files of the index, in a snapshot
 *	   v
 *	reading threads (one if the disk rotates): open a file, take its hashes from the index if
 *	   the file is unchanged, otherwise read it; to the table, and to the index (block_store.h)
 *
 * Files have numbers in the order of the disk if it seeks. Files that this user cannot change have
 * the lowest numbers. So they are sources of runs, for
 * which a right to read is enough.
 */

#include "base/attributes.h"

struct partial;

/* Returns 0, -EINTR if stop_requested(), or another -errno. Files that cannot be read, or that
 * change meanwhile, are logged and counted. */
MUST_CHECK int block_hashes_read(struct partial *partial);

#endif
