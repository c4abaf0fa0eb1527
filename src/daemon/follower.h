/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_FOLLOWER_H
#define DAEMON_FOLLOWER_H

/* The thread that keeps the names and attributes of the index those of the sources.
 *
 *	kernel --watch--> struct event_set --.
 *	walkers: look again -------------+--> looks --> ingest_recheck --> commits
 *	mount: not as the index has it --'
 *
 * It alone changes names and attributes while a view is served, so what it commits is never older
 * than what is there. A source that cannot be watched, or not wholly, is walked at
 * intervals. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/commit_delta.h"
#include "daemon/source_state.h"
#include "index/indexing.h"

struct follower;

struct follower_settings {
	struct indexing *indexing; /* borrowed, opened */
	enum follower_mode mode;
	uint64_t interval_ms; /* between walks of what is polled */
	uint64_t rescan_ms; /* between walks of everything, 0: never */
	/* These files were written to; their content is not known any more. */
	void (*written)(void *context, uint64_t file, bool closed);
	/* Everything that happened before follower_barrier gave this ticket is in the index; error:
	 * or positive errno. */
	void (*barrier_reached)(void *context, uint64_t ticket, int error);
	/* How many directories got no watch, and what keeps it from going on: positive errno, 0. */
	void (*report)(void *context, uint64_t unwatched, int problem);
	/* For ingest_hooks.unsure, and what it tells of files that are not as they should be. */
	bool (*has_new_rival)(void *context, uint64_t size);
	void (*moved)(void *context);
	void *context;
};

/* Before the first walk: has walks of indexing->ingest watched. settings are copied. 0 or
 * -errno. */
MUST_CHECK int follower_new(struct follower **follower, const struct follower_settings *settings);

/* After the first walk, in the same thread: looks again at what changed meanwhile, until the index
 * has every name. 0 or -errno. */
MUST_CHECK int follower_catch_up(struct follower *follower);

/* Starts the thread. 0 or -errno. */
MUST_CHECK int follower_start(struct follower *follower);

/* Ends the thread, after stop_request(); what is told afterwards is noted and left. Accepts
 * NULL. */
void follower_stop(struct follower *follower);

void follower_free(struct follower *follower); /* accepts NULL */

/* "inotify", "poll", "none": what sees the changes of most sources. Lives for ever. */
const char *follower_watch_name(const struct follower *follower);

/* All below: any thread, never block for long. */

/* A ticket for everything that has happened up to now; settings.barrier_reached tells when it is done. */
uint64_t follower_barrier(struct follower *follower);

/* The same again for a ticket that was given: what was found to have moved is looked at. */
void follower_barrier_again(struct follower *follower, uint64_t ticket);

/* All sources are walked soon. */
void follower_rescan(struct follower *follower);

/* The file is not as the index has it. */
void follower_recheck_file(struct follower *follower, uint64_t file);

/* A program has the file open for writing where no time tells of each write. */
void follower_note_writer(struct follower *follower, uint64_t file);

/* For the observer of the catalog: ends watches on directories that are gone, and looks again at
 * files that lost one of their names. */
void follower_note_commit(struct follower *follower, const struct commit_delta *delta);

#endif
