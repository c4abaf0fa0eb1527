/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_DUE_H
#define VIEW_FOLLOW_DUE_H

/* Files that are due for a comparison, by size. They are compared in parts, and those of rare sizes
 * first: so a lone file does not wait until very many others are compared. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "scan/ingest.h"
#include "view/follow/backoff.h"

/* A size is rare if at most this many due files have it, or half as many as an average size: else a
 * size that was rare would have to wait for all others once it is late. */
#define DUE_RARE_FILES 16

/* All zero at first. */
struct due {
	struct due_size *sizes; /* uthash, in the order in which they were added */
	size_t files; /* of all sizes */
};

/* Adds files from backoff_take(). Files that have no name or are not in the range have no size.
 * Returns 0 or -errno: then some were possibly added. */
MUST_CHECK int due_add(struct due *due, struct catalog *catalog, struct ingest_range range,
		       const struct due_files *files);

/* Makes all files wait again where they were taken from, and in changed those that wait nowhere.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int due_return(const struct due *due, struct backoff *changed, struct backoff *failing,
			  uint64_t now_ns);

void due_free(struct due *due);

/* ---- parts --------------------------------------------------------------------------- */

/* The files of one comparison. All zero at first. */
struct due_part {
	struct due_files files;
	uint64_t *sizes; /* ascending, each once */
	size_t size_count;
};

enum due_choice {
	DUE_RARE, /* rare sizes */
	DUE_SOME, /* the sizes that were added first */
	DUE_ALL, /* all sizes */
};

/* Chooses sizes, and all of their files, and all files without a size. They stay in due until
 * due_remove(). Unless DUE_ALL is chosen, the part ends with the size with which it has this many
 * files that have a size. Returns 0 or -ENOMEM. */
MUST_CHECK int due_choose(const struct due *due, enum due_choice choice, size_t files,
			  struct due_part *part);

/* Removes what due_choose() chose. No file may have been added meanwhile. */
void due_remove(struct due *due, const struct due_part *part);

/* After a comparison: makes the unread files wait again, and ends the wait of the others of the
 * part. Files that wait already stay as they are: they changed during the comparison, or became due
 * meanwhile, so that it possibly left them out.
 *
 * unread	ids of the files of these sizes that belong to this backoff
 * again	backoff_busy() or backoff_failed()
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int due_finish(const struct due_part *part, struct backoff *backoff,
			  const struct bytes *unread,
			  int (*again)(struct backoff *, uint64_t file, uint64_t now_ns),
			  uint64_t now_ns);

void due_part_free(struct due_part *part);

#endif
