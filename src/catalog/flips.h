/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_FLIPS_H
#define CATALOG_FLIPS_H

/* Which files became redundant or unique by a transaction. Pure code, any thread. Only catalog/
 * includes this. */

#include "base/attributes.h"
#include "catalog/gather.h"

/* Fills in gather->flips from the members and groups that were gathered. 0 or -ENOMEM. */
MUST_CHECK int flips_find(struct gather *gather);

#endif
