/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RECHECK_INBOX_H
#define DAEMON_RECHECK_INBOX_H

/* Rechecks that other threads request, until the follower takes them. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "ingest/ingest.h"
#include "watch/event_set.h"

/* All zero but the lock at first. */
struct recheck_inbox {
	pthread_mutex_t lock;
	struct event_set names;
	struct bytes files; /* of struct file_request */
	struct bytes dirs; /* ids of directories that are not at the place that the index has */
	bool rescan; /* everything, also if memory ran out for less */
};

void recheck_inbox_init(struct recheck_inbox *inbox);
void recheck_inbox_deinit(struct recheck_inbox *inbox);

/* Requests the recheck again.
 *
 * misplaced	the directory was not where the index has it: its name is rechecked, too */
void recheck_inbox_add(struct recheck_inbox *inbox, const struct recheck *recheck, bool misplaced);

/* Requests a recheck of a name of the file.
 *
 * events	EVENT_NAME: it lost a name; EVENT_ATTRIBUTES: it may not be what the index has;
 *		EVENT_WRITTEN: a program has it open for writing where no event shows each write */
void recheck_inbox_add_file(struct recheck_inbox *inbox, uint64_t file, enum name_event events);

/* Requests a rescan of every source. */
void recheck_inbox_add_rescan(struct recheck_inbox *inbox);

bool recheck_inbox_has_requests(struct recheck_inbox *inbox);

/* Moves all requests into events, as names. Leaves out what the index does not have any more.
 *
 * rescan	receives whether everything has to be rechecked
 *
 * Returns 0, or -errno: then a part of the requests is lost. */
MUST_CHECK int recheck_inbox_take(struct recheck_inbox *inbox, struct catalog *catalog,
				  struct event_set *events, bool *rescan);

#endif
