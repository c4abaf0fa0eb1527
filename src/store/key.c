/* SPDX-License-Identifier: MIT */
#include "store/key.h"

#include "base/bytes.h"
#include "store/value.h"

static void key_add(struct key *key, uint64_t number)
{
	key->length = (size_t)(varint_put(key->data + key->length, number) - key->data);
}

static void key_add_fixed(struct key *key, uint64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		key->data[key->length++] = (uint8_t)(number >> shift);
}

struct key key_number(uint64_t number)
{
	struct key key = {0};

	key_add(&key, number);
	return key;
}

struct key key_pair(uint64_t first, uint64_t second)
{
	struct key key = {0};

	key_add(&key, first);
	key_add(&key, second);
	return key;
}

struct key key_triple(uint64_t first, uint64_t second, uint64_t third)
{
	struct key key = key_pair(first, second);

	key_add(&key, third);
	return key;
}

struct key key_quad(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	struct key key = key_triple(first, second, third);

	key_add(&key, fourth);
	return key;
}

struct key key_hash(struct hash128 hash, uint32_t ordinal)
{
	struct key key = {0};

	key_add_fixed(&key, hash.high);
	key_add_fixed(&key, hash.low);
	key_add(&key, ordinal);
	return key;
}

struct key key_tree(struct hash128 hash, uint64_t group, uint64_t dir)
{
	struct key key = key_hash(hash, 0);

	key.length = HASH_BYTES;
	key_add(&key, group);
	key_add(&key, dir);
	return key;
}

struct key key_rank(uint64_t reclaimable, uint64_t group)
{
	struct key key = {0};

	key_add_fixed(&key, ~reclaimable);
	key_add(&key, group);
	return key;
}

static bool get_numbers(struct span span, uint64_t *numbers[], size_t count)
{
	const uint8_t *at = span.data, *end = span.data + span.length;

	for (size_t i = 0; i < count; i++) {
		if (!varint_get(&at, end, numbers[i]))
			return false;
	}
	return at == end;
}

bool key_get_number(struct span key, uint64_t *number)
{
	return get_numbers(key, (uint64_t *[]){number}, 1);
}

bool key_get_pair(struct span key, uint64_t *first, uint64_t *second)
{
	return get_numbers(key, (uint64_t *[]){first, second}, 2);
}

bool key_get_triple(struct span key, uint64_t *first, uint64_t *second, uint64_t *third)
{
	return get_numbers(key, (uint64_t *[]){first, second, third}, 3);
}

bool key_get_quad(struct span key, uint64_t *first, uint64_t *second, uint64_t *third,
		  uint64_t *fourth)
{
	return get_numbers(key, (uint64_t *[]){first, second, third, fourth}, 4);
}

bool key_get_tree(struct span key, struct hash128 *hash, uint64_t *group, uint64_t *dir)
{
	return span_get_fixed(&key, &hash->high) && span_get_fixed(&key, &hash->low) &&
	       key_get_pair(key, group, dir);
}

bool key_get_rank(struct span key, uint64_t *reclaimable, uint64_t *group)
{
	uint64_t inverted;

	if (!span_get_fixed(&key, &inverted))
		return false;
	*reclaimable = ~inverted;
	return key_get_number(key, group);
}
