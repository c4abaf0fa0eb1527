/* SPDX-License-Identifier: MIT */
#ifndef SCAN_SHARED_CONTENTS_H
#define SCAN_SHARED_CONTENTS_H

/* Contents that other indexes of the user know. A new index takes them for files that are unchanged
 * since, so that a scan of A and B, or of a folder in A, reads no file that a scan of A has read.
 * Its walk reads the other files, as if there were no other index (scan/lenders.h).
 *
 * An index is trusted only if the user owns it, no other user can write to it, and it was closed
 * cleanly or belongs to a running process. A file is unchanged by the rules of a rescan: same file
 * system and signature, no file system that hides stores, and no bytes that a stop of the machine
 * possibly lost. Files are in one group only if one other index has them in one group: two files of
 * which different indexes know the same size and first bytes are compared. For the main thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "scan/lenders.h"

struct catalog;
struct sources;

/* Records the paths of the sources in the folder of an index, so that later new indexes find it. */
void shared_contents_offer(struct catalog *catalog, char *const *paths);

/* Opens the indexes in the default folder that have a source inside of the given ones, or the
 * reverse. Must be called before the process starts threads.
 *
 * folder	of the new index, which is left out
 * paths	absolute, NULL-terminated
 *
 * Returns 0 or -ENOMEM; other failures leave an index out. */
MUST_CHECK int shared_contents_open(struct lenders *shared, const char *folder, char *const *paths);

/* Takes known contents for the unread files of a new index, after its first walk and before
 * contents are compared. Blocks for about a second for a million files. If stop_requested(),
 * returns early.
 *
 * min_size	smaller files are left out; bytes
 *
 * Returns 0 or -errno. */
MUST_CHECK int shared_contents_take(const struct lenders *shared, const struct sources *sources,
				    uint64_t min_size);

/* Closes and frees. Accepts a zeroed struct. */
void shared_contents_close(struct lenders *shared);

#endif
