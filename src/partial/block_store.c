/* SPDX-License-Identifier: MIT */
#include "partial/block_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "catalog/catalog.h"

/* Records of a transaction: half a megabyte. */
#define RECORDS 1024U

enum stored_kind {
	STORED_BEGIN,
	STORED_PART,
	STORED_STATE,
};

struct stored_blocks {
	enum stored_kind kind;
	uint64_t file;
	union {
		struct blocks_part part;
		struct blocks_state state;
	};
};

void block_store_init(struct block_store *store, struct catalog *catalog)
{
	*store = (struct block_store){.catalog = catalog};
	pthread_mutex_init(&store->lock, NULL);
}

static int write_body(struct catalog_writer *w, void *context)
{
	const struct block_store *store = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < store->count; i++) {
		const struct stored_blocks *stored = &store->waiting[i];

		if (stored->kind == STORED_BEGIN)
			r = catalog_forget_blocks(w, stored->file);
		else if (stored->kind == STORED_PART)
			r = catalog_put_blocks_part(w, stored->file, &stored->part);
		else
			r = catalog_put_blocks_state(w, stored->file, &stored->state);
	}
	return r;
}

static void write_waiting(struct block_store *store)
{
	if (store->count > 0 && store->failed == 0)
		store->failed = catalog_write(store->catalog, write_body, store);
	store->count = 0;
}

int block_store_end(struct block_store *store)
{
	write_waiting(store);
	free(store->waiting);
	pthread_mutex_destroy(&store->lock);
	return store->failed;
}

static int add(struct block_store *store, const struct stored_blocks *stored)
{
	int r = 0;

	if (!store->catalog)
		return 0;
	pthread_mutex_lock(&store->lock);
	if (store->count == RECORDS)
		write_waiting(store);
	if (store->failed == 0)
		r = array_reserve(&store->waiting, &store->capacity, store->count + 1,
				  sizeof(*store->waiting));
	if (r == 0 && store->failed == 0)
		store->waiting[store->count++] = *stored;
	pthread_mutex_unlock(&store->lock);
	return r;
}

int block_store_begin(struct block_store *store, uint64_t file)
{
	return add(store, &(struct stored_blocks){.kind = STORED_BEGIN, .file = file});
}

static bool has_hash(const struct blocks_part *part)
{
	for (uint32_t i = 0; i < part->count; i++) {
		if (part->hashes[i])
			return true;
	}
	return false;
}

int block_store_add(struct block_store *store, uint64_t file, uint64_t first,
		    const uint64_t *hashes, uint32_t count)
{
	struct stored_blocks stored = {.kind = STORED_PART, .file = file};
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < count; at += BLOCKS_PART) {
		stored.part.first = first + at;
		stored.part.count = count - at < BLOCKS_PART ? count - at : BLOCKS_PART;
		memcpy(stored.part.hashes, hashes + at, stored.part.count * sizeof(*hashes));
		if (has_hash(&stored.part))
			r = add(store, &stored);
	}
	return r;
}

int block_store_complete(struct block_store *store, uint64_t file, const struct blocks_state *state)
{
	const struct stored_blocks stored = {.kind = STORED_STATE, .file = file, .state = *state};

	return add(store, &stored);
}
