/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_BACKING_H
#define VIEW_FUSE_BACKING_H

/* Passthrough: files that the kernel reads from a backing file, without requests to this program.
 * Stores the backing id of each open node. Any thread.
 *
 * The kernel requires that all opens of a node use the same backing id, or none; other opens fail
 * with EIO. So the first open of a node decides for all later opens while the node is open.
 *
 * Reads by the kernel are not checked, and an open backing file cannot be revoked. If a source file
 * is written to while the view has it open, programs read new bytes as the old version. Therefore
 * passthrough is used for files that can never be written (sealed). For other files it is used only
 * if the user asks for it, and never if writers leave no trace (view_file.times_unreliable). */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/fuse/fuse.h"
#include "view/tree/view.h"

enum backing_choice {
	BACKING_NONE, /* the kernel or missing permissions prevent passthrough */
	BACKING_SEALED, /* files that can never be written */
	BACKING_ALL, /* all files with reliable times, and sealed files */
};

struct backings {
	pthread_mutex_t lock; /* protects all fields below */
	enum backing_choice choice; /* set before files are opened */
	struct backing *table; /* uthash, by node; empty for BACKING_NONE */
	size_t idle; /* entries without users whose backing id is still open */
	/* the kernel refused a backing file; no further attempts, as libfuse logs each failure */
	bool refused;
};

void backings_init(struct backings *backings);
void backings_deinit(struct backings *backings);

/* Gets the backing id for an open of a file. Returns an id above 0, 0 if reads are requests to this
 * program, or -ENOMEM. After a success, the caller must call backing_end. */
MUST_CHECK int backing_begin(struct backings *backings, fuse_req_t request,
			     const struct view_file *file);

/* Ends one open of a node. After the last open, closes the backing id by way of request, which can
 * be any unanswered request. If request is NULL, the next backing_begin closes the id. */
void backing_end(struct backings *backings, fuse_req_t request, uint64_t node);

/* Returns whether the kernel refused a backing file. */
bool backing_was_refused(struct backings *backings);

/* Returns whether the bytes of an open file can never be changed. */
MUST_CHECK bool backing_is_sealed(int fd);

#endif
