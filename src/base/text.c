/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

/* ---- names for a terminal and a shell --------------------------------------------------- */

/* Returns whether a terminal shows all of the name, and the name cannot be mistaken for a quoted
 * name. */
static bool is_plain(const char *name, size_t length)
{
	if (length == 0 || name[0] == ' ' || name[length - 1] == ' ' || name[0] == '$')
		return false;
	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t taken = utf8_decode(name + i, length - i, &code);

		if (taken == 0 || utf8_is_unfit(code))
			return false;
		i += taken;
	}
	return true;
}

static int append_escaped(struct bytes *text, const char *bytes, size_t length)
{
	/* three octal digits: unlike \x, the escape ends before a digit that follows */
	for (size_t i = 0; i < length; i++) {
		int r = bytes_format(text, "\\%03o", (unsigned char)bytes[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Appends one character of a quoted name. length is the number of bytes of the character, or 0 for
 * a byte that is not UTF-8. */
static int append_character(struct bytes *text, const char *bytes, size_t length, uint32_t code)
{
	if (length == 0)
		return append_escaped(text, bytes, 1);
	if (code == '\n')
		return bytes_append_text(text, "\\n");
	if (code == '\t')
		return bytes_append_text(text, "\\t");
	if (utf8_is_unfit(code))
		return append_escaped(text, bytes, length);
	if (code == '\'' || code == '\\') {
		int r = bytes_append_text(text, "\\");

		if (r < 0)
			return r;
	}
	return bytes_append(text, bytes, length);
}

int shell_name_append(struct bytes *text, const char *name, size_t length)
{
	int r;

	if (is_plain(name, length))
		return bytes_append(text, name, length);

	r = bytes_append_text(text, "$'");
	for (size_t i = 0; r == 0 && i < length;) {
		uint32_t code = 0;
		size_t taken = utf8_decode(name + i, length - i, &code);

		r = append_character(text, name + i, taken, code);
		i += taken > 0 ? taken : 1;
	}
	return r < 0 ? r : bytes_append_text(text, "'");
}

/* Returns whether a shell takes each character of a word literally. */
static bool is_literal(const char *word, size_t length)
{
	static const char literal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789/._-,:=+%@";

	for (size_t i = 0; i < length; i++) {
		if (word[i] == '\0' || !strchr(literal, word[i]))
			return false;
	}
	return length > 0;
}

int shell_word_append(struct bytes *text, const char *word, size_t length)
{
	int r;

	if (is_literal(word, length))
		return bytes_append(text, word, length);
	if (!is_plain(word, length))
		return shell_name_append(text, word, length);
	r = bytes_append_text(text, "'");
	for (size_t i = 0; r == 0 && i < length; i++)
		r = word[i] == '\'' ? bytes_append_text(text, "'\\''")
				    : bytes_append(text, word + i, 1);
	return r < 0 ? r : bytes_append_text(text, "'");
}

/* ---- lists of strings -------------------------------------------------------------- */

int text_list_add(struct text_list *list, const char *text, size_t length)
{
	char *copy = strndup(text, length);

	if (!copy || array_reserve(&list->items, &list->capacity, list->count + 2,
				   sizeof(*list->items)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	list->items[list->count++] = copy;
	list->items[list->count] = NULL;
	return 0;
}

int text_list_add_all(struct text_list *list, char *const *items)
{
	int r = 0;

	for (; r == 0 && items && *items; items++)
		r = text_list_add(list, *items, strlen(*items));
	return r;
}

bool text_list_has(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

size_t list_item_length(const char *list)
{
	size_t length = 0;

	while (list[length] != '\0' && list[length] != ',') {
		if (list[length] == '\\' && list[length + 1] != '\0')
			length++;
		length++;
	}
	return length;
}

void text_list_free(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}
