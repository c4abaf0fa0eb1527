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
