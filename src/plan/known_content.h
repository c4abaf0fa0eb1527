/* SPDX-License-Identifier: MIT */
#ifndef PLAN_KNOWN_CONTENT_H
#define PLAN_KNOWN_CONTENT_H

/* What the index knows of the contents of files that a plan names. One thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

struct catalog_reader;
struct group_record;

/* Sets *differ to whether the index knows that two files have different bytes. Returns 0 or
 * -errno. */
MUST_CHECK int known_content_differs(struct catalog_reader *reader, uint64_t kept, uint64_t copy,
				     bool *differ);

/* Finds the group and the hash of a file. What the index does not know is zero. Returns 0 or
 * -errno. */
MUST_CHECK int known_content_find(struct catalog_reader *reader, uint64_t file,
				  struct group_record *group, struct hash128 *hash);

#endif
