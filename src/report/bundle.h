/* SPDX-License-Identifier: MIT */
#ifndef REPORT_BUNDLE_H
#define REPORT_BUNDLE_H

/* Bundles: folders that a program manages as one object, such as .git, a photo library, a mailbox
 * or a virtual environment. Removing a file in a bundle breaks the bundle. A folder is a bundle by
 * its name or by the names that it contains. These names are searched in the index and on the disk.
 * Options such as --exclude keep names out of the index, and folders above a source are not
 * indexed. One thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct catalog_reader;
struct sources;

/* Highest number of folders whose bundle is remembered. For any other folder the bundle is searched
 * again. */
#define BUNDLE_MEMOS 4096

struct bundle_memo {
	uint64_t dir; /* 0: unused */
	uint64_t bundle; /* 0: dir is in no bundle */
};

/* The bundles of folders in one snapshot. All zero is empty and valid. */
struct bundle_finder {
	struct bundle_memo *memos; /* array of BUNDLE_MEMOS, by dir modulo BUNDLE_MEMOS */
	struct bytes chain; /* ids of folders, from the current folder upwards */
};

void bundle_finder_free(struct bundle_finder *finder);

/* Finds the outermost bundle that contains the directory or is the directory itself. Sets *bundle
 * to the id of that bundle, or to 0 if there is none. If the source itself is a bundle or is in
 * one, *bundle is the id of the source's root. A directory that cannot be opened counts as a
 * bundle, unless it is missing or this process has no access. Each directory without a memo costs a
 * few lookups and system calls. Returns 0 or -errno. */
MUST_CHECK int bundle_find(struct bundle_finder *finder, struct catalog_reader *reader,
			   const struct sources *sources, uint64_t dir, uint64_t *bundle);

/* ---- copies that stay because they are in a bundle ------------------------------------------ */

/* Highest number of bundles whose copies are counted for each bundle. Copies in all further bundles
 * are counted together. */
#define BUNDLE_TALLY_MAX 64

struct bundle_count {
	uint64_t bundle;
	uint64_t copies;
	char *path; /* absolute */
};

/* All zero is empty. */
struct bundle_tally {
	struct bundle_count list[BUNDLE_TALLY_MAX];
	size_t count;
	uint64_t others; /* copies in further bundles */
};

void bundle_tally_free(struct bundle_tally *tally);
#define CLEANUP_BUNDLE_TALLY CLEANUP(bundle_tally_free)

/* Counts a copy in the bundle. Returns 0 or -errno. */
MUST_CHECK int bundle_tally_add(struct bundle_tally *tally, struct catalog_reader *reader,
				const struct sources *sources, uint64_t bundle);

#endif
