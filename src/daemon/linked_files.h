/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_LINKED_FILES_H
#define DAEMON_LINKED_FILES_H

/* Files that were changed by a hard link outside of the sources. One thread. */

#include "base/attributes.h"
#include "daemon/recheck_inbox.h"
#include "source/source.h"
#include "watch/event_set.h"

/* Requests a recheck of each file of inodes that the index has.
 *
 * inodes	from watch_take_inodes(); the number of a queue is that of a source
 *
 * Returns 0 or -errno. */
MUST_CHECK int linked_files_note(const struct sources *sources, const struct event_set *inodes,
				 struct recheck_inbox *inbox);

#endif
