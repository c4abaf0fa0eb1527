/* SPDX-License-Identifier: MIT */
#ifndef FLEET_DIGEST_STORE_H
#define FLEET_DIGEST_STORE_H

/* Writes digests to the index, many in one transaction. Any thread. */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/digests.h"

struct catalog;

/* Maximum number of digests of a transaction. */
#define DIGEST_STORE_RECORDS 1024

struct digest_store {
	struct catalog *catalog; /* borrowed; NULL: nothing is stored */
	pthread_mutex_t lock; /* for all members below */
	struct stored_digest {
		uint64_t file;
		struct digest_record digest;
	} waiting[DIGEST_STORE_RECORDS];
	size_t count;
	uint64_t written_ns; /* time of the last transaction, on the monotonic clock */
	int failed; /* -errno of the first transaction that failed: nothing more is stored */
};

void digest_store_init(struct digest_store *store, struct catalog *catalog);

/* Writes what waits. Returns 0, or -errno of the first failure. */
MUST_CHECK int digest_store_end(struct digest_store *store);

/* Adds the digest of a file. If many digests wait, or one for some seconds, writes a transaction:
 * the calling thread must have no reader of the catalog. After a failed transaction, does
 * nothing. */
void digest_store_add(struct digest_store *store, uint64_t file,
		      const struct digest_record *digest);

#endif
