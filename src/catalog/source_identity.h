/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_SOURCE_IDENTITY_H
#define CATALOG_SOURCE_IDENTITY_H

/* The identity of the file system of a source (source/source_change.h). */

#include <stdbool.h>
#include <stdint.h>

#include "catalog/catalog.h"

struct source_identity {
	uint64_t type; /* f_type of statfs(2); 0: not stored */
	uint64_t uuid; /* hash of the UUID; 0: none */
	uint64_t fsid; /* f_fsid of statfs(2); 0 if it equals st_dev, which a remount can change */
};

/* Reads the identity of an open directory. Returns 0 or -errno. */
MUST_CHECK int source_identity_read(int fd, struct source_identity *identity);

/* Returns true if both can be of the same file system. An unknown uuid or fsid matches any. */
bool source_identity_matches(const struct source_identity *a, const struct source_identity *b);

/* Gets the stored identity of source number index. Adds the number of its records to *records,
 * unless records is NULL. Returns 0 (type is 0 if none is stored), -EUCLEAN or -ENOMEM. */
MUST_CHECK int source_identity_get(struct catalog_reader *r, uint64_t index,
				   struct source_identity *identity, uint64_t *records);
MUST_CHECK int source_identity_put(struct catalog_writer *w, uint64_t index,
				   const struct source_identity *identity);

#endif
