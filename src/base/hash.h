/* SPDX-License-Identifier: MIT */
#ifndef BASE_HASH_H
#define BASE_HASH_H

/* XXH3 (https://xxhash.com) with 64 and 128 bits, by libxxhash.
 *
 * XXH3 does not resist attackers: equal hashes are never taken for equal bytes. The functions are
 * pure. A state is used by one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct cancellation;

struct hash128 {
	uint64_t high;
	uint64_t low;
};

/* Number of digits of a hash in canonical form, as `xxhsum -H2` prints it. */
#define HASH128_DIGITS 32

uint64_t hash64(const void *data, size_t length, uint64_t seed);
struct hash128 hash128(const void *data, size_t length);
struct hash128 hash128_seeded(const void *data, size_t length, uint64_t seed);

/* The state of a 128-bit hash over a stream of blocks. */
struct hash_state;

struct hash_state *hash_state_new(void); /* NULL if memory is short */
void hash_state_free(struct hash_state *state);
void hash_state_reset(struct hash_state *state);
void hash_state_reset_seeded(struct hash_state *state, uint64_t seed);
void hash_state_copy(struct hash_state *to, const struct hash_state *from);
void hash_state_update(struct hash_state *state, const void *data, size_t length);
struct hash128 hash_state_digest(const struct hash_state *state);

/* Writes the digits and a NUL. */
void hash128_format(struct hash128 hash, char digits[HASH128_DIGITS + 1]);

/* Parses the hash at the beginning of a text. Returns false if the text does not begin with
 * HASH128_DIGITS lower-case hexadecimal digits. */
MUST_CHECK bool hash128_parse(const char *digits, struct hash128 *hash);

static inline bool hash128_equal(struct hash128 a, struct hash128 b)
{
	return a.high == b.high && a.low == b.low;
}

static inline bool hash128_is_zero(struct hash128 hash)
{
	return hash.high == 0 && hash.low == 0;
}

/* Hashes all bytes of an open file to the hash that `xxhsum -H2` prints. Any thread; blocks on the
 * disk.
 *
 * cancellation	checked before each block, as is stop_requested(); may be NULL
 *
 * Returns 0, -EINTR if the process or the caller requests the end, or another -errno. */
MUST_CHECK int file_hash(int fd, const struct cancellation *cancellation, struct hash128 *hash);

#endif
