/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_encode(struct bytes *text, const void *data, size_t length)
{
	const uint8_t *from = data;

	for (size_t i = 0; i < length; i += 3) {
		size_t count = length - i < 3 ? length - i : 3;
		uint32_t bits = 0;
		char four[4];
		int r;

		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < count ? from[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			four[j] = j <= count ? digits[bits >> (18 - 6 * j) & 0x3f] : '=';
		r = bytes_append(text, four, sizeof(four));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Decodes four digits and appends the bytes. The last four may end with padding. */
static int decode_four(struct bytes *data, const char *four, bool last)
{
	size_t count = 4;
	uint32_t bits = 0;
	uint8_t three[3];

	while (last && count > 2 && four[count - 1] == '=')
		count--;
	for (size_t i = 0; i < count; i++) {
		const char *digit = four[i] != '\0' ? strchr(digits, four[i]) : NULL;

		if (!digit)
			return -EPROTO;
		bits |= (uint32_t)(digit - digits) << (18 - 6 * i);
	}
	/* bits that belong to no byte must be 0: otherwise two texts would decode to the same bytes
	 * (RFC 4648, section 3.5)
	 */
	if ((bits & (0xffffffU >> (8 * (count - 1)))) != 0)
		return -EPROTO;
	for (size_t i = 0; i < sizeof(three); i++)
		three[i] = (uint8_t)(bits >> (16 - 8 * i));
	return bytes_append(data, three, count - 1);
}

int base64_decode(struct bytes *data, const char *text, size_t length)
{
	size_t before = data->length;
	int r = length % 4 == 0 ? 0 : -EPROTO;

	for (size_t i = 0; r == 0 && i < length; i += 4)
		r = decode_four(data, text + i, i + 4 == length);
	if (r < 0)
		data->length = before;
	return r;
}
