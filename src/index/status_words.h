/* SPDX-License-Identifier: MIT */
#ifndef INDEX_STATUS_WORDS_H
#define INDEX_STATUS_WORDS_H

/* Sentences for people about the status of a view (index/status_file.h). Any thread. */

#include <stdbool.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"

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
