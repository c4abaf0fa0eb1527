/* SPDX-License-Identifier: MIT */
#include "view/visible_cache.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"

#define VALIDITY_FACTOR 20

struct visible_entry {
	struct visible_key key; /* group 0: empty */
	struct visible_copies visible;
	uint64_t until_ns;
};

void visible_cache_init(struct visible_cache *visible_cache)
{
	*visible_cache = (struct visible_cache){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void visible_cache_deinit(struct visible_cache *visible_cache)
{
	free(visible_cache->list);
	pthread_mutex_destroy(&visible_cache->lock);
}

/* Returns the slot for a key. */
static struct visible_entry *slot_of(const struct visible_cache *visible_cache,
				     const struct visible_key *key)
{
	const uint64_t numbers[] = {key->caller, key->group};

	return &visible_cache->list[hash64(numbers, sizeof(numbers), 0) % VISIBLE_CACHE_MAX];
}

static bool keys_equal(const struct visible_key *a, const struct visible_key *b)
{
	return a->caller == b->caller && a->group == b->group &&
	       clock_equal(a->changed, b->changed);
}

bool visible_cache_get(struct visible_cache *visible_cache, const struct visible_key *key,
		       struct visible_copies *visible, uint64_t now_ns)
{
	const struct visible_entry *known;
	bool is_known = false;

	pthread_mutex_lock(&visible_cache->lock);
	if (visible_cache->list) {
		known = slot_of(visible_cache, key);
		is_known = keys_equal(&known->key, key) && now_ns < known->until_ns;
		*visible = known->visible;
	}
	pthread_mutex_unlock(&visible_cache->lock);
	return is_known;
}

void visible_cache_put(struct visible_cache *visible_cache, const struct visible_key *key,
		       const struct visible_copies *visible, uint64_t began_ns, uint64_t now_ns)
{
	pthread_mutex_lock(&visible_cache->lock);
	if (!visible_cache->list)
		visible_cache->list = calloc(VISIBLE_CACHE_MAX, sizeof(*visible_cache->list));
	if (visible_cache->list) {
		*slot_of(visible_cache, key) = (struct visible_entry){
			.key = *key,
			.visible = *visible,
			.until_ns = now_ns + VALIDITY_FACTOR * (now_ns - began_ns),
		};
	}
	pthread_mutex_unlock(&visible_cache->lock);
}
