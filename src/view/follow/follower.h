/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_FOLLOWER_H
#define VIEW_FOLLOW_FOLLOWER_H

/* The thread that keeps names and attributes of the index equal to those of the sources.
 *
 *	kernel --watch--> events ---------------.
 *	walkers: recheck_inbox ----------------+--> recheck_plan --> ingest_recheck --> commits
 *	view: file differs from the index -----'                           |
 *	                                                                   '--> barrier_reached
 *
 * While a view is served, only this thread and ingest_recheck_file() change attributes, and only
 * this thread changes names. ingest_recheck_file() commits only if the record is still the one that
 * it read. So no commit replaces newer data by older data. A source without watches on all its
 * directories is walked at intervals. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/commit_delta.h"
#include "scan/indexing.h"
#include "view/follow/source_state.h"

struct currency;
struct fanotify_groups;
struct follower;
struct lanes;

struct follower_settings {
	struct indexing *indexing; /* borrowed, opened */
	enum follower_mode mode;
	/* Borrowed, from fanotify_groups_open() for this mode. follower_new() takes the groups. */
	struct fanotify_groups *groups;
	uint64_t interval_ms; /* between polls of sources that are not wholly watched */
	uint64_t rescan_ms; /* between walks of all sources; 0: never */
	struct lanes *lanes; /* borrowed; the comparers of changed files */
	/* Reports that all changes made before follower_barrier() returned this ticket are in the
	 * index. If an error prevented that, error is a positive errno, else 0. */
	void (*barrier_reached)(void *context, uint64_t ticket, int error);
	/* Reports the number of directories without a watch. problem: the positive errno that
	 * blocks progress, or 0. */
	void (*report)(void *context, uint64_t unwatched, int problem);
	void *context;
};

/* Creates the follower and sets indexing->hooks, so that the first walk adds watches. Must be
 * called before that walk. Copies settings. Returns 0 or -errno. */
MUST_CHECK int follower_new(struct follower **follower, const struct follower_settings *settings);

/* Rechecks all changes made during the first walk. Must be called after that walk and before
 * follower_start(). Returns 0 or -errno. */
MUST_CHECK int follower_catch_up(struct follower *follower);

/* Starts the thread. Returns 0 or -errno. */
MUST_CHECK int follower_start(struct follower *follower);

/* Ends the thread. The caller must call stop_request() first. Later requests are stored and not
 * processed. Accepts NULL. */
void follower_stop(struct follower *follower);

void follower_free(struct follower *follower); /* accepts NULL */

/* Returns how changes of most sources are detected: "inotify", "fanotify", "poll" or "none". A
 * string literal. The answer is final after follower_catch_up(). */
const char *follower_watch_name(const struct follower *follower);

/* Returns whether events have reported all changes of all sources until now, so that no walk has to
 * find any. */
bool follower_sees_all(const struct follower *follower);

/* Returns how current the index is. Valid as long as the follower. Any thread. */
const struct currency *follower_currency(const struct follower *follower);

/* Any thread may call the functions below. They never block for long. */

/* Returns a ticket for all changes made up to now. settings.barrier_reached reports when the ticket
 * is answered. */
uint64_t follower_barrier(struct follower *follower);

/* Requests another round for a ticket. Needed if comparers found files that differ from their index
 * entries: the round rechecks these files. */
void follower_barrier_again(struct follower *follower, uint64_t ticket);

/* Requests a walk of all sources. */
void follower_rescan(struct follower *follower);

/* Requests a recheck of a file that differs from its index entry. */
void follower_recheck_file(struct follower *follower, uint64_t file);

/* Notes a file that is possibly being written, although its times in the index are current. Its
 * content becomes unknown. */
void follower_note_writer(struct follower *follower, uint64_t file);

/* Must be called for each commit of the catalog. Removes watches on removed directories, and
 * requests rechecks of files that lost one of their names. */
void follower_note_commit(struct follower *follower, const struct commit_delta *delta);

#endif
