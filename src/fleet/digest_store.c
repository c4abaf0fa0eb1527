/* SPDX-License-Identifier: MIT */
#include "fleet/digest_store.h"

#include "base/clock.h"
#include "catalog/catalog.h"

/* Time after which digests are written, so that a killed process loses little work. A transaction
 * waits for the disk of the index, some milliseconds. */
#define WAIT_NS ((uint64_t)2 * SECOND_NS)

void digest_store_init(struct digest_store *store, struct catalog *catalog)
{
	store->catalog = catalog;
	store->count = 0;
	store->failed = 0;
	store->written_ns = clock_monotonic_ns();
	pthread_mutex_init(&store->lock, NULL);
}

static int write_body(struct catalog_writer *w, void *context)
{
	const struct digest_store *store = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < store->count; i++)
		r = catalog_put_digest(w, store->waiting[i].file, &store->waiting[i].digest);
	return r;
}

static void write_waiting(struct digest_store *store)
{
	if (store->count > 0 && store->failed == 0)
		store->failed = catalog_write(store->catalog, write_body, store);
	store->count = 0;
	store->written_ns = clock_monotonic_ns();
}

int digest_store_end(struct digest_store *store)
{
	write_waiting(store);
	pthread_mutex_destroy(&store->lock);
	return store->failed;
}

void digest_store_add(struct digest_store *store, uint64_t file, const struct digest_record *digest)
{
	if (!store->catalog)
		return;
	pthread_mutex_lock(&store->lock);
	store->waiting[store->count].file = file;
	store->waiting[store->count].digest = *digest;
	store->count++;
	if (store->count == DIGEST_STORE_RECORDS ||
	    clock_monotonic_ns() - store->written_ns >= WAIT_NS)
		write_waiting(store);
	pthread_mutex_unlock(&store->lock);
}
