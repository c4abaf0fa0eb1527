/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_DUE_H
#define VIEW_FOLLOW_DUE_H

/* Files that are due for a comparison, and their sizes. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "scan/ingest.h"
#include "view/follow/backoff.h"

/* A size is rare if at most this many due files have it. */
#define DUE_RARE_FILES 16

/* All zero at first. */
struct due {
	struct due_files files;
	uint64_t *sizes; /* ascending, each once */
	size_t size_count;
};

/* Finds the sizes of the files. Those that have no name or are not in the range have none.
 *
 * rare		If it is set, and some files have rare sizes and many others do not, the others are
 *		removed from due->files: thus a lone file need not wait until they are compared.
 *		Otherwise it is cleared.
 *
 * Returns 0 or -errno. */
MUST_CHECK int due_find_sizes(struct due *due, struct catalog *catalog, struct ingest_range range,
			      bool *rare);

/* Times of a comparison, as of backoff.h. */
struct due_times {
	uint64_t
		from_ns; /* it included the files that were due then; UINT64_MAX: all that waited */
	uint64_t now_ns; /* it ended */
};

/* After a comparison: makes the pending files wait again, and ends the wait of the other due files.
 * A file that changed during the comparison waits already, and one that became due meanwhile was
 * possibly left out: the due time of both stays.
 *
 * pending	ascending ids of the unread files of these sizes
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int due_finish(const struct due *due, struct backoff *backoff,
			  const struct bytes *pending, struct due_times times);

void due_free(struct due *due);

#endif
