/* SPDX-License-Identifier: MIT */
#ifndef INDEX_STATUS_FILE_H
#define INDEX_STATUS_FILE_H

/* What a mounted view says of itself in .twinfs/status.json. */

#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Reads it. Asks from a process of its own, for at most two seconds, as a daemon that was stopped
 * or hangs does not answer. For a program that has one thread.
 *
 * status	the caller's, for json_decref()
 *
 * 0 or -errno, nothing logged: -ENOTCONN for the mount of a killed daemon, -EACCES for another
 * user's, -ETIMEDOUT where there is no answer, -EPROTO where it makes no sense.
 */
MUST_CHECK int status_file_read(const char *mount_point, json_t **status);

/* Reads which index folder it serves: appends the path. 0 or -errno, as above; -ENOENT where it
 * does not say. */
MUST_CHECK int status_file_index(const char *mount_point, struct bytes *folder);

/* A number or a text in it; 0 or "unknown" where it is not there. The text lives as status does. */
uint64_t status_file_number(const json_t *status, const char *key);
const char *status_file_text(const json_t *status, const char *key);

/* Says why it could not be read, and what to do. */
void status_file_explain(const char *mount_point, int error);

#endif
