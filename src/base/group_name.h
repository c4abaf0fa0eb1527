/* SPDX-License-Identifier: MIT */
#ifndef BASE_GROUP_NAME_H
#define BASE_GROUP_NAME_H

/* The name of a group's folder: the 32 digits of its content's hash, and for a further content
 * with the same hash "~2", "~3" ... Pure code, any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

/* Room for a name and its NUL. */
#define GROUP_NAME_SIZE (HASH128_DIGITS + 1 + 10 + 1)

void group_name_make(char name[static GROUP_NAME_SIZE], struct hash128 hash, uint32_t ordinal);

/* Takes a name apart; false: group_name_make never gives it. */
MUST_CHECK bool group_name_parse(const char *name, struct hash128 *hash, uint32_t *ordinal);

#endif
