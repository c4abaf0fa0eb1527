/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

#define DIGEST_BYTES (SHA256_DIGITS / 2)

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

int sha256_finish(struct sha256 *state, char digits[SHA256_DIGITS + 1])
{
	unsigned char digest[DIGEST_BYTES];

	if (EVP_DigestFinal_ex(to_evp(state), digest, NULL) != 1)
		return -EIO;
	for (size_t i = 0; i < DIGEST_BYTES; i++)
		(void)snprintf(digits + 2 * i, 3, "%02x", digest[i]);
	return 0;
}
