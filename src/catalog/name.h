/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_NAME_H
#define CATALOG_NAME_H

/* Names in directories and their cookies. Pure code. */

#include <stdbool.h>
#include <stdint.h>

#include "catalog/record.h"

/* The first cookie that a name may have; names with equal hashes take the ones behind it, up to
 * ENTRY_COOKIE_SLOTS. The seed is the index's secret: nobody can prepare names that collide. */
uint64_t name_cookie(uint64_t seed, struct name name);

bool names_equal(struct name a, struct name b);

#endif
