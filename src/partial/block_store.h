/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_BLOCK_STORE_H
#define PARTIAL_BLOCK_STORE_H

/* Writes hashes of blocks to the index, many in one transaction. Any thread. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/blocks.h"

struct catalog;

struct block_store {
	struct catalog *catalog; /* borrowed; NULL: nothing is stored */
	pthread_mutex_t lock;
	struct stored_blocks *waiting; /* records of the next transaction */
	size_t count, capacity;
	int failed; /* -errno of the first transaction that failed: nothing more is stored */
};

void block_store_init(struct block_store *store, struct catalog *catalog);

/* Writes what waits, and frees the store. Returns 0, or -errno of the first failure. */
MUST_CHECK int block_store_end(struct block_store *store);

/* Each function adds records; some calls write a transaction. After a failed transaction, they do
 * nothing. Return 0 or -ENOMEM. The calling thread must have no reader of the catalog. */

/* Begins a file: what the index has of its blocks is deleted. */
MUST_CHECK int block_store_begin(struct block_store *store, uint64_t file);
/* first: a multiple of BLOCKS_PART */
MUST_CHECK int block_store_add(struct block_store *store, uint64_t file, uint64_t first,
			       const uint64_t *hashes, uint32_t count);
/* Completes a file. */
MUST_CHECK int block_store_complete(struct block_store *store, uint64_t file,
				    const struct blocks_state *state);

#endif
