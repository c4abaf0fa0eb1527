/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_BUNDLE_H
#define CHOOSE_BUNDLE_H

/* Bundles: folders that a program manages as one object, such as .git, a photo library, a mailbox
 * or a virtual environment. Removing a file in a bundle breaks the bundle. A folder is a bundle by
 * its name or by the names that it contains. These names are searched in the index and on the disk.
 * Options such as --exclude keep names out of the index, and folders above a source are not
 * indexed.
 *
 * Stores (index/managed.h) are like bundles, but stricter: include_bundles does not include them.
 * One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct catalog_reader;
struct copies;
struct managed_kind;
struct report;
struct sources;

/* Highest number of folders whose bundle is remembered. For any other folder the bundle is searched
 * again. */
#define BUNDLE_MEMOS 4096

/* What contains a directory, or is the directory itself. */
struct bundle_place {
	uint64_t bundle; /* id of the outermost bundle; 0: none */
	uint64_t store; /* id of the outermost store; 0: none */
	const struct managed_kind *kind; /* of the store; NULL: none */
};

struct bundle_memo {
	uint64_t dir; /* 0: unused */
	struct bundle_place place;
};

/* The bundles of folders in one snapshot. All zero is empty and valid. */
struct bundle_finder {
	struct bundle_memo *memos; /* array of BUNDLE_MEMOS, by dir modulo BUNDLE_MEMOS */
	struct bytes chain; /* ids of folders, from the current folder upwards */
};

void bundle_finder_free(struct bundle_finder *finder);

/* Finds the outermost bundle and the outermost store that contain the directory or are the
 * directory itself. If the source itself is one or is in one, the id is that of the source's root.
 * Each directory without a memo costs a few lookups, and system calls if it can have names that the
 * index lacks. Returns 0 or -errno. */
MUST_CHECK int bundle_find(struct bundle_finder *finder, struct catalog_reader *reader,
			   const struct sources *sources, uint64_t dir, struct bundle_place *place);

/* Finds the places of all copies of a group of files or folders. Files of a set (index/managed.h)
 * have a kind, but no store.
 *
 * report	its rules->links: also sets copies->written_in_place
 * size		bytes of a file
 *
 * Opens files whose name or size shows that they can be in a set. Returns 0 or -errno. */
MUST_CHECK int bundle_find_copies(struct bundle_finder *finder, const struct report *report,
				  struct copies *copies, uint64_t size);

/* As bundle_find(), for a copy that has no dir. */
MUST_CHECK int bundle_find_name(struct bundle_finder *finder, const struct report *report,
				const struct copies *copies, size_t index,
				struct bundle_place *place);

#endif
