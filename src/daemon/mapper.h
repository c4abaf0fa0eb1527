/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_MAPPER_H
#define DAEMON_MAPPER_H

/* The thread that maps the extents of groups whose members changed (sharing/mapping.h), so that the
 * view shows how many bytes their redundant copies would free.
 *
 *	commits ----mapper_note_commit--> mapping_run --> commits
 *	comparers --mapper_barrier-----'      |
 *	                                      '--> barrier_reached
 */

#include <stdint.h>

#include "base/attributes.h"
#include "index/indexing.h"

struct commit_delta;
struct mapper;

struct mapper_settings {
	struct indexing *indexing; /* borrowed */
	/* Reports that the groups noted before this ticket are mapped, except those whose files are
	 * not on the disk yet. Runs in the mapper thread. error: 0, or a positive errno. */
	void (*barrier_reached)(void *context, uint64_t ticket, int error);
	/* Reports the end of the run that mapper_begin() requested: 0 or -errno. */
	void (*mapped)(void *context, int result);
	void *context;
};

/* Copies settings. Returns 0 or -ENOMEM. */
MUST_CHECK int mapper_new(struct mapper **mapper, const struct mapper_settings *settings);

/* Starts the thread. Returns 0 or -errno. */
MUST_CHECK int mapper_start(struct mapper *mapper);

/* Ends the thread. The caller must call stop_request() first. Accepts NULL. */
void mapper_stop(struct mapper *mapper);

void mapper_free(struct mapper *mapper); /* accepts NULL */

/* Notes the groups that a commit left to be mapped. Any thread. */
void mapper_note_commit(struct mapper *mapper, const struct commit_delta *delta);

/* Requests a run, and settings.mapped at its end. Any thread. */
void mapper_begin(struct mapper *mapper);

/* Notes that any file possibly shares other extents than before. Any thread. */
void mapper_remap(struct mapper *mapper);

/* Requests that all noted groups are mapped. settings.barrier_reached reports their end. Any
 * thread. */
void mapper_barrier(struct mapper *mapper, uint64_t ticket);

#endif
