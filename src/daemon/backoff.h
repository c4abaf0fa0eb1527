/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_BACKOFF_H
#define DAEMON_BACKOFF_H

/* When to compare a file that changed: soon after it was closed, later while it goes on changing;
 * and when to try again what could not be read.
 * Pure code: the clock is given in. Not shared between threads. A struct backoff that is all zero
 * is empty and valid.
 *
 *	closed or moved		DEBOUNCE_CLOSED_MS after the last event
 *	written, not closed	DEBOUNCE_OPEN_MS after the last event
 *	again and again		each time that it changed within ten times as long after it was due,
 *				twice as long, up to BACKOFF_MAX_MS; so a file that never rests costs
 *				a read a minute
 *	somebody has it open	tried again after DEBOUNCE_OPEN_MS, then twice as long each time, up to
 *				BACKOFF_MAX_MS; an event that it was closed cuts that short
 *	could not be read	tried again after DEBOUNCE_OPEN_MS, then twice as long each time, up to
 *				BACKOFF_FAILED_MAX_MS: so a fault that is over is made good after as
 *				long again as it took, and one that lasts costs a try a day
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define DEBOUNCE_CLOSED_MS 100
#define DEBOUNCE_OPEN_MS 1000
#define BACKOFF_MAX_MS 60000
#define BACKOFF_FAILED_MAX_MS 86400000

/* So many wait by themselves after they failed, some 6 MiB. BACKOFF_ALL, which is no file, waits in
 * the place of those beyond. */
#define BACKOFF_FAILED_FILES ((size_t)64 << 10)
#define BACKOFF_ALL UINT64_C(0)

struct backoff {
	struct backoff_file *table; /* uthash, by file id */
	struct backoff_file **heap; /* those that wait, the one that is due first in front */
	size_t count; /* of files that wait to be compared */
	size_t capacity; /* of heap */
};

/* The file changed.
 *
 * closed	nobody is known to be writing it still
 *
 * 0 or -ENOMEM. */
MUST_CHECK int backoff_changed(struct backoff *backoff, uint64_t file, bool closed,
			       uint64_t now_ns);

/* It was due and could not be compared: somebody has it open for writing, or it moved under the
 * read. It waits again. 0 or -ENOMEM. */
MUST_CHECK int backoff_busy(struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* It could not be read, for a reason that may pass: it waits to be tried again, if it does not
 * already. For a struct backoff of its own, of files or of directories, in which nothing else
 * waits. 0 or -ENOMEM. */
MUST_CHECK int backoff_failed(struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* It was compared (or is gone, or could not be read): it waits no more. How restless it was is
 * remembered for a while, so that a file that is written every second is not read every second. */
void backoff_done(struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Does it wait for a time that has not come? Then it is not to be read. */
bool backoff_waits(const struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Does it wait, and has its time come? */
bool backoff_is_due(const struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Ids of files; the owner frees the list with free(3). */
struct due_files {
	uint64_t *list;
	size_t count, capacity;
};

/* Appends the ids of all files that are due; with all, of all files that wait. They wait on until
 * backoff_done or backoff_busy. Returns 0 or -ENOMEM. */
MUST_CHECK int backoff_due(const struct backoff *backoff, uint64_t now_ns, bool all,
			   struct due_files *files);

/* When the next one is due; UINT64_MAX: none waits. */
uint64_t backoff_next_ns(const struct backoff *backoff);

/* Forgets what was remembered of files that have rested long; call it now and then. */
void backoff_sweep(struct backoff *backoff, uint64_t now_ns);

void backoff_free(struct backoff *backoff);

#endif
