/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_RECHECK_INBOX_H
#define DAEMON_RECHECK_INBOX_H

/* What others than the kernel say has to be looked at, until the follower takes it. Any thread. */

#include <pthread.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "ingest/ingest.h"
#include "watch/dirty.h"

/* All zero but the lock at first. */
struct recheck_inbox {
	pthread_mutex_t lock;
	struct dirty notes;
	struct bytes lost; /* ids of directories that were not where the index has them */
	struct bytes bereft; /* ids of files that lost a name */
	struct bytes suspects; /* ids of files that are not as the index has them */
	struct bytes written; /* ids of files that a program has open for writing */
	bool rescan; /* everything, also where memory ran out for less */
};

void recheck_inbox_init(struct recheck_inbox *inbox);
void recheck_inbox_deinit(struct recheck_inbox *inbox);

/* This is to be looked at. lost: it could not be, as it was not where the index has it. */
void recheck_inbox_look(struct recheck_inbox *inbox, const struct ingest_look *look, bool lost);

/* A name of this file went, and nothing else happened to it as far as is known. */
void recheck_inbox_bereft(struct recheck_inbox *inbox, uint64_t file);

/* This file is not, or may be not, what the index has; what happened to it nobody knows. */
void recheck_inbox_suspect(struct recheck_inbox *inbox, uint64_t file);

/* A program has this file open for writing, and may have changed it without an event. */
void recheck_inbox_written(struct recheck_inbox *inbox, uint64_t file);

void recheck_inbox_rescan(struct recheck_inbox *inbox);

/* Is there anything? */
bool recheck_inbox_has(struct recheck_inbox *inbox);

/* Adds it to dirty, as names, and forgets it; *rescan: everything is dirty. What the index does not
 * have any more is left out. 0 or -errno: then a part of it is lost. */
MUST_CHECK int recheck_inbox_take(struct recheck_inbox *inbox, struct catalog *catalog,
				  struct dirty *dirty, bool *rescan);

#endif
