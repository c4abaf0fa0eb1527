/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CHECK_H
#define CATALOG_CHECK_H

/* Do the tables of an index agree with each other? Only catalog/ includes this.
 *
 * Checksums find a record that was altered. This finds records that were lost, repeated or put
 * back to what they were, as when a write of a page never reached the disk.
 */

#include "catalog/catalog.h"

/* Reads every record of the snapshot, at a cost linear in their number and with no memory that
 * grows with it. What LMDB makes of a damaged page may kill the process. Any thread.
 * 0, -EUCLEAN: they do not agree, or another -errno. */
MUST_CHECK int check_catalog(struct catalog_reader *r);

#endif
