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

/* ---- SHA-256 ----------------------------------------------------------------------- */

/* SHA-256 (FIPS 180-4), by libcrypto. A state is used by one thread at a time; nothing blocks. If
 * memory is short, libcrypto ends the process with an error. */

#define SHA256_BYTES 32

/* Number of digits of a digest in hexadecimal form, as sha256sum(1) prints it. */
#define SHA256_DIGITS 64

struct sha256;

/* Makes a state for a first digest. Returns NULL if memory is short. */
struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *state); /* accepts NULL */

/* Begins the next digest with this state. Returns 0 or -ENOMEM. */
MUST_CHECK int sha256_reset(struct sha256 *state);

/* Adds bytes. Returns 0, or -EIO if libcrypto fails. */
MUST_CHECK int sha256_update(struct sha256 *state, const void *data, size_t length);

/* Ends the digest, and writes its bytes. The caller must call sha256_reset() before the next
 * digest. Returns 0, or -EIO if libcrypto fails. */
MUST_CHECK int sha256_end(struct sha256 *state, uint8_t bytes[SHA256_BYTES]);

/* As sha256_end(), but writes the lower-case digits and a NUL. */
MUST_CHECK int sha256_finish(struct sha256 *state, char digits[SHA256_DIGITS + 1]);

/* Writes the lower-case digits of a digest, and a NUL. */
void sha256_format(const uint8_t bytes[SHA256_BYTES], char digits[SHA256_DIGITS + 1]);

/* Parses lower-case digits. Returns false if the text has other characters or another length. */
MUST_CHECK bool sha256_parse(const char *digits, uint8_t bytes[SHA256_BYTES]);

/* Outcome: the file has fewer bytes than were expected. */
enum {
	FILE_SHA256_CHANGED = 1
};

/* Computes digests of open files. Holes are not read, and count as zeros. Blocks on the disk; for
 * one thread at a time. */
struct file_sha256 {
	struct sha256 *state;
	uint8_t *buffer;
	/* Called regularly, with the number of bytes since the last call; holes count. NULL: not
	 * called. Returns 0, or -errno to stop. */
	int (*progress)(void *context, uint64_t bytes);
	void *context;
};

/* Allocates. Returns 0 or -ENOMEM; the caller must call file_sha256_deinit(). */
MUST_CHECK int file_sha256_init(struct file_sha256 *reader);
void file_sha256_deinit(struct file_sha256 *reader);

/* Reads size bytes of an open file.
 *
 * has_holes	whether it can have holes
 *
 * Returns 0, FILE_SHA256_CHANGED, the failure of progress(), or another -errno. */
MUST_CHECK int file_sha256_read(struct file_sha256 *reader, int fd, uint64_t size, bool has_holes,
				uint8_t digest[SHA256_BYTES]);

#endif
