/* SPDX-License-Identifier: MIT */
#ifndef SCAN_STATUS_FILE_H
#define SCAN_STATUS_FILE_H

/* Status of a mounted view: its file .twinfs/status.json. */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Reads the status. A child process reads the file, for at most two seconds, as a daemon that was
 * stopped or hangs does not answer. For a process with one thread.
 *
 * status	set to a JSON object, which the caller frees with json_decref(); unchanged after a
 *		failure
 *
 * Returns 0, -ENOTCONN if the daemon was killed, -EACCES for a view of another user, -ETIMEDOUT if
 * there was no answer, -EPROTO for an invalid answer, or another -errno. Logs nothing.
 */
MUST_CHECK int status_file_read(const char *mount_point, json_t **status);

/* Appends the index folder of a view. Returns 0, -ENOENT if the status has none, or an error of
 * status_file_read(). */
MUST_CHECK int status_file_index(const char *mount_point, struct bytes *folder);

/* Return a number of a status, or 0 if it is missing; or a text, or "unknown". The text is valid as
 * long as status. */
uint64_t status_file_number(const json_t *status, const char *key);
const char *status_file_text(const json_t *status, const char *key);

/* Returns the first source of a status that has this member, or NULL. Borrowed from the status. */
const json_t *status_file_source_with(const json_t *status, const char *key);

/* Logs why a status could not be read, and the remedy. */
void status_file_explain(const char *mount_point, int error);

/* ---- waiting for a view ------------------------------------------------------------- */

/* Synchronization with a view. For a process with one thread. */

/* Waits until the view shows all changes of its sources made up to now: reads its .twinfs/sync. A
 * child process reads it, which can take long. Returns 0, -EINTR after a signal, -ETIMEDOUT if the
 * daemon does not answer any more, because it is stopped or hangs, or another -errno. Logs
 * nothing. */
MUST_CHECK int view_sync(const char *mount_point);

/* Works like view_sync(), and before has the daemon map the extents of all groups again: reads
 * .twinfs/remap. */
MUST_CHECK int view_remap(const char *mount_point);

/* ---- sentences for people ----------------------------------------------------------- */

/* Sentences for people about the status of a view (scan/status_file.h). Any thread. */

/* Appends what the view does, or what its problem is: "scanning: 43 % done, 2 minutes left".
 * Returns 0 or -ENOMEM. */
MUST_CHECK int status_words_state(const json_t *status, struct bytes *text);

/* Returns how to solve the problem of a view that cannot update its index, as words before the path
 * of the index: "free space on the disk of the index:". Static. */
const char *status_words_stuck_remedy(const json_t *status);

/* Appends how to have all directories watched. If this needs an administrator, says so to a user
 * other than root, or appends nothing to that user unless verbose. Returns 0 or -ENOMEM. */
MUST_CHECK int status_words_watch_remedy(const json_t *status, bool verbose, struct bytes *text);

#endif
