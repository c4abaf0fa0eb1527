/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_RECHECK_INBOX_H
#define VIEW_FOLLOW_RECHECK_INBOX_H

/* Queue of rechecks that other threads request from the follower. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"
#include "scan/ingest.h"
#include "view/follow/event_set.h"

/* recheck_inbox_init() sets all fields but the lock to zero. */
struct recheck_inbox {
	pthread_mutex_t lock; /* guards all fields below */
	struct event_set names;
	struct bytes files; /* array of struct file_request */
	struct bytes dirs; /* ids of directories that are not at the path in the index */
	bool rescan; /* all sources must be rescanned; set by request, or if memory ran out */
};

void recheck_inbox_init(struct recheck_inbox *inbox);
void recheck_inbox_deinit(struct recheck_inbox *inbox);

/* Requests a recheck.
 *
 * misplaced	the directory was not at the path in the index, so its own name is rechecked */
void recheck_inbox_add(struct recheck_inbox *inbox, const struct recheck *recheck, bool misplaced);

/* Requests a recheck of a name of the file.
 *
 * events	EVENT_NAME: the file lost a name
 *		EVENT_ATTRIBUTES: the file possibly differs from the index
 *		EVENT_WRITTEN: a program has the file open for writing on a file system with
 *		unreliable times */
void recheck_inbox_add_file(struct recheck_inbox *inbox, uint64_t file, enum name_event events);

/* Requests a rescan of every source. */
void recheck_inbox_add_rescan(struct recheck_inbox *inbox);

bool recheck_inbox_has_requests(struct recheck_inbox *inbox);

/* Moves all requests into events, as names. Leaves out files and directories that are not in the
 * index.
 *
 * rescan	receives whether all sources have to be rescanned
 *
 * Returns 0, or -errno: then a part of the requests is lost. */
MUST_CHECK int recheck_inbox_take(struct recheck_inbox *inbox, struct catalog *catalog,
				  struct event_set *events, bool *rescan);

#endif
