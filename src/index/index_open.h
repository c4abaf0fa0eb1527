/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_OPEN_H
#define INDEX_INDEX_OPEN_H

/* Opens an index read-only, and logs why an index cannot be opened. For the main thread. */

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Logs why an index could not be opened, and the remedy.
 *
 * outcome	result of catalog_open(): positive or -errno
 */
void index_explain(const char *folder, int outcome);

/* Opens an index read-only. Returns the result of catalog_open(). */
MUST_CHECK int index_open_read_only(const char *folder, struct catalog **catalog);

#endif
