/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REDUNDANCY_CHANGES_H
#define CATALOG_REDUNDANCY_CHANGES_H

/* The files that became redundant, or stopped being redundant, in a transaction. Pure code, any
 * thread. Only catalog/ includes this. */

#include "base/attributes.h"
#include "catalog/delta_builder.h"

/* Fills builder->redundancy from its members and groups. Returns 0 or -ENOMEM. */
MUST_CHECK int redundancy_changes_find(struct delta_builder *builder);

#endif
