/* SPDX-License-Identifier: MIT */
#ifndef INDEX_GROUP_NAME_H
#define INDEX_GROUP_NAME_H

/* The name of the folder of a group: the 32 digits of the hash of its content. Further contents
 * with the same hash get the suffix "~2", "~3" ... Pure code, any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

/* Buffer size for a name, including the NUL. */
#define GROUP_NAME_SIZE (HASH128_DIGITS + 1 + 10 + 1)

void group_name_make(char name[static GROUP_NAME_SIZE], struct hash128 hash, uint32_t ordinal);

/* Parses a name. Returns false if group_name_make() never makes such a name. */
MUST_CHECK bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal);

#endif
