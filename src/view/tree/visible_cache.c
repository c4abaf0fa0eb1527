/* SPDX-License-Identifier: MIT */
#include "view/tree/visible_cache.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/sort.h"

#define VALIDITY_FACTOR 20

/* ---- copies of a large group --------------------------------------------------------- */

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
static struct visible_entry *copies_slot(const struct visible_cache *visible_cache,
					 const struct visible_key *key)
{
	const uint64_t numbers[] = {key->caller, key->group};

	return &visible_cache->list[hash64(numbers, sizeof(numbers), 0) % VISIBLE_CACHE_MAX];
}

static bool same_copies(const struct visible_key *a, const struct visible_key *b)
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
		known = copies_slot(visible_cache, key);
		is_known = same_copies(&known->key, key) && now_ns < known->until_ns;
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
		*copies_slot(visible_cache, key) = (struct visible_entry){
			.key = *key,
			.visible = *visible,
			.until_ns = now_ns + VALIDITY_FACTOR * (now_ns - began_ns),
		};
	}
	pthread_mutex_unlock(&visible_cache->lock);
}

/* ---- numbers of groups with one hash ------------------------------------------------- */

struct known_numbering {
	struct number_key key;
	struct bytes ordinals;
	uint64_t until_ns; /* 0: empty */
};

void known_numbers_init(struct known_numbers *numbers)
{
	*numbers = (struct known_numbers){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static size_t count_of(const struct bytes *ordinals)
{
	return ordinals->length / sizeof(uint32_t);
}

/* Must be called with the lock held. */
static void evict(struct known_numbers *numbers, struct known_numbering *known)
{
	numbers->groups -= count_of(&known->ordinals);
	bytes_free(&known->ordinals);
	known->until_ns = 0;
}

static void evict_all(struct known_numbers *numbers)
{
	for (size_t i = 0; numbers->list && i < KNOWN_NUMBERS_MAX; i++)
		evict(numbers, &numbers->list[i]);
}

void known_numbers_deinit(struct known_numbers *numbers)
{
	evict_all(numbers);
	free(numbers->list);
	pthread_mutex_destroy(&numbers->lock);
}

/* Returns the slot for a key. */
static struct known_numbering *numbering_slot(const struct known_numbers *numbers,
					      const struct number_key *key)
{
	const uint64_t parts[] = {key->caller, key->hash.high, key->hash.low};

	return &numbers->list[hash64(parts, sizeof(parts), 0) % KNOWN_NUMBERS_MAX];
}

static bool same_numbering(const struct number_key *a, const struct number_key *b)
{
	return a->caller == b->caller && hash128_equal(a->hash, b->hash) &&
	       a->generation == b->generation;
}

static int by_ordinal(const void *a, const void *b)
{
	return numbers_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

bool numbered_find(const struct bytes *ordinals, struct numbered *group)
{
	const uint32_t *list = (const void *)ordinals->data, *found;
	size_t count = count_of(ordinals);

	if (group->number > count || count == 0)
		return false;
	if (group->number) {
		group->ordinal = list[group->number - 1];
		return true;
	}
	found = bsearch(&group->ordinal, list, count, sizeof(*list), by_ordinal);
	if (found)
		group->number = (uint32_t)(found - list) + 1;
	return found;
}

bool known_numbers_get(struct known_numbers *numbers, const struct number_key *key,
		       struct numbered *group, uint64_t now_ns)
{
	const struct known_numbering *known;
	bool is_known = false;

	pthread_mutex_lock(&numbers->lock);
	if (numbers->list) {
		known = numbering_slot(numbers, key);
		is_known = same_numbering(&known->key, key) && now_ns < known->until_ns;
		if (is_known)
			(void)!numbered_find(&known->ordinals, group);
	}
	pthread_mutex_unlock(&numbers->lock);
	return is_known;
}

void known_numbers_put(struct known_numbers *numbers, const struct number_key *key,
		       struct bytes *ordinals, uint64_t began_ns, uint64_t now_ns)
{
	struct known_numbering *known;

	pthread_mutex_lock(&numbers->lock);
	if (!numbers->list)
		numbers->list = calloc(KNOWN_NUMBERS_MAX, sizeof(*numbers->list));
	if (numbers->list && count_of(ordinals) <= KNOWN_NUMBERS_GROUPS_MAX) {
		known = numbering_slot(numbers, key);
		evict(numbers, known);
		if (numbers->groups + count_of(ordinals) > KNOWN_NUMBERS_GROUPS_MAX)
			evict_all(numbers);
		*known = (struct known_numbering){
			.key = *key,
			.ordinals = *ordinals,
			.until_ns = now_ns + VALIDITY_FACTOR * (now_ns - began_ns),
		};
		*ordinals = (struct bytes){0};
		numbers->groups += count_of(&known->ordinals);
	}
	pthread_mutex_unlock(&numbers->lock);
	bytes_free(ordinals);
}
