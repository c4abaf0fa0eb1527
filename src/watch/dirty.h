/* SPDX-License-Identifier: MIT */
#ifndef WATCH_DIRTY_H
#define WATCH_DIRTY_H

/* What has to be looked at again: names in directories, each once however many events it had.
 * Pure code, not shared between threads. A struct dirty that is all zero is empty and valid.
 *
 * Of the order of events nothing is said but DIRTY_CLOSED and DIRTY_LOST: whoever looks at a name
 * finds what is there now, and what happens after that brings another event.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Why a name is dirty, or-ed together. */
enum dirty_why {
	DIRTY_NAME = 1, /* it came or went */
	DIRTY_MOVED = 2, /* it came or went by a rename */
	DIRTY_CONTENT = 4, /* the file was or may have been written to */
	DIRTY_CLOSED = 8, /* by somebody who has closed it since; gone if it is written to again */
	DIRTY_ATTRIBUTES = 16,
	DIRTY_LISTING = 32, /* all names in the directory (an entry without a name) */
	DIRTY_DEEP = 64, /* everything below the directory (the same) */
	DIRTY_UNSEEN = 128, /* it came by a rename from where no directory is watched */
	DIRTY_CAME = 256, /* it came by a rename from where one is */
	DIRTY_CREATED = 512, /* it is new: also a hard link is */
	DIRTY_REMOVED = 1024,
	/* It came, and was removed or replaced since. Who looks at it now may never see what it
	 * was. */
	DIRTY_LOST = 2048,
	DIRTY_NEW_DIR = 4096, /* a directory came that nobody watched before */
};

/* It came, in any way. */
#define DIRTY_ARRIVED (DIRTY_UNSEEN | DIRTY_CAME | DIRTY_CREATED)

/* A name in a directory; without one (length 0): the directory itself. */
struct dirty_name {
	uint32_t why;
	uint32_t length;
	uint64_t dir; /* as given to watch_add */
	char name[]; /* with a NUL behind */
};

struct dirty {
	struct dirty_entry *table; /* uthash */
	size_t count;
	size_t bytes; /* of memory, about */
	uint64_t overflowed; /* bit n: queue n lost events, everything in it is dirty */
	bool strayed; /* something came or was written to in a directory that is not known any more */
	bool left; /* something went by a rename to where its queue watches nothing */
};

/* Adds to what is known of a name; name NULL, length 0: the directory. DIRTY_CONTENT without
 * DIRTY_CLOSED takes back a DIRTY_CLOSED of before: somebody is writing again. 0 or -ENOMEM. */
MUST_CHECK int dirty_note(struct dirty *dirty, uint64_t dir, const char *name, uint32_t length,
			  uint32_t why);

/* Moves everything of later, which happened after what is in dirty, into dirty; later is empty
 * then. 0 or -ENOMEM: a part was moved, one name was lost, the rest is still in later. */
MUST_CHECK int dirty_merge(struct dirty *dirty, struct dirty *later);

/* Adds DIRTY_LOST to names that came in both: what came earlier was replaced. */
void dirty_note_lost(struct dirty *dirty, const struct dirty *earlier);

/* Gives all entries, sorted by directory, then the directory itself, then by name; *list is the
 * caller's array of *count pointers, freed with free(3); they are borrowed until dirty_reset.
 * 0 or -ENOMEM. */
MUST_CHECK int dirty_list(const struct dirty *dirty, const struct dirty_name ***list,
			  size_t *count);

/* Forgets everything. */
void dirty_reset(struct dirty *dirty);

#endif
