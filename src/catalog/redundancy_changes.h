/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REDUNDANCY_CHANGES_H
#define CATALOG_REDUNDANCY_CHANGES_H

/* Which files became redundant or unique by a transaction. Pure code, any thread. Only catalog/
 * includes this. */

#include "base/attributes.h"
#include "catalog/delta_builder.h"

/* Fills in gather->redundancy from the members and groups that were gathered. 0 or -ENOMEM. */
MUST_CHECK int redundancy_changes_find(struct delta_builder *builder);

#endif
