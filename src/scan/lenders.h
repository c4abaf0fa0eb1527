/* SPDX-License-Identifier: MIT */
#ifndef SCAN_LENDERS_H
#define SCAN_LENDERS_H

/* Other indexes that lend what they know of unchanged files to a new index: see
 * scan/shared_contents.h, which chooses them and takes their contents after the walk. The walk
 * reads no file whose content is lent. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/catalog.h"
#include "index/record.h"

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

#endif
