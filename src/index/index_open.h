/* SPDX-License-Identifier: MIT */
#ifndef INDEX_INDEX_OPEN_H
#define INDEX_INDEX_OPEN_H

/* Opens an index only to read it, and explains why one cannot be opened. For the first thread. */

#include "base/attributes.h"
#include "catalog/catalog.h"

/* Says why an index could not be opened, and what to do.
 *
 * outcome	what catalog_open() returned: positive or -errno
 */
void index_explain(const char *folder, int outcome);

/* Opens an index only to read it. 0 or an outcome of catalog_open(), nothing logged. */
MUST_CHECK int index_open_read_only(const char *folder, struct catalog **catalog);

#endif
