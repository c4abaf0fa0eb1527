/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

int base64_encode(struct bytes *text, const void *data, size_t length)
{
	int r = length > INT_MAX / 2 ? -ENOMEM : bytes_reserve(text, (length + 2) / 3 * 4 + 1);

	if (r < 0)
		return r;
	text->length += (size_t)EVP_EncodeBlock(text->data + text->length, data, (int)length);
	return 0;
}

static size_t count_padding(const char *text, size_t length)
{
	size_t count = 0;

	while (count < 2 && count < length && text[length - 1 - count] == '=')
		count++;
	return count;
}

/* EVP_DecodeBlock() also accepts spaces, and bits that belong to no byte (RFC 4648, section 3.5).
 * So the bytes are encoded again and must give the same text. */
int base64_decode(struct bytes *data, const char *text, size_t length)
{
	CLEANUP_BYTES struct bytes again = {0};
	size_t count = length / 4 * 3 - count_padding(text, length);
	const void *from = text;
	int r = length % 4 == 0 && length <= INT_MAX ? bytes_reserve(data, length + 1) : -EPROTO;

	if (r == 0 && EVP_DecodeBlock(data->data + data->length, from, (int)length) < 0)
		r = -EPROTO;
	if (r == 0)
		r = base64_encode(&again, data->data + data->length, count);
	if (r == 0 && (again.length != length || memcmp(again.data, text, length) != 0))
		r = -EPROTO;
	if (r == 0)
		data->length += count;
	return r;
}
