/* SPDX-License-Identifier: MIT */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

/* SHA-256 (FIPS 180-4), by libcrypto. A state is used by one thread at a time; nothing blocks. If
 * memory is short, libcrypto ends the process with an error. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

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

#endif
