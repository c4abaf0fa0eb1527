/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_ERRORS_H
#define CATALOG_ERRORS_H

/* Errors noted for directories and files that could not be read. One thread at a time, in a write
 * transaction. */

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Notes an error (positive errno; 0: none any more) of a directory or file; nothing where the file
 * is gone. */
MUST_CHECK int catalog_set_error(struct catalog_writer *w, enum error_kind kind, uint64_t id,
				 int error);

#endif
