/* SPDX-License-Identifier: MIT */
#ifndef STORE_KEY_H
#define STORE_KEY_H

/* The keys of records. Numbers use the codec of base/bytes.h, which preserves their order. Pure
 * code, any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"

/* The largest key, in bytes. */
#define KEY_BYTES_MAX 64

/* A key that is being encoded or decoded. */
struct key {
	size_t length;
	uint8_t data[KEY_BYTES_MAX];
};

/* A key or record in LMDB; borrowed from the map, see the rules in store/store.h. */
struct span {
	const uint8_t *data;
	size_t length;
};

struct key key_number(uint64_t number);
struct key key_pair(uint64_t first, uint64_t second);
struct key key_triple(uint64_t first, uint64_t second, uint64_t third);
struct key key_quad(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);
/* The first HASH_BYTES of the key are the hash, so that keys with the same hash are adjacent. */
#define HASH_BYTES 16
struct key key_hash(struct hash128 hash, uint32_t ordinal);
/* The first HASH_BYTES of the key are the hash. */
struct key key_tree(struct hash128 hash, uint64_t group, uint64_t dir);
/* These keys sort groups by reclaimable bytes, in descending order. */
struct key key_rank(uint64_t reclaimable, uint64_t group);

/* Decode keys. Return false if the key has more, fewer or other fields. */
MUST_CHECK bool key_get_pair(struct span key, uint64_t *first, uint64_t *second);
MUST_CHECK bool key_get_triple(struct span key, uint64_t *first, uint64_t *second, uint64_t *third);
MUST_CHECK bool key_get_quad(struct span key, uint64_t *first, uint64_t *second, uint64_t *third,
			     uint64_t *fourth);
MUST_CHECK bool key_get_number(struct span key, uint64_t *number);
MUST_CHECK bool key_get_tree(struct span key, struct hash128 *hash, uint64_t *group, uint64_t *dir);
MUST_CHECK bool key_get_rank(struct span key, uint64_t *reclaimable, uint64_t *group);

#endif
