/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/stop.h"

#ifdef XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

/* A struct hash_state is an XXH3_state_t under another name. */
static XXH3_state_t *to_xxh(struct hash_state *state)
{
	return (XXH3_state_t *)state;
}

static struct hash128 from_xxh(XXH128_hash_t hash)
{
	return (struct hash128){.high = hash.high64, .low = hash.low64};
}

uint64_t hash64(const void *data, size_t length, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, length, seed);
}

struct hash128 hash128(const void *data, size_t length)
{
	return from_xxh(XXH3_128bits(data, length));
}

struct hash128 hash128_seeded(const void *data, size_t length, uint64_t seed)
{
	return from_xxh(XXH3_128bits_withSeed(data, length, seed));
}

struct hash_state *hash_state_new(void)
{
	struct hash_state *state = (struct hash_state *)XXH3_createState();

	if (state)
		hash_state_reset(state);
	return state;
}

void hash_state_free(struct hash_state *state)
{
	XXH3_freeState(to_xxh(state));
}

void hash_state_reset(struct hash_state *state)
{
	XXH3_128bits_reset(to_xxh(state));
}

void hash_state_reset_seeded(struct hash_state *state, uint64_t seed)
{
	XXH3_128bits_reset_withSeed(to_xxh(state), seed);
}

void hash_state_copy(struct hash_state *to, const struct hash_state *from)
{
	XXH3_copyState(to_xxh(to), (const XXH3_state_t *)from);
}

void hash_state_update(struct hash_state *state, const void *data, size_t length)
{
	XXH3_128bits_update(to_xxh(state), data, length);
}

struct hash128 hash_state_digest(const struct hash_state *state)
{
	return from_xxh(XXH3_128bits_digest((const XXH3_state_t *)state));
}

void hash128_format(struct hash128 hash, char digits[HASH128_DIGITS + 1])
{
	snprintf(digits, HASH128_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

bool hash128_parse(const char *digits, struct hash128 *hash)
{
	return number_read_hex(digits, HASH128_DIGITS / 2, &hash->high) &&
	       number_read_hex(digits + HASH128_DIGITS / 2, HASH128_DIGITS / 2, &hash->low);
}

#define BLOCK_BYTES ((size_t)256 << 10)

int file_hash(int fd, const struct cancellation *cancellation, struct hash128 *hash)
{
	AUTO_FREE void *block = memory_pages(BLOCK_BYTES);
	struct hash_state *state = hash_state_new();
	long got = block && state ? 1 : -ENOMEM;

	for (off_t at = 0; got > 0; at += got) {
		got = stop_requested() || cancellation_is_requested(cancellation)
			      ? -EINTR
			      : read_fully_at(fd, block, BLOCK_BYTES, at);
		if (got > 0)
			hash_state_update(state, block, (size_t)got);
	}
	if (got == 0)
		*hash = hash_state_digest(state);
	hash_state_free(state);
	return (int)got;
}
