/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/attributes.h"

/* Properties of a character by its first byte. */
struct lead {
	unsigned char first, last;
	unsigned char length; /* of the character, in bytes */
	unsigned char mask; /* of the bits that belong to its code */
	uint32_t smallest; /* the smallest code that needs this length */
};

static const struct lead *find_lead(unsigned char byte)
{
	static const struct lead leads[] = {
		{0x00, 0x7f, 1, 0x7f, 0},
		{0xc2, 0xdf, 2, 0x1f, 0x80},
		{0xe0, 0xef, 3, 0x0f, 0x800},
		{0xf0, 0xf4, 4, 0x07, 0x10000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(leads); i++) {
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	}
	return NULL;
}

size_t utf8_decode(const void *bytes, size_t available, uint32_t *code)
{
	const unsigned char *byte = bytes;
	const struct lead *lead = find_lead(byte[0]);
	uint32_t found;

	if (!lead || lead->length > available)
		return 0;
	found = byte[0] & lead->mask;
	for (size_t i = 1; i < lead->length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		found = found << 6 | (byte[i] & 0x3f);
	}
	if (found < lead->smallest || found > 0x10ffff || (found >= 0xd800 && found < 0xe000))
		return 0;
	*code = found;
	return lead->length;
}

size_t utf8_cut(const void *bytes, size_t length, size_t limit)
{
	const unsigned char *byte = bytes;
	size_t start = limit;

	if (length <= limit)
		return length;
	while (start > 0 && limit - start < 3 && (byte[start] & 0xc0) == 0x80)
		start--;
	/* byte[start] begins a character that continues after the limit, or the text is not
	 * UTF-8 */
	return byte[start] >= 0xc0 ? start : limit;
}

bool utf8_is_unfit(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} unfit[] = {
		{0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad}, {0x061c, 0x061c},
		{0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
		{0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
		if (code >= unfit[i].first && code <= unfit[i].last)
			return true;
	}
	return false;
}
