/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"
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

/* Bytes of a read. */
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

/* ---- SHA-256 ----------------------------------------------------------------------- */

/* A struct sha256 is an EVP_MD_CTX under another name. */
static EVP_MD_CTX *to_evp(struct sha256 *state)
{
	return (EVP_MD_CTX *)state;
}

/* ---- memory -------------------------------------------------------------------------- */

/* Ends the process if memory is short: libcrypto then crashes (seen with 3.0). */
static void *check(void *memory, size_t size)
{
	if (memory || size == 0)
		return memory;
	log_error("out of memory");
	_exit(EXIT_FAILURE);
}

static void *allocate(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return check(malloc(size), size);
}

static void *resize(void *memory, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return check(realloc(memory, size), size);
}

static void release(void *memory, const char *file, int line)
{
	(void)file;
	(void)line;
	free(memory);
}

/* libcrypto accepts the functions only before it allocates for the first time. It would also read a
 * file of settings, and free its memory at the end of the process, for which it allocates. */
static void set_up(void)
{
	(void)CRYPTO_set_mem_functions(allocate, resize, release);
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
}

/* ---- digests ------------------------------------------------------------------------- */

struct sha256 *sha256_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sha256 *state;

	pthread_once(&once, set_up);
	state = (struct sha256 *)EVP_MD_CTX_new();
	if (!state || sha256_reset(state) == 0)
		return state;
	sha256_free(state);
	return NULL;
}

void sha256_free(struct sha256 *state)
{
	EVP_MD_CTX_free(to_evp(state));
}

int sha256_reset(struct sha256 *state)
{
	return EVP_DigestInit_ex(to_evp(state), EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
}

int sha256_update(struct sha256 *state, const void *data, size_t length)
{
	return EVP_DigestUpdate(to_evp(state), data, length) == 1 ? 0 : -EIO;
}

int sha256_end(struct sha256 *state, uint8_t bytes[SHA256_BYTES])
{
	return EVP_DigestFinal_ex(to_evp(state), bytes, NULL) == 1 ? 0 : -EIO;
}

void sha256_format(const uint8_t bytes[SHA256_BYTES], char digits[SHA256_DIGITS + 1])
{
	for (size_t i = 0; i < SHA256_BYTES; i++)
		(void)snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
}

bool sha256_parse(const char *digits, uint8_t bytes[SHA256_BYTES])
{
	uint64_t byte = 0;

	if (strlen(digits) != SHA256_DIGITS)
		return false;
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		if (!number_read_hex(digits + 2 * i, 2, &byte))
			return false;
		bytes[i] = (uint8_t)byte;
	}
	return true;
}

int sha256_finish(struct sha256 *state, char digits[SHA256_DIGITS + 1])
{
	uint8_t bytes[SHA256_BYTES];
	int r = sha256_end(state, bytes);

	if (r == 0)
		sha256_format(bytes, digits);
	return r;
}

static const uint8_t zeros[64 << 10];

int file_sha256_init(struct file_sha256 *reader)
{
	*reader = (struct file_sha256){.state = sha256_new(), .buffer = memory_pages(BLOCK_BYTES)};
	return reader->state && reader->buffer ? 0 : -ENOMEM;
}

void file_sha256_deinit(struct file_sha256 *reader)
{
	sha256_free(reader->state);
	free(reader->buffer);
}

static int report_progress(const struct file_sha256 *reader, uint64_t bytes)
{
	return reader->progress ? reader->progress(reader->context, bytes) : 0;
}

static int read_data(const struct file_sha256 *reader, int fd, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t wanted = to - from < BLOCK_BYTES ? (size_t)(to - from) : BLOCK_BYTES;
		long got = read_fully_at(fd, reader->buffer, wanted, (off_t)from);
		int r;

		if (got < 0)
			return (int)got;
		if ((size_t)got < wanted)
			return FILE_SHA256_CHANGED;
		r = sha256_update(reader->state, reader->buffer, wanted);
		if (r == 0)
			r = report_progress(reader, wanted);
		if (r < 0)
			return r;
		from += wanted;
	}
	return 0;
}

static int add_hole(const struct file_sha256 *reader, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t count = to - from < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
		int r = sha256_update(reader->state, zeros, count);

		if (r == 0)
			r = report_progress(reader, count);
		if (r < 0)
			return r;
		from += count;
	}
	return 0;
}

static int read_ranges(const struct file_sha256 *reader, int fd, uint64_t size, bool has_holes)
{
	struct data_range data = {0, (off_t)size};
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && at < size) {
		if (has_holes)
			data = data_range_at(fd, (off_t)at, (off_t)size);
		r = add_hole(reader, at, (uint64_t)data.from);
		if (r == 0)
			r = read_data(reader, fd, (uint64_t)data.from, (uint64_t)data.to);
		at = (uint64_t)data.to;
	}
	return r;
}

int file_sha256_read(struct file_sha256 *reader, int fd, uint64_t size, bool has_holes,
		     uint8_t digest[SHA256_BYTES])
{
	int r = sha256_reset(reader->state);

	if (size > BLOCK_BYTES)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (r == 0)
		r = read_ranges(reader, fd, size, has_holes);
	return r == 0 ? sha256_end(reader->state, digest) : r;
}
