/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RENAME_TRUST_H
#define DAEMON_RENAME_TRUST_H

/* A file that changes its name keeps its content, but its ctime moves: that nothing else happened
 * to it is believed because no event told of a write. Events name what was written to, and a name
 * means another file a moment later: a file that was written to under a name which it had only
 * between two looks, or which was never seen at all, keeps nothing but the ctime to tell of it.
 *
 * So there is doubt from the moment in which such a write is possible until nothing is heard any
 * more and every name was looked at; meanwhile no file that changed its name is believed to be what
 * it was. One thread. */

#include <stdbool.h>

#include "base/attributes.h"
#include "watch/dirty.h"

/* All zero at first. */
struct doubt {
	bool is;
	bool lost; /* events, or where they belong: any file may have been written to */
	struct dirty earlier; /* what was looked at before */
};

/* How sure is what is dirty now? Adds DIRTY_LOST to names that came, and came before.
 *
 * purged	nothing is known any more of files that went to where nobody looked */
void doubt_weigh(struct doubt *doubt, struct dirty *dirty, bool purged);

/* It was looked at: takes all of dirty, until doubt_weigh. */
void doubt_keep(struct doubt *doubt, struct dirty *dirty);

void doubt_free(struct doubt *doubt);

#endif
