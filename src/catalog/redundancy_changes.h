/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REDUNDANCY_CHANGES_H
#define CATALOG_REDUNDANCY_CHANGES_H

/* The files that became redundant, or stopped being redundant, in a transaction. Pure code, any
 * thread. Only catalog/ includes this. */

#include "base/attributes.h"
#include "catalog/commit_delta.h"

/* Fills DELTA_REDUNDANCY from DELTA_GROUPS and from the files that joined groups or left them.
 *
 * members	of struct member_delta (writer.h); is sorted
 *
 * Returns 0 or -ENOMEM. */
MUST_CHECK int redundancy_changes_find(struct commit_delta *delta, struct bytes *members);

#endif
