/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}

int bytes_reserve(struct bytes *bytes, size_t extra_bytes)
{
	size_t needed;

	if (__builtin_add_overflow(bytes->length, extra_bytes, &needed))
		return -ENOMEM;
	return array_reserve(&bytes->data, &bytes->capacity, needed, 1);
}

int bytes_append(struct bytes *bytes, const void *data, size_t length)
{
	int r = bytes_reserve(bytes, length);

	if (r < 0)
		return r;
	if (length)
		memcpy(bytes->data + bytes->length, data, length);
	bytes->length += length;
	return 0;
}

int bytes_append_text(struct bytes *bytes, const char *text)
{
	return bytes_append(bytes, text, strlen(text));
}

int bytes_format_list(struct bytes *bytes, const char *format, va_list args)
{
	va_list again;
	int length, r;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	r = length < 0 ? -ENOMEM : bytes_reserve(bytes, (size_t)length + 1);
	if (r == 0) {
		(void)vsnprintf((char *)bytes->data + bytes->length, (size_t)length + 1, format,
				again);
		bytes->length += (size_t)length;
	}
	va_end(again);
	return r;
}

int bytes_format(struct bytes *bytes, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = bytes_format_list(bytes, format, args);
	va_end(args);
	return r;
}

int bytes_compare(const struct bytes *a, const struct bytes *b)
{
	size_t common = a->length < b->length ? a->length : b->length;
	int order = common ? memcmp(a->data, b->data, common) : 0;

	return order ? order : (a->length > b->length) - (a->length < b->length);
}

const char *bytes_text(struct bytes *bytes)
{
	if (bytes_reserve(bytes, 1) < 0)
		return NULL;
	bytes->data[bytes->length] = '\0';
	return (const char *)bytes->data;
}

uint8_t *varint_put(uint8_t *out, uint64_t number)
{
	int count;

	if (number <= VARINT_LONG) {
		*out++ = (uint8_t)number;
		return out;
	}
	count = (71 - __builtin_clzll(number)) / 8;
	*out++ = (uint8_t)(VARINT_LONG + count);
	for (int shift = 8 * (count - 1); shift >= 0; shift -= 8)
		*out++ = (uint8_t)(number >> shift);
	return out;
}

int bytes_append_number(struct bytes *bytes, uint64_t number)
{
	uint8_t encoded[VARINT_MAX_BYTES];

	return bytes_append(bytes, encoded, (size_t)(varint_put(encoded, number) - encoded));
}

bool varint_get_last(const uint8_t **in, const uint8_t *end, uint64_t *number)
{
	const uint8_t *at = *in;
	uint64_t value = 0;
	int count;

	if (at >= end || *at <= VARINT_LONG)
		return false;
	count = *at++ - VARINT_LONG;
	if (end - at < count)
		return false;
	while (count-- > 0)
		value = value << 8 | *at++;
	*number = value;
	*in = at;
	return true;
}

uint8_t *varint_put_signed(uint8_t *out, int64_t number)
{
	return varint_put(out, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}
