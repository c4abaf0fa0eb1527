/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_CHECK_H
#define CATALOG_CHECK_H

/* Checks that the tables of an index agree with each other. Only catalog/ includes this.
 *
 * Checksums detect altered records. This check detects records that are missing, repeated or
 * outdated, for example because a page did not reach the disk.
 */

#include "catalog/catalog.h"

/* Reads every record of the snapshot. The time is linear in the number of records, the memory is
 * constant. Damaged pages can make LMDB crash the process. Any thread. Returns 0, -EUCLEAN if
 * tables do not agree, or another -errno. */
MUST_CHECK int check_catalog(struct catalog_reader *r);

#endif
