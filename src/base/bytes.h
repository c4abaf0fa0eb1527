/* SPDX-License-Identifier: MIT */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

/* A growing byte buffer, and the integer codec of keys and records.
 *
 * A struct bytes of zeros is valid and empty. Not shared between threads.
 */

#include <endian.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"

struct bytes {
	uint8_t *data;
	size_t length;
	size_t capacity;
};

void bytes_free(struct bytes *bytes);
#define CLEANUP_BYTES CLEANUP(bytes_free)

/* Makes room for extra_bytes after the present length. Returns 0 or -ENOMEM. */
MUST_CHECK int bytes_reserve(struct bytes *bytes, size_t extra_bytes);

/* Each function appends and returns 0 or -ENOMEM. bytes_format formats like printf(3),
 * bytes_format_list like vprintf(3).
 */
MUST_CHECK int bytes_append(struct bytes *bytes, const void *data, size_t length);
MUST_CHECK int bytes_append_text(struct bytes *bytes, const char *text);
MUST_CHECK int bytes_format(struct bytes *bytes, const char *format, ...) PRINTF_LIKE(2, 3);
MUST_CHECK int bytes_format_list(struct bytes *bytes, const char *format, va_list args)
	PRINTF_LIKE(2, 0);

/* Compares like memcmp(3). A buffer that is a prefix of the other is less. */
int bytes_compare(const struct bytes *a, const struct bytes *b);

/* Returns the bytes as a string, valid until the buffer changes, or NULL if memory is short.
 * Appends a NUL that length does not count. */
const char *bytes_text(struct bytes *bytes);

/* The integer codec. memcmp orders encoded numbers like the numbers themselves, so encoded numbers
 * can be parts of LMDB keys. Small numbers are short: one byte holds a number below 248. For a
 * larger number, the first byte is 0xf7 + n, and n bytes follow, most significant first. */
#define VARINT_MAX_BYTES 9
/* A first byte above VARINT_LONG is VARINT_LONG plus the number of bytes that follow. */
#define VARINT_LONG 0xf7

/* Encodes number at out, which needs room for VARINT_MAX_BYTES. Returns the end. */
uint8_t *varint_put(uint8_t *out, uint64_t number);

/* Appends an encoded number. Returns 0 or -ENOMEM. */
MUST_CHECK int bytes_append_number(struct bytes *bytes, uint64_t number);

/* Decodes a number from [*in, end) and advances *in. Returns false if there is no complete
 * number. */
MUST_CHECK static inline bool varint_get(const uint8_t **in, const uint8_t *end, uint64_t *number);

/* Decodes a number of several bytes near the end, for varint_get(). Returns false for a number of
 * one byte. */
MUST_CHECK bool varint_get_last(const uint8_t **in, const uint8_t *end, uint64_t *number);

static inline bool varint_get(const uint8_t **in, const uint8_t *end, uint64_t *number)
{
	const uint8_t *at = *in;
	uint64_t value;
	unsigned int count;

	if (at < end && *at <= VARINT_LONG) {
		*number = *at;
		*in = at + 1;
		return true;
	}
	if (end - at <= (int)sizeof(value))
		return varint_get_last(in, end, number);
	count = *at - (unsigned int)VARINT_LONG;
	memcpy(&value, at + 1, sizeof(value));
	*number = be64toh(value) >> (64 - 8 * count);
	*in = at + 1 + count;
	return true;
}

/* Signed numbers in the integer codec. Small numbers of either sign are short. memcmp does not
 * order them.
 */
uint8_t *varint_put_signed(uint8_t *out, int64_t number);
MUST_CHECK static inline bool varint_get_signed(const uint8_t **in, const uint8_t *end,
						int64_t *number)
{
	uint64_t folded;

	if (!varint_get(in, end, &folded))
		return false;
	*number = (int64_t)(folded >> 1 ^ -(folded & 1));
	return true;
}

#endif
