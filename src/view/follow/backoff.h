/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_BACKOFF_H
#define VIEW_FOLLOW_BACKOFF_H

/* Debounce and backoff: when to compare a file that changed, and when to retry a file that could
 * not be read. Pure code: the caller passes the time. Not shared between threads. A struct backoff
 * that is all zero is empty and valid.
 *
 *	closed or moved		DEBOUNCE_CLOSED_MS after the last event
 *	written, not closed	DEBOUNCE_OPEN_MS after the last event
 *	changed repeatedly	The delay doubles with each change within ten delays after the file
 *				was due, up to BACKOFF_MAX_MS. A file that is always active is read
 *				once a minute. A closed file that changes after a failed attempt has
 *				a longer delay, too.
 *	open for writing	The file is retried after DEBOUNCE_OPEN_MS. Then the delay doubles
 *				each time, up to BACKOFF_MAX_MS. A close event has the delay of a
 *				closed file instead.
 *	could not be read	The file is retried after DEBOUNCE_OPEN_MS. Then the delay doubles
 *				each time, up to BACKOFF_FAILED_MAX_MS. A fault that has ended is
 *				noticed after at most twice its duration. A permanent fault costs
 *				one retry a day.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define DEBOUNCE_CLOSED_MS 100
#define DEBOUNCE_OPEN_MS 1000
#define BACKOFF_MAX_MS 60000
#define BACKOFF_FAILED_MAX_MS 86400000

/* Maximum number of failed files with a due time of their own. They take about 6 MiB. BACKOFF_ALL,
 * which is the id of no file, represents all further failed files. */
#define BACKOFF_FAILED_FILES ((size_t)64 << 10)
#define BACKOFF_ALL UINT64_C(0)

struct backoff {
	struct backoff_slot *table; /* open addressing, by file id; NULL: no files */
	size_t files; /* in the table */
	size_t slots; /* of the table: a power of 2, at least twice as many as files */
	struct backoff_file **heap; /* binary heap of waiting files: the first is due first */
	size_t count; /* waiting files */
	size_t capacity; /* of heap */
};

/* Notes a change of the file.
 *
 * closed	no program is known to have the file open for writing
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int backoff_changed(struct backoff *backoff, uint64_t file, bool closed,
			       uint64_t now_ns);

/* Makes a file that was due wait again, because a program has it open for writing or it changed
 * while it was read. Returns 0 or -ENOMEM. */
MUST_CHECK int backoff_busy(struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Makes a file or directory that could not be read wait for a retry, unless its due time is in the
 * future. Only for temporary errors. The caller must use a separate struct backoff that has only
 * failures. Returns 0 or -ENOMEM. */
MUST_CHECK int backoff_failed(struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Ends the wait of a file that was compared, was removed or could not be read. Its debounce delay
 * is remembered for a while, so a file that is written every second is not read every second. */
void backoff_done(struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Returns whether the file waits for a time in the future, so that it must not be read yet. */
bool backoff_waits(const struct backoff *backoff, uint64_t file, uint64_t now_ns);

/* Returns whether backoff_take() returned the file, and it neither changed since nor was passed to
 * backoff_busy(), backoff_failed() or backoff_done(). */
bool backoff_is_taken(const struct backoff *backoff, uint64_t file);

/* Ids of files; the owner frees the list with free(3). */
struct due_files {
	uint64_t *list;
	size_t count, capacity;
};

/* Appends the ids of all files that are due. The files keep waiting until backoff_done() or
 * backoff_busy(). Returns 0 or -ENOMEM. */
MUST_CHECK int backoff_due(const struct backoff *backoff, uint64_t now_ns, struct due_files *files);

/* Appends the ids of all files that are due or, if all is set, of all files that wait, and ends
 * their wait: a file that waits later has changed since. backoff_done(), backoff_busy(),
 * backoff_failed() or backoff_return() must follow for each. Returns 0, or -ENOMEM: then all of
 * them keep waiting. */
MUST_CHECK int backoff_take(struct backoff *backoff, uint64_t now_ns, bool all,
			    struct due_files *files);

/* Makes a file wait as before backoff_take(), unless it changed since. Returns 0 or -ENOMEM. */
MUST_CHECK int backoff_return(struct backoff *backoff, uint64_t file);

/* Returns the earliest due time, or UINT64_MAX if no file waits. */
uint64_t backoff_next_ns(const struct backoff *backoff);

/* Frees the entries of files that do not wait and have not changed for a long time. Must be called
 * from time to time. */
void backoff_sweep(struct backoff *backoff, uint64_t now_ns);

void backoff_free(struct backoff *backoff);

#endif
