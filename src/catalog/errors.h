/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_ERRORS_H
#define CATALOG_ERRORS_H

/* Errors recorded for directories and files that could not be read. One thread at a time, in a
 * write transaction. */

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Records an error (positive errno) of a directory or file, or removes the recorded error (0). An
 * error of a file that is missing or has no name is not recorded. Returns 0 or -errno. */
MUST_CHECK int catalog_set_error(struct catalog_writer *w, enum error_kind kind, uint64_t id,
				 int error);

/* Records the error of a directory, and whether walks do not enter it (DIR_NOT_ENTERED). Its record
 * exists. Returns 0 or -errno. */
MUST_CHECK int catalog_note_dir(struct catalog_writer *w, const struct dir_record *dir);

#endif
