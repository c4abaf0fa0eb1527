/* SPDX-License-Identifier: MIT */
#ifndef REPORT_BUNDLE_H
#define REPORT_BUNDLE_H

/* Bundles: folders that a program takes for one thing and that break when a file in them goes, such
 * as .git, a photo library, a mailbox or a virtual environment. They are recognized by their names and
 * by names in them. These are looked for on the disk too: options such as --exclude leave names out of
 * the index, and a source does not have those above it. One thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct catalog_reader;
struct sources;

/* Folders whose answer is remembered; others are looked up again. */
#define BUNDLE_MEMOS 4096

struct bundle_memo {
	uint64_t dir; /* 0: none */
	uint64_t bundle; /* 0: it is in none */
};

/* Answers of one snapshot. All zero is empty. */
struct bundle_finder {
	struct bundle_memo *memos; /* BUNDLE_MEMOS of them */
	struct bytes chain; /* ids of folders from the one asked about upwards */
};

void bundle_finder_free(struct bundle_finder *finder);

/* Finds the outermost bundle that the directory is or lies in: *bundle is the id of that directory,
 * of the root where the source itself is or lies in a bundle, 0 where there is none. A directory of which
 * the disk does not tell what is in it counts as a bundle, unless it is absent or closed to the caller.
 * Costs a few lookups and system calls for each directory that is not remembered. 0 or -errno. */
MUST_CHECK int bundle_find(struct bundle_finder *finder, struct catalog_reader *reader,
			   const struct sources *sources, uint64_t dir, uint64_t *bundle);

/* ---- how many copies stay for which bundle ------------------------------------------------- */

/* Bundles that are named. Copies in further ones are counted together. */
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
	uint64_t others; /* copies */
};

void bundle_tally_free(struct bundle_tally *tally);
#define CLEANUP_BUNDLE_TALLY CLEANUP(bundle_tally_free)

/* Counts a copy. 0 or -errno. */
MUST_CHECK int bundle_tally_add(struct bundle_tally *tally, struct catalog_reader *reader,
				const struct sources *sources, uint64_t bundle);

#endif
