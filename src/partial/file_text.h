/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_FILE_TEXT_H
#define PARTIAL_FILE_TEXT_H

/* Paths of files of the index, for messages and output. Any thread that has no reader. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct partial;

/* Appends the path of a file below the source as the user wrote it.
 *
 * shown	the path of each source; NULL: absolute paths
 *
 * Returns 0, -ENOENT if the file has no name any more, or another -errno. */
MUST_CHECK int file_text_path(const struct partial *partial, uint64_t id, const char *const *shown,
			      struct bytes *path);

/* Logs a warning: "cannot VERB PATH: CAUSE". A file without a name is called so. */
void file_text_warn(const struct partial *partial, uint64_t id, const char *verb,
		    const char *cause);

/* Logs a warning that a file has changed since it was selected. */
void file_text_warn_changed(const struct partial *partial, uint64_t id);

#endif
