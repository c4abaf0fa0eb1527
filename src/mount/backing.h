/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_BACKING_H
#define MOUNT_BACKING_H

/* Files that the kernel reads by itself, past this program (passthrough): which of the open ones
 * are, and under which number the kernel knows the file behind. Any thread.
 *
 * The kernel wants all who have a node open to have it open in one way: by the same number, or none
 * by any; an open in another way fails with EIO. So the first one decides for those who come while
 * it is open.
 *
 * Nobody sees what the kernel reads, and what is open cannot be taken back: where the source can be
 * written while it is open in the view, its new bytes would be given away under the name of the old
 * ones. So this is for files that nobody can ever write, and for all only where the user asks: but
 * never for files on which a writer leaves no trace (view_file.silent). */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "mount/fuse.h"
#include "view/view.h"

enum backing_choice {
	BACKING_NONE, /* the kernel or our rights do not allow it */
	BACKING_SEALED, /* what nobody can ever write */
	BACKING_ALL,
};

struct backings {
	pthread_mutex_t lock; /* of all below */
	enum backing_choice choice; /* set before files are opened */
	struct backing *table; /* uthash, by node; empty for BACKING_NONE */
	size_t idle; /* entries that nobody uses, but whose number the kernel still has */
	bool refused; /* the kernel took none, and is not asked again: libfuse logs each time */
};

MUST_CHECK int backings_init(struct backings *backings);
void backings_deinit(struct backings *backings);

/* A file is being opened, whose source is open: the number to answer with, above 0; 0: it is read
 * through us. The caller ends it with backing_end in either case. -ENOMEM. */
MUST_CHECK int backing_begin(struct backings *backings, fuse_req_t request,
			     const struct view_file *file);

/* One who had the node open closes it. request: any that is not answered yet; NULL: there is none,
 * and the kernel is told at the next occasion. */
void backing_end(struct backings *backings, fuse_req_t request, uint64_t node);

/* Did the kernel refuse what it was offered? */
bool backing_was_refused(struct backings *backings);

/* Is there no way to change the bytes of an open file, now or later? */
MUST_CHECK bool backing_is_sealed(int fd);

#endif
