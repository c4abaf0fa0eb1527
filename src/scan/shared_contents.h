/* SPDX-License-Identifier: MIT */
#ifndef SCAN_SHARED_CONTENTS_H
#define SCAN_SHARED_CONTENTS_H

/* Contents that other indexes of the user know. A new index takes them for files that are unchanged
 * since, so that a scan of A and B, or of a folder in A, reads no file that a scan of A has read.
 * Its walk reads the other files, as if there were no other index.
 *
 * An index is trusted only if the user owns it, no other user can write to it, and it was closed
 * cleanly or belongs to a running process. A file is unchanged by the rules of a rescan: same file
 * system and signature, no file system that hides stores, and no bytes that a stop of the machine
 * possibly lost. Files are in one group only if one other index has them in one group: two files of
 * which different indexes know the same size and first bytes are compared. For the main thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/catalog.h"
#include "index/record.h"

struct sources;

/* ---- lenders -------------------------------------------------------------------------------- */

/* Other indexes that lend what they know of unchanged files to a new index. The walk reads no file
 * whose content is lent. */

struct lender {
	struct catalog *catalog; /* open read-only */
	int64_t lost_since; /* catalog_lost_since() */
	_Atomic bool lends; /* the walk found a file whose content it has */
};

struct lenders {
	struct lender *list;
	size_t count, capacity;
};

/* Returns whether contents of files on the file system of fd are lent at all. They are not if bytes
 * can change without a new time: a rescan trusts no content there. Also not if the number of an
 * inode possibly is that of another file after the next mount, as on FUSE, or if files have no
 * birth times: a file is looked up by its number alone. Any thread. */
bool lenders_may_lend(int fd);

/* Returns whether the lender has the file with the same signature, and gets its content.
 *
 * snapshot	of the lender
 * filesystem	catalog_filesystem_in() for the file system of the file */
bool lender_get(const struct lender *lender, struct catalog_reader *snapshot, uint32_t filesystem,
		const struct attributes *attributes, struct content_record *content);

/* ---- choosing and taking -------------------------------------------------------------------- */

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
