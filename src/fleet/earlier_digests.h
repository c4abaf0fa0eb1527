/* SPDX-License-Identifier: MIT */
#ifndef FLEET_EARLIER_DIGESTS_H
#define FLEET_EARLIER_DIGESTS_H

/* The digests that the last `twinfs digest` wrote into its output folder. They save reading if the
 * index could not take them, because a view held it.
 *
 * A row has the file_digest() of its file (member "state"), which includes the ctime. So the digest
 * is current exactly as long as one in the index would be. Equal size and mtime would not prove
 * that, as programs set the mtime. Ids and states are those of one index, so rows of another index
 * are not used. For one thread; lookups for any thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/digests.h"

struct set_folder;

struct earlier_digest {
	uint64_t file;
	struct digest_record digest;
};

struct earlier_digests {
	struct earlier_digest *list; /* by file */
	size_t count, capacity;
};

/* Reads all rows of the present set in a folder. A set of another index, or none at all, has no
 * rows. A damaged one, too, which is logged.
 *
 * folder	of digests; from set_folder_init()
 * index	catalog_identity()
 *
 * Returns 0, -EINTR if stop_requested(), or -ENOMEM. The caller must call earlier_digests_free() in
 * all cases. */
MUST_CHECK int earlier_digests_load(struct earlier_digests *earlier,
				    const struct set_folder *folder, uint64_t index);
void earlier_digests_free(struct earlier_digests *earlier);
#define CLEANUP_EARLIER_DIGESTS CLEANUP(earlier_digests_free)

/* Returns the digest of a file in this state, or NULL. */
const uint8_t *earlier_digests_find(const struct earlier_digests *earlier, uint64_t file,
				    uint64_t state);

#endif
