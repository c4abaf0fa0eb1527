/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_FOLLOWER_H
#define DAEMON_FOLLOWER_H

/* The thread that keeps names and attributes of the index equal to those of the sources.
 *
 *	kernel --watch--> events ---------------.
 *	walkers: recheck_inbox ----------------+--> recheck_plan --> ingest_recheck --> commits
 *	view: file differs from the index -----'                           |
 *	                                                                   '--> barrier_reached
 *
 * While a view is served only this thread changes names and attributes, so a commit never replaces
 * newer data by older. A source that cannot be watched, or only in part, is walked at intervals. */

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
	uint64_t interval_ms; /* between walks of polled sources */
	uint64_t rescan_ms; /* between walks of all sources, 0: never */
	/* Reports a file that was written to: its content is unknown. closed: by every known
	 * writer */
	void (*written)(void *context, uint64_t file, bool closed);
	/* Reports that all changes made before follower_barrier() returned this ticket are in the
	 * index. error: positive errno if they are not, else 0. */
	void (*barrier_reached)(void *context, uint64_t ticket, int error);
	/* Reports the number of directories without a watch, and the positive errno that blocks
	 * progress, or 0. */
	void (*report)(void *context, uint64_t unwatched, int problem);
	/* See ingest_hooks.has_new_rival. */
	bool (*has_new_rival)(void *context, uint64_t size);
	/* Reports that a comparison found a file that differs from its index entry. */
	void (*moved)(void *context);
	void *context;
};

/* Creates the follower and sets indexing->hooks, so that the first walk adds watches. Call it
 * before the first walk. Copies settings. Returns 0 or -errno. */
MUST_CHECK int follower_new(struct follower **follower, const struct follower_settings *settings);

/* Rechecks all changes made during the first walk. Call it after that walk, in the same thread.
 * Returns 0 or -errno. */
MUST_CHECK int follower_catch_up(struct follower *follower);

/* Starts the thread. Returns 0 or -errno. */
MUST_CHECK int follower_start(struct follower *follower);

/* Ends the thread, after stop_request(). Later requests are stored and not processed. Accepts
 * NULL. */
void follower_stop(struct follower *follower);

void follower_free(struct follower *follower); /* accepts NULL */

/* Returns how changes of most sources are detected: "inotify", "poll" or "none". A string
 * literal. */
const char *follower_watch_name(const struct follower *follower);

/* All functions below may be called from any thread and never block for long. */

/* Returns a ticket for all changes made up to now. settings.barrier_reached reports its end. */
uint64_t follower_barrier(struct follower *follower);

/* Requests another round for a ticket: files that were found to have moved are rechecked. */
void follower_barrier_again(struct follower *follower, uint64_t ticket);

/* Requests a walk of all sources. */
void follower_rescan(struct follower *follower);

/* Requests a recheck of a file that differs from its index entry. */
void follower_recheck_file(struct follower *follower, uint64_t file);

/* Notes a file that a program has open for writing on a file system with unreliable times. */
void follower_note_writer(struct follower *follower, uint64_t file);

/* Observes commits of the catalog: removes watches on removed directories, and requests rechecks of
 * files that lost one of their names. */
void follower_note_commit(struct follower *follower, const struct commit_delta *delta);

#endif
