/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>

#define DIGEST_BYTES (SHA256_DIGITS / 2)

/* A struct sha256 is an EVP_MD_CTX under another name. */
static EVP_MD_CTX *to_evp(struct sha256 *state)
{
	return (EVP_MD_CTX *)state;
}

struct sha256 *sha256_new(void)
{
	struct sha256 *state = (struct sha256 *)EVP_MD_CTX_new();

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
