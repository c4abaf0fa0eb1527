/* SPDX-License-Identifier: MIT */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

/* A buffer of bytes that grows, and the integer codec of keys and records.
 *
 * A struct bytes that is all zero is empty and valid. Not shared between threads.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct bytes {
	uint8_t *data;
	size_t length;
	size_t capacity;
};

void bytes_free(struct bytes *bytes);
#define CLEANUP_BYTES CLEANUP(bytes_free)

/* Makes room for extra_bytes more; 0 or -ENOMEM. */
MUST_CHECK int bytes_reserve(struct bytes *bytes, size_t extra_bytes);

/* Each appends and returns 0 or -ENOMEM. bytes_format is printf(3), bytes_format_list vprintf(3). */
MUST_CHECK int bytes_append(struct bytes *bytes, const void *data, size_t length);
MUST_CHECK int bytes_append_text(struct bytes *bytes, const char *text);
MUST_CHECK int bytes_format(struct bytes *bytes, const char *format, ...) PRINTF_LIKE(2, 3);
MUST_CHECK int bytes_format_list(struct bytes *bytes, const char *format, va_list args)
	PRINTF_LIKE(2, 0);

/* As memcmp(3); what is the beginning of the other comes first. */
int bytes_compare(const struct bytes *a, const struct bytes *b);

/* The bytes as a string: appends a NUL that length does not count. NULL without memory; valid
 * until the buffer changes. */
const char *bytes_text(struct bytes *bytes);

/* The integer codec. Encoded numbers compare with memcmp as the numbers do, so they serve as
 * parts of LMDB keys; small numbers are short: below 248 one byte holds the number, above, the
 * first byte is 0xf7 + n and n bytes follow, most significant first. */
#define VARINT_MAX_BYTES 9
/* First bytes above this are VARINT_LONG + the count of bytes that follow. */
#define VARINT_LONG 0xf7

/* Writes number at out (room for VARINT_MAX_BYTES) and returns the end. */
uint8_t *varint_put(uint8_t *out, uint64_t number);

/* Reads a number from [*in, end) and moves *in behind it; false where none is there. */
MUST_CHECK static inline bool varint_get(const uint8_t **in, const uint8_t *end, uint64_t *number);

/* The same of a number of several bytes. */
MUST_CHECK bool varint_get_long(const uint8_t **in, const uint8_t *end, uint64_t *number);

static inline bool varint_get(const uint8_t **in, const uint8_t *end, uint64_t *number)
{
	if (*in >= end || **in > VARINT_LONG)
		return varint_get_long(in, end, number);
	*number = *(*in)++;
	return true;
}

/* Signed numbers in the same codec; small ones of either sign are short, order is not kept. */
uint8_t *varint_put_signed(uint8_t *out, int64_t number);
MUST_CHECK bool varint_get_signed(const uint8_t **in, const uint8_t *end, int64_t *number);

#endif
